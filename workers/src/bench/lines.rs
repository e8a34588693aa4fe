//! `lines`: `linchpin enqueue -` as a process of its own, beside the library's bulk enqueue of the same jobs.

use std::process::Stdio;
use std::time::Instant;

use linchpin::Worker;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::bench::Run;
use crate::bench::figures::Figures;
use crate::bench::tasks::{Progress, note_for, noted};
use crate::failure::Failure;

/// Bytes of each job's arguments.
const ARGS_BYTES: usize = 100;
/// Jobs a bulk call.
const BULK: u64 = 1000;

/// Measures the workload once, its floor before and after.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    run.need_server()?;
    let client = run.client().await?;
    let floor_before = bulk_per_s(run).await?;
    tell(run).await?;
    let job = serde_json::to_string(&noted {
        sku: "A1".into(),
        qty: 1,
        note: note_for(ARGS_BYTES),
    })
    .map_err(|error| Failure::new("write a job", error))?;
    let input = format!("noted {job}\n").repeat(run.jobs as usize);
    let failed = |error: std::io::Error| Failure::new("run `linchpin enqueue -`", error);
    let began = Instant::now();
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["enqueue", "-", "--json", "--store", &run.store, "--namespace", &run.namespace])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await.map_err(failed)?;
    }
    let output = child.wait_with_output().await.map_err(failed)?;
    let seconds = began.elapsed().as_secs_f64();
    let enqueued = client.census().await?.jobs;
    if !output.status.success() || enqueued != run.jobs {
        let found = format!("{}; {enqueued} of {} jobs were enqueued", output.status, run.jobs);
        return Err(Failure::new("run `linchpin enqueue -`", found));
    }
    run.sweep().await?;
    let floor = (floor_before + bulk_per_s(run).await?) / 2.0;
    let rate = run.jobs as f64 / seconds;
    Ok(Figures {
        seconds: Some(seconds),
        enqueue_per_s: Some(rate),
        floor_enqueue_per_s: Some(floor),
        ratio_to_floor: Some(rate / floor),
        ..run.figures(&client)
    })
}

/// What the library enqueues of the same jobs, 1,000 a call; leaves the namespace empty.
async fn bulk_per_s(run: &mut Run) -> Result<f64, Failure> {
    let client = run.client().await?;
    let note = note_for(ARGS_BYTES);
    let began = Instant::now();
    for first in (0..run.jobs).step_by(BULK as usize) {
        let jobs = (first..(first + BULK).min(run.jobs)).map(|_| noted {
            sku: "A1".into(),
            qty: 1,
            note: note.clone(),
        });
        for answer in client.enqueue_many(jobs.collect::<Vec<_>>()).await? {
            answer?;
        }
    }
    let rate = run.jobs as f64 / began.elapsed().as_secs_f64();
    client.close().await?;
    run.sweep().await?;
    Ok(rate)
}

/// Lets the store know the task, as its workers do when they start.
async fn tell(run: &Run) -> Result<(), Failure> {
    let client = run.client().await?;
    let progress = Progress::expecting(1);
    let worker = Worker::builder(&client).data(progress.clone()).task::<noted>().build()?;
    client
        .enqueue(noted {
            sku: "A1".into(),
            qty: 1,
            note: String::new(),
        })
        .await?;
    worker.run(progress.reached()).await?;
    client.close().await?;
    Ok(())
}
