//! The Linchpin command line as a library: [`main`] is the whole `linchpin` binary, for a shop's own with its tasks in it.
//!
//! ```no_run
//! # mod shop {
//! use linchpin::{TaskResult, task};
//! #[task]
//! pub async fn greet(name: String) -> TaskResult {
//!     println!("hello {name}");
//!     Ok(())
//! }
//! # }
//! # use shop::greet;
//! fn main() -> std::process::ExitCode {
//!     linchpin_worker::main(linchpin::tasks![greet])
//! }
//! ```

mod bench;
mod command;
mod exec;
mod failure;
mod logging;
mod output;
mod session;
mod torture;
mod words;

use std::process::ExitCode;

use clap::Parser;
use linchpin::TaskList;

use failure::{Answer, Failure};

/// Job queue workers built around locked tasks.
///
/// Exit codes: 0 done, 1 the answer is no or the store refused, 2 wrong usage or configuration (nothing was done), 3 the store could not be reached.
#[derive(Parser)]
#[command(name = "linchpin", version)]
struct App {
    #[command(subcommand)]
    command: command::Command,
}

/// Parses the command line and does what it says, with `tasks` compiled in. Installs a `tracing` subscriber that writes to standard error.
pub fn main(tasks: TaskList) -> ExitCode {
    let app = App::parse();
    match run(app, tasks) {
        Ok(answer) => answer.into(),
        Err(failure) => {
            eprintln!("linchpin: {}", output::plain(&failure.to_string()));
            failure.exit_code()
        }
    }
}

fn run(app: App, tasks: TaskList) -> Result<Answer, Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new("start the runtime", error))?;
    // Spawned, so that it runs on the executor's threads like the worker that it starts or measures.
    runtime.block_on(async {
        let task = tokio::spawn(app.command.run(tasks));
        task.await.map_err(|error| Failure::new("run the command", error))?
    })
}
