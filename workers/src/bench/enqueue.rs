//! `enqueue`: one job a call, each awaited, and 1,000 jobs a call, with 100 bytes of arguments.

use std::time::{Duration, Instant};

use crate::bench::Run;
use crate::bench::figures::Figures;
use crate::bench::floor;
use crate::bench::tasks::{note_for, noted};
use crate::failure::Failure;

/// Bytes of each job's arguments.
const ARGS_BYTES: usize = 100;
/// Calls that tell how many bytes one sends.
const PROBES: u64 = 500;
/// Parts of the calls one by one; the floor is measured before and after each.
const SLICES: u64 = 10;
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

    // In slices, the floor before and after each: a machine that slows down slows both.
    let slice = run.jobs.div_ceil(SLICES);
    let (mut spent, mut floors) = (Duration::ZERO, Vec::from_iter(floor_of(run, slice, call_bytes).await?));
    for _ in 0..SLICES {
        let began = Instant::now();
        for _ in 0..slice {
            client.enqueue(job()).await?;
        }
        spent += began.elapsed();
        floors.extend(floor_of(run, slice, call_bytes).await?);
    }
    let jobs = slice * SLICES;
    let one_by_one = jobs as f64 / spent.as_secs_f64();
    // Calls a second over all of them: the mean of what a call took, turned over.
    let floor = (!floors.is_empty()).then(|| floors.len() as f64 / floors.iter().map(|rate| 1.0 / rate).sum::<f64>());

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

    Ok(Figures {
        jobs,
        enqueue_per_s: Some(one_by_one),
        bulk_enqueue_per_s: Some(bulk),
        redis_bytes_per_pending_job: held,
        floor_enqueue_per_s: floor,
        ratio_to_floor: floor.map(|floor| one_by_one / floor),
        ..run.figures(&client)
    })
}

async fn floor_of(run: &mut Run, calls: u64, call_bytes: Option<usize>) -> Result<Option<f64>, Failure> {
    match (&mut run.server, call_bytes) {
        (Some(server), Some(bytes)) => floor::calls_per_s(server, calls, bytes).await.map(Some),
        _ => Ok(None),
    }
}
