//! Look: what time brings about, and its bounds.

use std::time::Duration;

use linchpin::limits::{DEAD_KEPT, DEAD_KEPT_FOR, LOOK, PROMOTE_MAX};

use super::bench::Bench;
use super::draft::{Draft, job, secs};
use super::worker::discard;

async fn ready(bench: &Bench) -> u64 {
    bench.census().await.expect("a read").ready.iter().map(|(_, count)| count).sum()
}

async fn a_look_promotes_200_and_the_next_turn_goes_on(bench: &Bench) {
    let worker = bench.worker();
    worker.look().await;
    let drafts: Vec<Draft> = (0..2 * PROMOTE_MAX + 50).map(|_| job().after(secs(10))).collect();
    bench.offer(&drafts.iter().collect::<Vec<_>>()).await;
    bench.later(secs(11)).await;
    for promoted in [PROMOTE_MAX, 2 * PROMOTE_MAX, 2 * PROMOTE_MAX + 50] {
        worker.look().await;
        assert_eq!(ready(bench).await, promoted as u64);
    }
}

async fn jobs_are_promoted_in_the_order_they_are_due(bench: &Bench) {
    let worker = bench.worker();
    let third = bench.put(job().after(secs(9))).await;
    let first = bench.put(job().after(secs(3))).await;
    let second = bench.put(job().after(secs(6))).await;
    bench.later(secs(10)).await;
    let held = worker.claim(5).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [first, second, third]);
}

async fn a_promoted_job_goes_to_the_tail(bench: &Bench) {
    let worker = bench.worker();
    let due = bench.put(job().after(secs(3))).await;
    let before = bench.put(job()).await;
    bench.later(secs(4)).await;
    let held = worker.claim(5).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [before, due]);
}

async fn the_next_look_is_500_ms_after_the_last(bench: &Bench) {
    let worker = bench.worker();
    worker.look().await;
    bench.put(job().after(Duration::from_millis(1))).await;
    bench.later(LOOK + Duration::from_millis(10)).await;
    worker.look().await;
    assert_eq!(ready(bench).await, 1);
}

async fn dead_jobs_are_kept_for_90_days(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    bench.later(DEAD_KEPT_FOR - secs(3600)).await;
    worker.look().await;
    assert_eq!(bench.state(id).await, "dead:discarded");
    bench.later(secs(3601)).await;
    worker.look().await;
    assert_eq!(bench.state(id).await, "gone");
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn dead_jobs_above_the_count_go_oldest_first(bench: &Bench) {
    let drafts: Vec<Draft> = (0..DEAD_KEPT + 5).map(|_| job()).collect();
    for batch in drafts.chunks(1000) {
        bench.offer(&batch.iter().collect::<Vec<_>>()).await;
        for draft in batch {
            bench.cancel(draft.id()).await.expect("a cancel");
        }
        bench.later(secs(1)).await;
    }
    let census = bench.census().await.expect("a read");
    assert_eq!((census.dead, census.jobs), (DEAD_KEPT, DEAD_KEPT));
    let gone = [bench.state(drafts[0].id()).await, bench.state(drafts[4].id()).await];
    assert_eq!(gone, ["gone", "gone"]);
    assert_eq!(bench.state(drafts[5].id()).await, "dead:cancelled");
}

on_every_engine!(
    a_look_promotes_200_and_the_next_turn_goes_on,
    jobs_are_promoted_in_the_order_they_are_due,
    a_promoted_job_goes_to_the_tail,
    the_next_look_is_500_ms_after_the_last,
    dead_jobs_are_kept_for_90_days,
    dead_jobs_above_the_count_go_oldest_first,
);
