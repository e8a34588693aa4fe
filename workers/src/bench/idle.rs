//! `idle`: a fleet of workers that serve many queues and have nothing to do; what it costs the server.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::bench::Run;
use crate::bench::figures::{Figures, More, rounded};
use crate::bench::tasks::Progress;
use crate::failure::Failure;

/// Workers of the fleet, each with a client of its own.
const WORKERS: usize = 20;
/// Queues that each serves.
const QUEUES: usize = 10;
/// Until everybody has started and settled.
const WARM_UP: Duration = Duration::from_secs(5);
/// How long is counted.
const COUNTED: Duration = Duration::from_secs(20);

/// Starts the fleet and counts.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    run.need_server()?;
    let queues: Vec<String> = (1..=QUEUES).map(|number| format!("idle-{number}")).collect();
    let progress = Progress::expecting(u64::MAX);
    let (stop, stopped) = watch::channel(false);
    let (mut fleet, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..WORKERS {
        let client = run.client().await?;
        let worker = run.worker(&client, &progress, &queues)?;
        let mut stopped = stopped.clone();
        fleet.push(tokio::spawn(worker.run(async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        })));
        clients.push(client);
    }
    tokio::time::sleep(WARM_UP).await;
    let (before, began) = (run.info().await?, Instant::now());
    tokio::time::sleep(COUNTED).await;
    let (after, seconds) = (run.info().await?, began.elapsed().as_secs_f64());
    let _ = stop.send(true);
    for worker in fleet {
        worker.await.map_err(|error| Failure::new("run the fleet", error))??;
    }
    let spent = before.zip(after).map(|(before, after)| after.since(&before));
    let more = spent.map(|spent| More::Idle {
        workers: WORKERS,
        queues: QUEUES,
        redis_commands_per_s: rounded(spent.commands / seconds),
        redis_calls_per_s: rounded(spent.calls / seconds),
    });
    Ok(Figures {
        seconds: Some(seconds),
        more,
        ..run.figures(&clients[0])
    })
}
