//! `backlog`: how fast jobs are claimed with very many pending, against few. The two take turns, so that both see the same
//! machine.

use linchpin::Client;

use crate::bench::figures::{Figures, More, rounded};
use crate::bench::tasks::Progress;
use crate::bench::throughput;
use crate::bench::{Run, Workload};
use crate::failure::Failure;

/// Jobs pending in the shallow case, and jobs measured at a time in both.
const SHALLOW: u64 = 10_000;
/// Times that each is measured.
const ROUNDS: usize = 7;

/// Measures both depths in turn.
pub async fn measure(run: &mut Run) -> Result<Figures, Failure> {
    run.need_server()?;
    let (deep, shallow) = (run.client().await?, run.shallow_client().await?);
    throughput::fill(&deep, Workload::Noop, run.jobs).await?;
    let (mut deep_rates, mut shallow_rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        throughput::fill(&shallow, Workload::Noop, SHALLOW).await?;
        shallow_rates.push(claim_rate(run, &shallow).await?);
        deep_rates.push(claim_rate(run, &deep).await?);
    }
    let (deep_rate, shallow_rate) = (median(deep_rates), median(shallow_rates));
    let more = More::Backlog {
        shallow_jobs: SHALLOW,
        shallow_jobs_per_s: rounded(shallow_rate),
        ratio_to_shallow: rounded(deep_rate / shallow_rate),
    };
    Ok(Figures {
        jobs_per_s: Some(deep_rate),
        more: Some(more),
        ..run.figures(&deep)
    })
}

/// Jobs per second from the first handler to the last of [`SHALLOW`].
async fn claim_rate(run: &Run, client: &Client) -> Result<f64, Failure> {
    let progress = Progress::expecting(SHALLOW);
    run.worker(client, &progress, &[])?.run(progress.clone().reached()).await?;
    let span = progress
        .span()
        .ok_or_else(|| Failure::new("measure the claims", "too few handlers ran"))?;
    Ok(SHALLOW as f64 / span.as_secs_f64())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    crate::bench::clock::quantile(&rates, 0.5)
}
