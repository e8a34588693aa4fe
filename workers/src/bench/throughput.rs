//! `noop`, `locked`, `hot`: all jobs are enqueued before the clock starts; how long until the last is settled.

use std::time::Instant;

use linchpin::Client;

use crate::bench::clock::own_cpu;
use crate::bench::figures::Figures;
use crate::bench::floor::Shape;
use crate::bench::tasks::{Progress, effecting, locked, noop, note_for, noted, noted_locked};
use crate::bench::{Run, Workload};
use crate::failure::Failure;

/// Jobs handed to the client in one call.
const BULK: u64 = 1000;
/// Bytes of arguments for the memory of a pending job.
const WEIGHED_ARGS_BYTES: usize = 100;

/// Measures the workload once, its floor before and after.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    // One job after the other is all that one lock allows.
    let shape = Shape::of(if run.workload == Workload::Hot { 1 } else { run.concurrency });
    let floor_before = run.floor(shape).await?;
    let bytes = weigh(run).await?;
    let client = run.client().await?;
    match run.effects {
        0 => fill(&client, run.workload, run.jobs).await?,
        _ => fill_effecting(&client, run.jobs).await?,
    }
    let mut figures = drain(run, &client, run.jobs).await?;
    let shelves = run.shelves();
    for key in shelves.keys() {
        let sold = client.value(key).await?.and_then(|value| value.as_int());
        if sold != Some(-(run.jobs as i64)) {
            return Err(Failure::new("count effects", format!("{sold:?} for {} jobs", run.jobs)));
        }
        client.apply(|fx| fx.del(key)).await?;
    }
    let floor_after = run.floor(shape).await?;
    figures.redis_bytes_per_pending_job = bytes;
    figures.floor_jobs_per_s = floor_before.zip(floor_after).map(|(before, after)| (before + after) / 2.0);
    figures.ratio_to_floor = figures.jobs_per_s.zip(figures.floor_jobs_per_s).map(|(rate, floor)| rate / floor);
    Ok(figures)
}

/// Enqueues the workload's jobs.
pub async fn fill(client: &Client, workload: Workload, jobs: u64) -> Result<(), Failure> {
    for first in (0..jobs).step_by(BULK as usize) {
        let numbers = first..(first + BULK).min(jobs);
        match workload {
            Workload::Locked => {
                bulk(
                    client,
                    numbers.map(|number| locked {
                        sku: format!("A{number}"),
                        qty: 1,
                    }),
                )
                .await?
            }
            Workload::Hot => bulk(client, numbers.map(|_| locked { sku: "A1".into(), qty: 1 })).await?,
            _ => bulk(client, numbers.map(|_| noop { sku: "A1".into(), qty: 1 })).await?,
        }
    }
    Ok(())
}

async fn fill_effecting(client: &Client, jobs: u64) -> Result<(), Failure> {
    for first in (0..jobs).step_by(BULK as usize) {
        let sales = first..(first + BULK).min(jobs);
        bulk(client, sales.map(|_| effecting { sku: "A1".into(), qty: 1 })).await?;
    }
    Ok(())
}

/// Runs one worker until `jobs` jobs are settled.
pub async fn drain(run: &mut Run, client: &Client, jobs: u64) -> Result<Figures, Failure> {
    let progress = Progress::expecting(jobs);
    let worker = run.worker(client, &progress, &[])?;
    let before = run.info().await?;
    let (cpu, began) = (own_cpu(), Instant::now());
    let summary = worker.run(progress.clone().reached()).await?;
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), own_cpu() - cpu);
    let after = run.info().await?;
    if (summary.done, progress.ended()) != (jobs, jobs) {
        let found = format!(
            "{} handlers ran and {} settles were accepted for {jobs} jobs",
            progress.ended(),
            summary.done
        );
        return Err(Failure::new("drain the queue", found));
    }
    let per_job = |total: f64| total / jobs as f64;
    let spent = before.zip(after).map(|(before, after)| after.since(&before));
    Ok(Figures {
        seconds: Some(seconds),
        jobs_per_s: Some(jobs as f64 / seconds),
        redis_cpu_us_per_job: spent.map(|spent| per_job(spent.cpu_us)),
        redis_commands_per_job: spent.map(|spent| per_job(spent.commands)),
        redis_calls_per_job: spent.map(|spent| per_job(spent.calls)),
        worker_cpu_us_per_job: Some(per_job(cpu.as_secs_f64() * 1e6)),
        ..run.figures(client)
    })
}

/// What a pending job with 100 bytes of arguments takes in the server's memory.
async fn weigh(run: &mut Run) -> Result<Option<f64>, Failure> {
    let client = run.client().await?;
    let Some(before) = run.info().await? else { return Ok(None) };
    for first in (0..run.jobs).step_by(BULK as usize) {
        let numbers = first..(first + BULK).min(run.jobs);
        let note = note_for(WEIGHED_ARGS_BYTES);
        match run.workload {
            Workload::Noop => {
                bulk(
                    &client,
                    numbers.map(|_| noted {
                        sku: "A1".into(),
                        qty: 1,
                        note: note.clone(),
                    }),
                )
                .await?
            }
            Workload::Hot => {
                bulk(
                    &client,
                    numbers.map(|_| noted_locked {
                        sku: "A1".into(),
                        qty: 1,
                        note: note.clone(),
                    }),
                )
                .await?
            }
            _ => {
                // The digits of the sku are taken off the note.
                let job = |number: u64| {
                    let sku = format!("A{number}");
                    let note = note[sku.len() - 2..].to_owned();
                    noted_locked { sku, qty: 1, note }
                };
                bulk(&client, numbers.map(job)).await?;
            }
        }
    }
    let after = run.info().await?;
    client.close().await?;
    run.sweep().await?;
    Ok(after.map(|after| after.since(&before).held_bytes / run.jobs as f64))
}

async fn bulk<J: linchpin::Job>(client: &Client, jobs: impl Iterator<Item = J>) -> Result<(), Failure> {
    for answer in client.enqueue_many(jobs.collect::<Vec<_>>()).await? {
        answer?;
    }
    Ok(())
}
