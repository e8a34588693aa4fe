//! `schedules`: a worker that brings very many schedules, none of which is due, and one that ticks every second: what knowing them costs, and how late the ticks are.

use std::time::{Duration, Instant};

use linchpin::schedule::{Fate, Overlap, Schedule};
use tokio::sync::oneshot;

use crate::bench::Run;
use crate::bench::clock::own_cpu;
use crate::bench::figures::{Figures, More, rounded};
use crate::bench::tasks::{Progress, noop};
use crate::failure::Failure;

/// Until all are written and the worker has settled.
const WARM_UP: Duration = Duration::from_secs(5);
/// How long is counted, in rounds of as many seconds as ticks are remembered.
const ROUNDS: u32 = 3;
const ROUND: Duration = Duration::from_secs(9);
const PULSE: &str = "pulse";

/// Starts the worker and counts.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    let client = run.client().await?;
    let progress = Progress::expecting(u64::MAX);
    let job = || noop { sku: "A1".into(), qty: 1 };
    let far = (0..run.jobs).map(|n| Schedule::every(format!("far-{n}"), "366d").job(job()));
    let pulse = Schedule::every(PULSE, "1s").job(job()).overlap(Overlap::Allow);
    let worker = far
        .chain([pulse])
        .fold(run.builder(&client, &progress, &[]), |worker, schedule| worker.schedule(schedule));
    let worker = worker.build()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    let begun = Instant::now();
    while client.schedules().await?.len() as u64 <= run.jobs && begun.elapsed() < Duration::from_secs(120) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tokio::time::sleep(WARM_UP).await;
    let (mut cpu, mut seconds, mut ticks, mut latest_ms) = (Duration::ZERO, 0.0, 0, 0);
    for _ in 0..ROUNDS {
        let (cpu_before, began) = (own_cpu(), Instant::now());
        tokio::time::sleep(ROUND).await;
        cpu += own_cpu() - cpu_before;
        seconds += began.elapsed().as_secs_f64();
        // not counted: reading them all is what an operator does
        let view = client.schedule_view(PULSE).await?;
        for outcome in view.map(|view| view.past).unwrap_or_default() {
            ticks += u64::from(outcome.fate == Fate::Fired);
            latest_ms = latest_ms.max(outcome.late_ms);
        }
    }
    drop(stop);
    running.await.map_err(|error| Failure::new("run the worker", error))??;
    Ok(Figures {
        seconds: Some(seconds),
        more: Some(More::Schedules {
            cpu_percent: rounded(cpu.as_secs_f64() / seconds * 100.0),
            ticks,
            latest_ms,
        }),
        ..run.figures(&client)
    })
}
