//! A nightly job across three processes that are killed in turn: each tick once.
//!
//! ```sh
//! cargo run --example nightly
//! cargo run --example nightly -- --store redis://127.0.0.1/ --seconds 20
//! ```
//!
//! The night is two seconds long. Every three seconds one of the three replicas is killed and another takes its place. Without `--store` it starts a server of its
//! own (`redis-server` must be in the path). It ends with exit code 1 when a tick was lost or ran as two jobs.

#[path = "../tests/support/server.rs"]
#[allow(dead_code)]
mod server;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use linchpin::names::ProcessId;
use linchpin::schedule::{Missed, Overlap, Schedule};
use linchpin::{Attempt, Client, TaskResult, Worker, task};
use server::RedisServer;

/// Sets a replica's store and namespace.
const REPLICA: &str = "LINCHPIN_NIGHTLY";
const REPLICAS: usize = 3;
const KILL_EVERY: Duration = Duration::from_secs(3);

#[derive(Parser, Debug)]
#[command(name = "nightly")]
struct Args {
    /// A Redis server; without it one is started.
    #[arg(long)]
    store: Option<String>,
    /// How long replicas are killed.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(6..=3600))]
    seconds: u64,
}

/// In a shop: `#[task(cron = "30 2 * * *", tz = "Europe/Berlin")]`.
#[task]
async fn close_books(attempt: Attempt) -> TaskResult {
    let tick = attempt.tick().ok_or("it runs on ticks alone")?;
    println!(
        "  {}  process {} closes the books (job {}, {} ticks missed before)",
        tick.nominal.format("%H:%M:%S"),
        std::process::id(),
        attempt.job_id(),
        tick.missed
    );
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    tracing_subscriber::fmt()
        .with_env_filter("error")
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    if let Ok(place) = std::env::var(REPLICA) {
        let (url, namespace) = place.split_once(' ').context("a store and a namespace")?;
        return replica(url, namespace).await;
    }
    let args = Args::parse();
    let own = args.store.is_none().then(RedisServer::start);
    let url = match (&args.store, &own) {
        (Some(url), _) => url.clone(),
        (None, own) => own.as_ref().map(RedisServer::url).unwrap_or_default(),
    };
    let namespace = format!("nightly-{}", ProcessId::random());
    let client = Client::builder(&url).namespace(&namespace).connect().await?;
    let outcome = replicas(&client, &format!("{url} {namespace}"), Duration::from_secs(args.seconds)).await;
    client.delete_schedule("nightly").await?;
    outcome
}

/// One of three: all bring the same schedule.
async fn replica(url: &str, namespace: &str) -> anyhow::Result<ExitCode> {
    let client = Client::builder(url).namespace(namespace).connect().await?;
    let nightly = Schedule::every("nightly", "2s")
        .job(close_books {})
        .missed(Missed::FireAll { limit: 10 })
        .overlap(Overlap::QueueAll { limit: 10 });
    let worker = Worker::builder(&client)
        .lease(Duration::from_secs(1))
        .task::<close_books>()
        .schedule(nightly)
        .build()?;
    worker.run(std::future::pending::<()>()).await?;
    Ok(ExitCode::SUCCESS)
}

fn start(place: &str) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(REPLICA, place).stdin(Stdio::null());
    command.spawn().context("start a replica")
}

async fn replicas(client: &Client, place: &str, lasting: Duration) -> anyhow::Result<ExitCode> {
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        replicas.push(start(place)?);
    }
    println!("three replicas, one night every 2 s:");
    let begun = Instant::now();
    let mut turn = 0;
    while begun.elapsed() < lasting {
        tokio::time::sleep(KILL_EVERY).await;
        let replica = &mut replicas[turn % REPLICAS];
        println!("  kill -9 of process {}", replica.id());
        replica.kill()?;
        replica.wait()?;
        *replica = start(place)?;
        turn += 1;
    }
    // what a killed one had taken runs again within its lease
    client.pause_schedule("nightly").await?;
    while client.census().await?.jobs > 0 && begun.elapsed() < lasting * 2 + Duration::from_secs(30) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for mut replica in replicas {
        replica.kill()?;
        replica.wait()?;
    }
    let view = client.schedule_view("nightly").await?.context("the schedule")?;
    let mut jobs: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for outcome in &view.past {
        jobs.entry(outcome.at).or_default().extend(outcome.job.clone());
    }
    let fired: Vec<i64> = jobs.iter().filter(|(_, jobs)| jobs.len() == 1).map(|(at, _)| *at).collect();
    let whole = fired.windows(2).all(|pair| pair[1] - pair[0] == 2) && jobs.values().all(|jobs| jobs.len() <= 1);
    println!(
        "{} ticks fired, {} dropped, {} missed; {} replicas killed; of the latest {} ticks each was {}",
        view.counts.fired,
        view.counts.dropped,
        view.counts.misfire,
        turn,
        fired.len(),
        if whole { "one job" } else { "NOT one job" }
    );
    let good = whole && view.counts.fired > 0 && view.counts.dropped + view.counts.misfire == 0;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
