//! `enqueue`: one job a call, each awaited, and 1,000 jobs a call, with 100 bytes of arguments.

use std::time::Instant;

use crate::bench::Run;
use crate::bench::figures::Figures;
use crate::bench::floor;
use crate::bench::tasks::{note_for, noted};
use crate::failure::Failure;

/// Bytes of each job's arguments.
const ARGS_BYTES: usize = 100;
/// Calls that tell how many bytes one sends.
const PROBES: u64 = 500;
/// Jobs a bulk call.
const BULK: usize = 1000;
/// Bulk calls.
const BULKS: usize = 100;

/// Measures the workload once, its floor before and after.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    let client = run.client().await?;
    let note = note_for(ARGS_BYTES);
    let job = || noted {
        sku: "A1".into(),
        qty: 1,
        note: note.clone(),
    };

    let before = run.info().await?;
    for _ in 0..PROBES {
        client.enqueue(job()).await?;
    }
    let after = run.info().await?;
    let call_bytes = before
        .zip(after)
        .map(|(before, after)| (after.since(&before).input_bytes / PROBES as f64) as usize);

    let floor_before = floor_of(run, call_bytes).await?;
    let began = Instant::now();
    for _ in 0..run.jobs {
        client.enqueue(job()).await?;
    }
    let one_by_one = run.jobs as f64 / began.elapsed().as_secs_f64();
    let floor_after = floor_of(run, call_bytes).await?;

    let before = run.info().await?;
    let began = Instant::now();
    for _ in 0..BULKS {
        for answer in client.enqueue_many((0..BULK).map(|_| job()).collect::<Vec<_>>()).await? {
            answer?;
        }
    }
    let bulk = (BULK * BULKS) as f64 / began.elapsed().as_secs_f64();
    let after = run.info().await?;
    let held = before
        .zip(after)
        .map(|(before, after)| after.since(&before).held_bytes / (BULK * BULKS) as f64);

    let floor = floor_before.zip(floor_after).map(|(before, after)| (before + after) / 2.0);
    Ok(Figures {
        enqueue_per_s: Some(one_by_one),
        bulk_enqueue_per_s: Some(bulk),
        redis_bytes_per_pending_job: held,
        floor_enqueue_per_s: floor,
        ratio_to_floor: floor.map(|floor| one_by_one / floor),
        ..run.figures(&client)
    })
}

async fn floor_of(run: &mut Run, call_bytes: Option<usize>) -> Result<Option<f64>, Failure> {
    match (&mut run.server, call_bytes) {
        (Some(server), Some(bytes)) => floor::calls_per_s(server, run.jobs, bytes).await.map(Some),
        _ => Ok(None),
    }
}
