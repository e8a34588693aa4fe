//! Unique keys: held for a job's life or for a time, freed by every end.

use linchpin::names::JobId;
use linchpin::store::new_job::Accepted;
use linchpin::store::settle::Verdict;
use linchpin::store::view::{CancelAnswer, RetryAnswer};

use super::bench::Bench;
use super::draft::{job, secs, unique_key};
use super::worker::{discard, retry_after};

async fn holder(bench: &Bench) -> Option<JobId> {
    bench.unique_holder(&unique_key("u")).await.expect("a read")
}

async fn a_unique_key_is_freed_by_done(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().unique("u", 1)).await;
    assert_eq!(holder(bench).await, Some(id));
    let held = worker.claim_one().await;
    assert_eq!(bench.offer(&[&job().unique("u", 2)]).await, [Accepted::Conflict(id)]);
    worker.done(&held).await;
    assert_eq!(holder(bench).await, None);
    bench.put(job().unique("u", 2)).await;
}

async fn a_unique_key_is_freed_by_death_and_kept_by_a_retry(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().unique("u", 1)).await;
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(5))).await;
    assert_eq!(holder(bench).await, Some(id));
    bench.later(secs(6)).await;
    let held = worker.claim_one().await;
    worker.settle(&held, Verdict::Return).await;
    assert_eq!(holder(bench).await, Some(id));
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    assert_eq!((bench.state(id).await, holder(bench).await), ("dead:discarded".into(), None));
}

async fn a_unique_key_is_freed_by_cancel_and_delete(bench: &Bench) {
    let id = bench.put(job().unique("u", 1)).await;
    assert_eq!(bench.cancel(id).await.expect("a cancel"), CancelAnswer::Cancelled);
    assert_eq!(holder(bench).await, None);
    let id = bench.put(job().unique("u", 2).after(secs(60))).await;
    bench.delete(id).await.expect("a delete");
    assert_eq!(holder(bench).await, None);
}

async fn a_unique_key_is_never_freed_by_another_job(bench: &Bench) {
    let worker = bench.worker();
    let dead = bench.put(job().unique("u", 1)).await;
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    let heir = bench.put(job().unique("u", 2)).await;
    bench.delete(dead).await.expect("a delete");
    assert_eq!(holder(bench).await, Some(heir));
}

async fn retry_of_a_dead_job_takes_its_key_again_or_conflicts(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().unique("u", 1)).await;
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    assert_eq!(bench.retry(id).await.expect("a retry"), RetryAnswer::Ready);
    assert_eq!(holder(bench).await, Some(id));
    assert_eq!(bench.offer(&[&job().unique("u", 1)]).await, [Accepted::Existing(id)], "the digest is known again");
    bench.cancel(id).await.expect("a cancel");
    let heir = bench.put(job().unique("u", 1)).await;
    assert_eq!(bench.retry(id).await.expect("a retry"), RetryAnswer::Conflict(heir));
    assert_eq!(bench.state(id).await, "dead:cancelled");
    assert_eq!(holder(bench).await, Some(heir));
}

async fn a_key_kept_for_a_time_outlives_its_job_until_then(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().unique_for("u", 1, secs(3600))).await;
    let held = worker.claim_one().await;
    worker.done(&held).await;
    assert_eq!(bench.offer(&[&job().unique_for("u", 1, secs(3600))]).await, [Accepted::Existing(id)]);
    assert_eq!(bench.offer(&[&job().unique("u", 2)]).await, [Accepted::Conflict(id)]);
    bench.later(secs(3601)).await;
    assert_eq!(holder(bench).await, None);
    bench.put(job().unique("u", 2)).await;
}

async fn a_key_kept_for_a_time_ends_while_its_job_lives(bench: &Bench) {
    let id = bench.put(job().unique_for("u", 1, secs(60)).after(secs(600))).await;
    bench.later(secs(61)).await;
    let heir = bench.put(job().unique("u", 1)).await;
    bench.cancel(id).await.expect("a cancel");
    assert_eq!(holder(bench).await, Some(heir), "the first one's end does not free it");
}

on_every_engine!(
    a_unique_key_is_freed_by_done,
    a_unique_key_is_freed_by_death_and_kept_by_a_retry,
    a_unique_key_is_freed_by_cancel_and_delete,
    a_unique_key_is_never_freed_by_another_job,
    retry_of_a_dead_job_takes_its_key_again_or_conflicts,
    a_key_kept_for_a_time_outlives_its_job_until_then,
    a_key_kept_for_a_time_ends_while_its_job_lives,
);
