//! `drain`: what is left in the store when jobs without a lock, with locks of their own and with one lock have all ended
//! and the worker has stopped.

use crate::bench::figures::{Figures, More};
use crate::bench::throughput;
use crate::bench::{Run, Workload};
use crate::failure::Failure;

/// Runs a third of the jobs of each kind, and lists the keys that are left.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    let mut server = run.need_server()?;
    let client = run.client().await?;
    let third = run.jobs.div_ceil(3);
    for workload in [Workload::Noop, Workload::Locked, Workload::Hot] {
        throughput::fill(&client, workload, third).await?;
    }
    let figures = throughput::drain(run, &client, third * 3).await?;
    client.close().await?;
    let left_keys = server.key_sizes().await?;
    let left_bytes = left_keys.iter().map(|(_, bytes)| bytes).sum();
    Ok(Figures {
        jobs: third * 3,
        more: Some(More::Drain { left_bytes, left_keys }),
        ..figures
    })
}
