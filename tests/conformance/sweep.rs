//! The sweep: what no transition leaves behind is mended all the same.

use linchpin::limits::SWEEP;

use super::bench::Bench;
use super::draft::{job, secs};
use super::worker::Worker;

/// Two looks after the sweep is due: an engine may sweep in pieces.
async fn sweep(bench: &Bench, worker: &Worker) {
    worker.look().await;
    bench.later(SWEEP + secs(1)).await;
    for _ in 0..2 {
        worker.look().await;
        bench.later(secs(1)).await;
    }
}

async fn a_ready_job_in_no_list_comes_back(bench: &Bench) {
    let worker = bench.worker();
    let lost = bench.put(job().lock("k")).await;
    let kept = bench.put(job()).await;
    bench.engine.lose_entries(lost).await;
    assert_eq!(bench.state(lost).await, "ready");
    sweep(bench, &worker).await;
    assert_eq!(bench.engine.lists().await["queue:q:1"], [kept, lost], "once, at the tail");
    let held = worker.claim(2).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [kept, lost]);
}

async fn a_parked_job_in_no_list_comes_back(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let lost = bench.put(job().lock("k").wait_timeout(secs(3600))).await;
    assert!(worker.claim(1).await.is_empty());
    bench.engine.lose_entries(lost).await;
    worker.done(&holder).await;
    assert_eq!(bench.state(lost).await, "parked:k", "nobody can hand the lock to it");
    sweep(bench, &worker).await;
    assert_eq!(bench.state(lost).await, "ready");
    let held = worker.claim_one().await;
    assert_eq!(held.id, lost);
    worker.done(&held).await;
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn what_is_where_it_belongs_is_left_alone(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let active = worker.claim_one().await;
    let parked = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let scheduled = bench.put(job().after(secs(7200))).await;
    let ready = bench.put(job()).await;
    let dead = bench.put(job()).await;
    bench.cancel(dead).await.expect("an answer");
    worker.look().await;
    for _ in 0..61 {
        bench.later(secs(10)).await;
        worker.renew(&[&active]).await;
    }
    worker.look().await;
    let states = [active.id, parked, scheduled, ready, dead].map(|id| bench.state(id));
    let states = futures::future::join_all(states).await;
    assert_eq!(states, ["active", "parked:k", "scheduled", "ready", "dead:cancelled"]);
    assert_eq!(
        bench.engine.lists().await["queue:q:1"],
        [ready, dead],
        "no second entry; the dead one's is dropped when it is met"
    );
    worker.done(&active).await;
}

on_every_engine!(
    a_ready_job_in_no_list_comes_back,
    a_parked_job_in_no_list_comes_back,
    what_is_where_it_belongs_is_left_alone,
);
