//! `exec`: jobs whose task is the command `/bin/true`, beside a bare loop that spawns it as many at a time.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use linchpin::config::{Config, TaskConfig};
use linchpin::{Enqueued, Worker};
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::bench::Run;
use crate::bench::clock::own_cpu;
use crate::bench::figures::Figures;
use crate::exec::registration;
use crate::failure::Failure;

const PROGRAM: &str = "/bin/true";
const TASK: &str = "run";

/// Measures the workload once, its floor before and after.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    let floor_before = spawned_per_s(run.jobs, run.concurrency).await?;
    let client = run.client().await?;
    let config = format!("[tasks.{TASK}]\nexec = [\"{PROGRAM}\"]\nretries = 0\n");
    let tasks = Config::parse("bench", &config, BTreeMap::new())
        .map_err(|problems| Failure::new("bench exec", problems))?
        .tasks;
    let Some(TaskConfig::Command(command)) = tasks.get(TASK) else {
        return Err(Failure::new("bench exec", "its task has no command"));
    };
    let worker = Worker::builder(&client)
        .concurrency(run.concurrency)
        .attempts_log(run.log)
        .defined(registration(TASK, (**command).clone()));
    let manifests = worker.manifests();
    let jobs: Result<Vec<_>, _> = (0..run.jobs)
        .map(|_| client.enqueue_named(&manifests, TASK, &serde_json::Map::new()))
        .collect();
    let mut last = Vec::new();
    for answer in client.enqueue_many(jobs?).await? {
        let (Enqueued::New(id) | Enqueued::Existing(id)) = answer?;
        last.push(id);
    }
    // claimed in order: when these have ended, so have all before them
    last.drain(..last.len().saturating_sub(2 * run.concurrency));
    let worker = worker.build()?;
    let ended = async {
        for id in last {
            let _ = client.wait(id).await;
        }
    };
    let (cpu, began) = (own_cpu(), Instant::now());
    let summary = worker.run(ended).await?;
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), own_cpu() - cpu);
    if summary.done != run.jobs {
        return Err(Failure::new(
            "bench exec",
            format!("{} of {} jobs were done", summary.done, run.jobs),
        ));
    }
    let floor = (floor_before + spawned_per_s(run.jobs, run.concurrency).await?) / 2.0;
    let rate = run.jobs as f64 / seconds;
    Ok(Figures {
        seconds: Some(seconds),
        jobs_per_s: Some(rate),
        worker_cpu_us_per_job: Some(cpu.as_secs_f64() * 1e6 / run.jobs as f64),
        floor_jobs_per_s: Some(floor),
        ratio_to_floor: Some(rate / floor),
        ..run.figures(&client)
    })
}

/// Spawns the program again and again, `at_once` at a time, and waits for each.
async fn spawned_per_s(times: u64, at_once: usize) -> Result<f64, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("spawn {PROGRAM}"), error);
    let began = Instant::now();
    let mut loops = JoinSet::new();
    for n in 0..at_once as u64 {
        let share = times / at_once as u64 + u64::from(n < times % at_once as u64);
        loops.spawn(async move {
            for _ in 0..share {
                Command::new(PROGRAM)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .await?;
            }
            Ok(())
        });
    }
    while let Some(ended) = loops.join_next().await {
        ended.map_err(|error| Failure::new("bench exec", error))?.map_err(failed)?;
    }
    Ok(times as f64 / began.elapsed().max(Duration::from_micros(1)).as_secs_f64())
}
