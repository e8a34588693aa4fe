//! A bank moves money between accounts in PostgreSQL with several workers, which are killed at random; afterwards every cent is accounted for.
//!
//! ```sh
//! cargo run --release --features postgres --example payments
//! cargo run --release --features postgres --example payments -- --store redis://127.0.0.1/ --kill 50
//! ```
//!
//! A payment takes the locks of both accounts and notes its job in the transaction that moves the money (`linchpin::postgres::once`): a worker that dies
//! between the commit and the settle has its job run again, and that attempt finds the work done. Without `--store` and `--database` (or
//! `DATABASE_URL`) it starts servers of its own. It ends with exit code 1 when a cent is wrong.

mod bank;
#[path = "../../tests/support/postgres.rs"]
#[allow(dead_code)]
mod postgres_server;
#[path = "../../tests/support/server.rs"]
#[allow(dead_code)]
mod redis_server;
mod report;
#[path = "../support/mod.rs"]
mod support;
mod work;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use linchpin::Client;
use linchpin::names::ProcessId;
use rand::RngExt;

use bank::Bank;
use postgres_server::PostgresServer;
use redis_server::RedisServer;
use report::Report;
use support::{WorkerProcess, clear};
use work::Place;

/// How often progress is read.
const TICK: Duration = Duration::from_millis(20);
/// A run without progress for this long has failed.
const STALLED: Duration = Duration::from_secs(60);

/// Moves money between accounts with many workers and checks that every cent is accounted for.
#[derive(Parser, Debug)]
#[command(name = "payments")]
struct Args {
    /// Where the jobs live: redis://host:port/db; without it a server is started.
    #[arg(long)]
    store: Option<String>,
    /// Where the money lives: postgres://user@host/database; DATABASE_URL without it, and where that is not set a server is started.
    #[arg(long)]
    database: Option<String>,
    /// Payments to make.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    payments: u32,
    /// Accounts, each with a lock of its own.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    accounts: u32,
    /// Worker processes.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// Workers to kill with SIGKILL at random points under way; each is replaced.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=1000))]
    kill: u32,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "error".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    let ended = match Place::of_worker() {
        Some(place) => work::work(place).await.map(|()| ExitCode::SUCCESS),
        None => run(Args::parse()).await,
    };
    ended.unwrap_or_else(|error| {
        eprintln!("payments: {error:#}");
        let usage = error
            .downcast_ref()
            .is_some_and(|error| matches!(error, linchpin::Error::Invalid(_)));
        ExitCode::from(if usage { 2 } else { 1 })
    })
}

async fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.store.as_ref().is_some_and(|store| store.starts_with("memory:")) {
        eprintln!("payments: workers that are killed are processes, and memory:// lives in one (use --store redis://...)");
        return Ok(ExitCode::from(2));
    }
    // Servers of its own, where none were named. They end with this function.
    let redis = args.store.is_none().then(RedisServer::start);
    let database = args.database.clone().or_else(|| std::env::var("DATABASE_URL").ok());
    let postgres = database.is_none().then(PostgresServer::start);
    let place = Place {
        store: args.store.clone().or(redis.as_ref().map(RedisServer::url)).context("a store")?,
        database: database
            .or(postgres.as_ref().map(|server| server.url().to_owned()))
            .context("a database")?,
        run: format!("payments_{}", ProcessId::random().as_str().to_lowercase()),
    };

    let client = Client::builder(&place.store).namespace(&place.run).connect().await?;
    let bank = Bank::found(&place, args.accounts).await?;
    let orders = bank.orders(args.payments, args.accounts);
    for answer in client.enqueue_many(orders.clone()).await? {
        answer.context("a payment was refused")?;
    }
    let mut crew = (0..args.workers)
        .map(|_| WorkerProcess::start(place.environment()))
        .collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    let killed = watch(&client, &args, &mut crew).await;
    crew.iter_mut().for_each(WorkerProcess::ask_to_stop);
    for process in crew {
        process.ended().await?;
    }
    let killed = killed?;

    let audit = bank.audit(&orders, args.accounts).await?;
    let report = Report {
        payments: args.payments,
        workers: args.workers,
        killed,
        lost: audit.lost,
        double: audit.double,
        wrong_accounts: audit.wrong_accounts,
        met_again: audit.met_again,
        seconds: started.elapsed().as_secs_f64(),
    };
    report.print(args.json)?;
    client.close().await?;
    if !report.clean() {
        eprintln!("payments: not right; namespace and schema `{}` are left to look at", place.run);
        return Ok(ExitCode::from(1));
    }
    bank.close().await?;
    clear(&place.store, &place.run).await?;
    Ok(ExitCode::SUCCESS)
}

/// Watches until all payments are made, and kills a worker at random each time when its share of them is; answers how many.
async fn watch(client: &Client, args: &Args, crew: &mut [WorkerProcess]) -> anyhow::Result<u32> {
    let bar = report::progress_bar(args.payments);
    let (mut progressed, mut done, mut killed) = (Instant::now(), 0, 0);
    loop {
        let pending = client.census().await?.pending();
        let now_done = u64::from(args.payments).saturating_sub(pending);
        if now_done > done {
            (done, progressed) = (now_done, Instant::now());
        }
        bar.set_position(done);
        if pending == 0 {
            break;
        }
        ensure!(
            progressed.elapsed() < STALLED,
            "no payment was made for {STALLED:?}; {pending} are left"
        );
        crew.iter_mut().try_for_each(WorkerProcess::check)?;
        if killed < args.kill && done * u64::from(args.kill + 1) > u64::from(args.payments) * u64::from(killed) {
            tokio::time::sleep(Duration::from_micros(rand::rng().random_range(0..20_000))).await;
            let victim = rand::rng().random_range(0..crew.len());
            crew[victim].kill()?;
            killed += 1;
        }
        tokio::time::sleep(TICK).await;
    }
    bar.finish_and_clear();
    if killed < args.kill {
        eprintln!(
            "payments: all had been made before {} of {} workers were killed: give it more --payments",
            args.kill - killed,
            args.kill
        );
    }
    Ok(killed)
}
