//! `latency`: an idle worker here, a producer in another process that enqueues one job every 20 ms; from the start of the
//! enqueue call to the start of the handler.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use linchpin::Client;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use crate::bench::Run;
use crate::bench::clock::{monotonic_ns, quantile};
use crate::bench::figures::Figures;
use crate::bench::tasks::{Progress, timed};
use crate::failure::Failure;

/// From one enqueue call to the next.
const PAUSE: Duration = Duration::from_millis(20);
/// PINGs measured, as far apart as the jobs: a machine that was idle for 20 ms answers later than a busy one, both.
const PINGS: usize = 250;
/// How long the worker idles before the first job.
const IDLE: Duration = Duration::from_secs(1);

/// What the producer's process is told, on its standard input: a URL may hold a password, and arguments are public.
#[derive(Serialize, Deserialize)]
struct Orders {
    store: String,
    namespace: String,
    jobs: u64,
}

/// Measures the workload once.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    let client = run.client().await?;
    let ping = match &mut run.server {
        Some(server) => Some(quantile(&server.pings(PINGS, PAUSE).await?, 0.5)),
        None => None,
    };
    let progress = Progress::expecting(run.jobs);
    let worker = run.worker(&client, &progress, &[])?;
    let running = tokio::spawn(worker.run(progress.clone().reached()));
    tokio::time::sleep(IDLE).await;
    match run.server {
        Some(_) => order(run).await?,
        None => enqueue(&client, run.jobs).await?,
    }
    running.await.map_err(|error| Failure::new("run the worker", error))??;
    let taken = progress.noted_us();
    Ok(Figures {
        p50_us: Some(quantile(&taken, 0.5)),
        p99_us: Some(quantile(&taken, 0.99)),
        max_us: Some(quantile(&taken, 1.0)),
        ping_p50_us: ping,
        ..run.figures(&client)
    })
}

/// Starts the producer's process, and waits until it has enqueued all jobs.
async fn order(run: &Run) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new("run the producer", error);
    let orders = Orders {
        store: run.store.clone(),
        namespace: run.namespace.clone(),
        jobs: run.jobs,
    };
    let orders = serde_json::to_vec(&orders).map_err(|error| Failure::new("write the producer's orders", error))?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut producer = tokio::process::Command::new(program)
        .arg("bench-producer")
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = producer.stdin.take() {
        stdin.write_all(&orders).await.map_err(failed)?;
    }
    let status = producer.wait().await.map_err(failed)?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| Failure::new("run the producer", status.to_string()))
}

/// The producer's process: reads its orders and follows them.
pub async fn produce() -> Result<(), Failure> {
    let mut orders = String::new();
    std::io::stdin()
        .read_to_string(&mut orders)
        .map_err(|error| Failure::new("read the orders", error))?;
    let orders: Orders = serde_json::from_str(&orders).map_err(|error| Failure::new("read the orders", error))?;
    let client = Client::builder(&orders.store).namespace(&orders.namespace).connect().await?;
    enqueue(&client, orders.jobs).await?;
    Ok(client.close().await?)
}

async fn enqueue(client: &Client, jobs: u64) -> Result<(), Failure> {
    let mut ticks = tokio::time::interval(PAUSE);
    for _ in 0..jobs {
        ticks.tick().await;
        client.enqueue(timed { sent_ns: monotonic_ns() }).await?;
    }
    Ok(())
}
