//! `wait_timeout`: how long a job may be parked.

use linchpin::store::settle::{Charge, Verdict};
use linchpin::store::turn::LockOutcome;

use super::bench::Bench;
use super::draft::{job, job_in, queue, secs};
use super::worker::wants;

async fn a_job_parked_for_its_wait_timeout_is_delivered_as_given_up(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let hasty = bench.put(job().lock("k").wait_timeout(secs(10))).await;
    let patient = bench.put(job().lock("k")).await;
    assert!(worker.claim(2).await.is_empty());
    bench.later(secs(9)).await;
    assert!(worker.claim(2).await.is_empty());
    worker.renew(&[&holder]).await;
    bench.later(secs(2)).await;
    let held = worker.claim(2).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [hasty]);
    assert!(
        matches!(held[0].how, LockOutcome::GaveUp(waited) if waited >= secs(11) && waited < secs(12)),
        "{:?}",
        held[0].how
    );
    assert_eq!(bench.census().await.expect("a read").parked, 1);
    let busy = Verdict::Schedule {
        delay: secs(1),
        charge: Charge::Attempt,
        error: None,
    };
    worker.settle(&held[0], busy).await;
    assert_eq!(
        (bench.state(hasty).await, bench.state(patient).await),
        ("scheduled".into(), "parked:k".into())
    );
    worker.renew(&[&holder]).await;
    bench.later(secs(3)).await;
    assert!(worker.claim(1).await.is_empty(), "it parks anew, for another wait_timeout");
    assert_eq!(bench.state(hasty).await, "parked:k");
    worker.done(&holder).await;
}

async fn a_turn_that_comes_in_time_ends_the_wait(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k").wait_timeout(secs(10))).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holder).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, waiter);
    worker.renew(&[&held]).await;
    bench.later(secs(11)).await;
    worker.look().await;
    assert_eq!(bench.state(waiter).await, "active");
    worker.done(&held).await;
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn a_job_that_waits_for_one_key_and_then_another_gives_up_once(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("a")).await;
    let holds_a = worker.claim_one().await;
    let both = bench.put(job().locks(&["a", "b"]).wait_timeout(secs(10))).await;
    assert!(worker.claim(1).await.is_empty());
    bench.put(job().lock("b")).await;
    let holds_b = worker.claim_one().await;
    bench.later(secs(6)).await;
    worker.done(&holds_a).await;
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(both).await, "parked:b");
    bench.later(secs(5)).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, both);
    assert!(
        matches!(held.how, LockOutcome::GaveUp(waited) if waited >= secs(11)),
        "from the first park: {:?}",
        held.how
    );
    worker.done(&holds_b).await;
}

async fn a_job_that_gave_up_in_a_paused_queue_waits_for_the_queue(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let paused = bench.put(job_in("p").lock("k").wait_timeout(secs(5))).await;
    assert!(worker.turn(wants(1, &["p"])).await.0.is_empty());
    bench.pause(&queue("p")).await.expect("a pause");
    bench.later(secs(6)).await;
    assert!(worker.turn(wants(1, &["p"])).await.0.is_empty());
    assert_eq!(bench.state(paused).await, "ready");
    worker.done(&holder).await;
    bench.resume(&queue("p")).await.expect("a resume");
    let (held, _) = worker.turn(wants(1, &["p"])).await;
    assert!(matches!(held[0].how, LockOutcome::GaveUp(_)), "{:?}", held[0].how);
}

on_every_engine!(
    a_job_parked_for_its_wait_timeout_is_delivered_as_given_up,
    a_turn_that_comes_in_time_ends_the_wait,
    a_job_that_waits_for_one_key_and_then_another_gives_up_once,
    a_job_that_gave_up_in_a_paused_queue_waits_for_the_queue,
);
