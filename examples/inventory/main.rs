//! A shop takes goods out of stock with many workers, some of which are killed; afterwards every item is accounted for.
//!
//! ```sh
//! cargo run --release --example inventory
//! cargo run --release --example inventory -- --store redis://127.0.0.1/ --kill 2
//! ```
//!
//! On Redis the workers are processes of their own. The stock stands in the same store as the jobs, and a job hands over what it does to it:
//! that is done with the settle that ends the job, under the lock of its SKU, all of it or nothing. So a worker may die anywhere, and no handler
//! has to ask whether it has been here before.

mod report;
mod stock;
#[path = "../support/mod.rs"]
mod support;
mod work;

use std::collections::HashSet;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use linchpin::names::{JobId, ProcessId};
use linchpin::{Client, store::settle::Outcome};

use report::Report;
use stock::{STOCK_AT_FIRST, Stock};
use work::Crew;

/// How often progress is read.
const TICK: Duration = Duration::from_millis(50);
/// A run without progress for this long has failed: what is not done then counts as lost.
const STALLED: Duration = Duration::from_secs(60);
/// Entries of the attempts log read at once.
const PAGE: usize = 1000;

/// Takes goods out of stock with many workers and checks that every item is accounted for.
#[derive(Parser, Debug)]
#[command(name = "inventory")]
struct Args {
    /// Where the jobs live: memory:// (one process) or redis://host:port/db (a process a worker).
    #[arg(long, default_value = "memory://")]
    store: String,
    /// Jobs to run.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: u64,
    /// Different goods, each with a lock of its own.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    skus: u64,
    /// Workers.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: u64,
    /// Workers to kill with SIGKILL under way; each is replaced. Only on Redis.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1000))]
    kill: u64,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    if let Some(orders) = work::orders() {
        return exit(runtime().block_on(work::work_as_told(orders)).map(|()| ExitCode::SUCCESS));
    }
    let args = Args::parse();
    if args.kill > 0 && args.store.starts_with("memory:") {
        eprintln!("--kill needs workers that are processes: the store memory:// lives and dies with this one (use --store redis://...)");
        return ExitCode::from(2);
    }
    exit(runtime().block_on(run(args)))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("the machine has threads")
}

fn exit(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("inventory: {error:#}");
        let usage = error
            .downcast_ref()
            .is_some_and(|error| matches!(error, linchpin::Error::Invalid(_)));
        ExitCode::from(if usage { 2 } else { 1 })
    })
}

async fn run(args: Args) -> anyhow::Result<ExitCode> {
    // A namespace of its own for each run, so that runs do not meet.
    let namespace = format!("inventory-{}", ProcessId::random());
    let client = Client::builder(&args.store).namespace(&namespace).connect().await?;
    let stock = Stock::new(&client, &namespace);
    stock.fill(args.skus).await?;

    let (ids, expected) = enqueue(&client, args.jobs, args.skus).await?;
    let mut crew = Crew::start(&client, &stock, &args.store, &namespace, args.workers)?;
    let watched = watch(&client, &args, &mut crew).await;
    crew.stop().await?;
    let watched = watched?;

    let kept = not_done(&client, &ids).await?;
    let audit = stock.audit(&expected, args.jobs).await?;
    let report = Report {
        store: client.store().describe(),
        jobs: args.jobs,
        workers: args.workers,
        killed: watched.killed,
        stock_expected: expected.values().sum(),
        stock: audit.stock,
        lost: audit.lost.max(kept.len() as u64),
        double: audit.double,
        overlaps: watched.overlaps,
        crashed_attempts: watched.crashed,
        seconds: watched.seconds,
        jobs_per_s: args.jobs as f64 / watched.seconds,
    };
    report.print(args.json)?;
    client.close().await?;
    let clean = audit.wrong_skus == 0 && report.clean();
    if !clean {
        eprintln!(
            "inventory: not right ({} wrong SKUs); the keys of namespace `{namespace}` are left to look at",
            audit.wrong_skus
        );
    } else {
        support::clear(&args.store, &namespace).await?;
    }
    Ok(ExitCode::from(if clean { 0 } else { 1 }))
}

/// Enqueues all jobs; answers their ids and what each SKU's stock is to be in the end.
async fn enqueue(client: &Client, jobs: u64, skus: u64) -> anyhow::Result<(Vec<JobId>, stock::Expected)> {
    let mut expected: stock::Expected = (0..skus).map(|sku| (stock::sku(sku), STOCK_AT_FIRST)).collect();
    let mut orders = Vec::new();
    for i in 0..jobs {
        let (sku, qty) = (stock::sku(i % skus), 1 + i as i64 % 3);
        *expected.entry(sku.clone()).or_default() -= qty;
        orders.push(work::decrement { order: i, sku, qty });
    }
    let answers = client.enqueue_many(orders).await?;
    let ids = answers.into_iter().map(|answer| answer.map(|enqueued| enqueued.id()));
    Ok((ids.collect::<Result<_, _>>().context("a job was refused")?, expected))
}

/// What was seen while the workers worked.
struct Watched {
    seconds: f64,
    killed: u64,
    crashed: u64,
    overlaps: u64,
}

/// Watches until all jobs have ended, and kills workers at equal distances under way.
async fn watch(client: &Client, args: &Args, crew: &mut Crew) -> anyhow::Result<Watched> {
    let bar = report::progress_bar(args.jobs);
    let (started, mut progressed) = (Instant::now(), Instant::now());
    let (mut killed, mut done) = (0, 0);
    let mut log = Log::default();
    loop {
        let pending = client.census().await?.pending();
        if args.jobs - pending.min(args.jobs) > done {
            done = args.jobs - pending.min(args.jobs);
            progressed = Instant::now();
        }
        bar.set_position(done);
        if killed < args.kill && done > args.jobs * killed / (args.kill + 1) {
            crew.kill_one(killed)?;
            killed += 1;
        }
        log.read_on(client).await?;
        if pending == 0 || progressed.elapsed() > STALLED {
            break;
        }
        crew.check()?;
        tokio::time::sleep(TICK).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    if killed < args.kill {
        eprintln!(
            "inventory: all jobs had ended before {} of {} workers were killed: give it more --jobs",
            args.kill - killed,
            args.kill
        );
    }
    log.read_on(client).await?;
    Ok(Watched {
        seconds,
        killed,
        crashed: log.crashed,
        overlaps: log.overlaps,
    })
}

/// The jobs of which anything is left: they are dead, or no worker came to their end.
async fn not_done(client: &Client, ids: &[JobId]) -> anyhow::Result<HashSet<JobId>> {
    let mut left = HashSet::new();
    if client.census().await?.jobs == 0 {
        return Ok(left);
    }
    for id in ids {
        if let Some(view) = client.job(*id).await? {
            eprintln!("inventory: job {id} is not done: {:?} {:?}", view.state, view.errors);
            left.insert(*id);
        }
    }
    Ok(left)
}

/// The attempts log, read as it grows.
#[derive(Default)]
struct Log {
    after: u64,
    crashed: u64,
    overlaps: u64,
}

impl Log {
    async fn read_on(&mut self, client: &Client) -> anyhow::Result<()> {
        loop {
            let entries = client.attempts(self.after, PAGE).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            self.after = last.number;
            let records = || entries.iter().map(|entry| &entry.record);
            self.crashed += records().filter(|record| record.outcome == Outcome::Crashed).count() as u64;
            // a settle that found another attempt's mark
            self.overlaps += records().filter(|record| record.error.contains(":mark:")).count() as u64;
        }
    }
}
