//! `due`: jobs that are all due at one instant; whether all run, and the longest script they cause.

use std::time::{Duration, Instant, SystemTime};

use linchpin::Client;

use crate::bench::Run;
use crate::bench::figures::{Figures, More};
use crate::bench::server::Server;
use crate::bench::tasks::{note_for, noted};
use crate::bench::throughput;
use crate::failure::Failure;

/// What the slow log is told to keep, in microseconds.
const SLOW_US: &str = "500";
/// Entries the slow log is told to keep.
const SLOW_KEPT: &str = "20000";
/// Jobs handed to the client in one call.
const BULK: u64 = 1000;
/// How long enqueueing is given, beside its bytes at this many a second.
const HEAD_START: Duration = Duration::from_secs(2);
const BYTES_PER_S: u64 = 100 << 20;

/// Runs the workload once with the slow log open.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    let mut server = run.need_server()?;
    run.configure("slowlog-log-slower-than", SLOW_US).await?;
    run.configure("slowlog-max-len", SLOW_KEPT).await?;
    let client = run.client().await?;
    server.forget_slow().await?;
    let head_start = HEAD_START + Duration::from_secs(run.jobs * run.args_bytes as u64 / BYTES_PER_S);
    let (due, began) = (SystemTime::now() + head_start, Instant::now());
    fill(&client, run, due).await?;
    let slowest_enqueue_us = slowest(&mut server).await?;
    server.forget_slow().await?;
    tokio::time::sleep(head_start.saturating_sub(began.elapsed() + Duration::from_millis(500))).await;
    let figures = throughput::drain(run, &client, run.jobs).await?;
    let slowest_script_us = slowest(&mut server).await?;
    Ok(Figures {
        more: Some(More::Due {
            args_bytes: run.args_bytes,
            slowest_script_us,
            slowest_enqueue_us,
        }),
        ..figures
    })
}

async fn fill(client: &Client, run: &Run, due: SystemTime) -> Result<(), Failure> {
    let note = note_for(run.args_bytes);
    for first in (0..run.jobs).step_by(BULK as usize) {
        let count = BULK.min(run.jobs - first);
        let jobs = (0..count).map(|_| {
            client
                .enqueue(noted {
                    sku: "A1".into(),
                    qty: 1,
                    note: note.clone(),
                })
                .at(due)
        });
        for answer in client.enqueue_many(jobs.collect::<Vec<_>>()).await? {
            answer?;
        }
    }
    Ok(())
}

async fn slowest(server: &mut Server) -> Result<u64, Failure> {
    Ok(server.slow_scripts_us().await?.into_iter().max().unwrap_or(0))
}
