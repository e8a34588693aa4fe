//! A renewal that comes too late: the conductor claims a job as a worker would, all workers are paused so that nobody takes it back, and the renewal
//! arrives when the deadline has passed. The workers' own watchdogs never send one then; a network that holds it back does.

use std::time::Duration;

use linchpin::Client;
use linchpin::limits::grace;
use linchpin::names::{JobId, ProcessId, QueueName};
use linchpin::store::lease::{Renewal, Renewed, RenewedAttempt};
use linchpin::store::turn::{Claim, Turn};

use super::work::{self, LEASE};
use crate::failure::Failure;

/// A queue that no worker serves.
const QUEUE: &str = "late";
/// How long after the deadline the renewal comes: before the lock under it ends by itself.
const AFTER: Duration = Duration::from_millis(200);

/// A job that the conductor has claimed.
pub struct Claimed {
    id: JobId,
    claim: Claim,
}

/// Enqueues a job and claims it; `None` where the store did not give it, and then it is deleted.
pub async fn claim(client: &Client) -> Result<Option<Claimed>, Failure> {
    let job = work::give { order: 0, sku: 0, qty: 0 };
    let id = client.enqueue(job).queue(QUEUE).await?.id();
    let turn = Turn {
        want: 1,
        queues: vec![QueueName::new(QUEUE)?],
        lease: LEASE,
        ..Turn::default()
    };
    let reply = client.store().turn(&ProcessId::random(), 0, turn).await?;
    if reply.claim.is_none() {
        client.delete(id).await?;
    }
    Ok(reply.claim.map(|claim| Claimed { id, claim }))
}

/// Waits until the deadline has passed and renews; whether that was accepted. The job is deleted.
pub async fn renew(client: &Client, claimed: Claimed) -> Result<Option<String>, Failure> {
    tokio::time::sleep(LEASE + grace(LEASE) + AFTER).await;
    let Claimed { id, claim } = claimed;
    let attempts = claim.jobs.iter().map(|job| RenewedAttempt {
        id: job.id,
        locks: Vec::new(),
        nested: Vec::new(),
        progress: None,
    });
    let renewal = Renewal {
        token: claim.token.clone(),
        lease: LEASE,
        attempts: attempts.collect(),
    };
    let answers = client.store().renew(vec![renewal]).await?;
    client.delete(id).await?;
    let accepted = answers
        .iter()
        .flat_map(|answer| &answer.attempts)
        .any(|answer| *answer != Renewed::Lost);
    Ok(accepted.then(|| format!("job {id}: a renewal that came {AFTER:?} after the deadline of its claim was accepted")))
}
