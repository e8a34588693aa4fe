//! The Linchpin command line: [`run`] is the whole `linchpin` binary but for its exit code.

mod bench;
mod failure;

pub use failure::Failure;

use clap::{Parser, Subcommand};

/// Job queue workers built around locked tasks.
#[derive(Parser)]
#[command(name = "linchpin", version)]
struct App {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures a store and this build against the store's own floor.
    Bench(bench::Options),
    /// The enqueueing process of `bench latency`; its orders come on standard input.
    #[command(hide = true, name = "bench-producer")]
    BenchProducer,
}

/// Parses the command line and does what it says. Wrong usage ends the process with exit code 2.
///
/// # Errors
/// [`Failure`] says what was attempted and why it did not work.
pub fn run() -> Result<(), Failure> {
    let app = App::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn")),
        )
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new("start the runtime", error))?;
    runtime.block_on(async {
        // Spawned, so that it runs on the executor's threads like the worker that it measures.
        let task = match app.command {
            Command::Bench(options) => tokio::spawn(bench::run(options)),
            Command::BenchProducer => tokio::spawn(bench::produce()),
        };
        task.await.map_err(|error| Failure::new("run the command", error))?
    })
}
