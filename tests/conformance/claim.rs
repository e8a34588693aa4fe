//! Claim: what comes off the lists, and what does not.

use linchpin::store::settle::{Charge, Death, SettleAnswer, Verdict};
use linchpin::store::turn::{LockOutcome, More};

use super::bench::Bench;
use super::draft::{job, job_in, key, queue, secs};
use super::worker::wants;

async fn an_entry_twice_is_claimed_once(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    bench.engine.duplicate_entry(id).await;
    let held = worker.claim(10).await;
    assert_eq!(held.len(), 1, "twins in one range");
    bench.engine.duplicate_entry(id).await;
    assert!(worker.claim(10).await.is_empty(), "an entry of an active job");
    bench.engine.duplicate_entry(id).await;
    worker.done(&held[0]).await;
    assert!(worker.claim(10).await.is_empty(), "an entry of a job that is gone");
    assert!(bench.census().await.expect("a read").ready.is_empty(), "stale entries are dropped");
}

async fn entries_of_scheduled_parked_and_dead_jobs_are_dropped(bench: &Bench) {
    let worker = bench.worker();
    let scheduled = bench.put(job().after(secs(600))).await;
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let parked = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let dead = bench.put(job()).await;
    bench.cancel(dead).await.expect("a cancel");
    for id in [scheduled, parked, dead] {
        bench.engine.duplicate_entry(id).await;
    }
    assert!(worker.claim(10).await.is_empty());
    let states = [bench.state(scheduled).await, bench.state(parked).await, bench.state(dead).await];
    assert_eq!(states, ["scheduled", "parked:k", "dead:cancelled"]);
    assert!(bench.census().await.expect("a read").ready.is_empty());
    worker.done(&holder).await;
}

async fn a_claim_takes_at_most_what_it_wants_and_says_whether_there_is_more(bench: &Bench) {
    let worker = bench.worker();
    for _ in 0..5 {
        bench.put(job()).await;
    }
    let (held, reply) = worker.turn(wants(2, &["q"])).await;
    assert_eq!((held.len(), reply.more), (2, More::Yes));
    let (held, reply) = worker.turn(wants(10, &["q"])).await;
    assert_eq!((held.len(), reply.more), (3, More::No));
    let (held, reply) = worker.turn(wants(0, &["q"])).await;
    assert_eq!((held.len(), reply.more), (0, More::Unknown));
}

async fn a_list_that_had_as_many_as_asked_may_have_more_though_none_was_claimed(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    for _ in 0..3 {
        bench.put(job().lock("k")).await;
    }
    let behind = bench.put(job()).await;
    let (held, reply) = worker.turn(wants(3, &["q"])).await;
    assert_eq!(
        (held.len(), reply.more),
        (0, More::Yes),
        "three parked, and are not replaced in that turn"
    );
    assert_eq!(worker.claim_one().await.id, behind);
    worker.done(&holder).await;
}

async fn one_claim_fills_up_from_list_to_list(bench: &Bench) {
    for name in ["a", "b"] {
        for _ in 0..3 {
            bench.put(job_in(name)).await;
        }
    }
    let (held, reply) = bench.worker().turn(wants(4, &["a", "b"])).await;
    let queues: Vec<_> = held
        .iter()
        .map(|held| held.envelope.clone().expect("it can be read").header.queue)
        .collect();
    assert_eq!(queues, [queue("a"), queue("a"), queue("a"), queue("b")]);
    assert_eq!(reply.more, More::Yes);
}

async fn a_paused_queue_is_not_looked_at(bench: &Bench) {
    let worker = bench.worker();
    let running = bench.put(job()).await;
    let held = worker.claim_one().await;
    let waiting = bench.put(job()).await;
    bench.pause(&queue("q")).await.expect("a pause");
    let (none, reply) = worker.turn(wants(5, &["q"])).await;
    assert_eq!((none.len(), reply.more), (0, More::No));
    assert_eq!(bench.census().await.expect("a read").paused, [queue("q")]);
    worker.done(&held).await;
    assert_eq!(
        (bench.state(running).await, bench.state(waiting).await),
        ("gone".into(), "ready".into()),
        "active ones go on"
    );
    bench.resume(&queue("q")).await.expect("a resume");
    assert_eq!(worker.claim_one().await.id, waiting);
}

async fn tokens_name_worker_and_lane_and_grow_and_fences_grow(bench: &Bench) {
    let worker = bench.worker();
    let mut fences = Vec::new();
    let mut numbers = Vec::new();
    for _ in 0..3 {
        bench.put(job()).await;
        bench.put(job()).await;
        for held in worker.claim(2).await {
            let rest = held.token.as_str().strip_prefix(&format!("{}.", worker.id)).expect("the worker");
            let (_lane, number) = rest.split_once('.').expect("a lane");
            numbers.push(number.parse::<u64>().expect("a number"));
            fences.push(held.fence);
            worker.done(&held).await;
        }
    }
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
    assert!(
        numbers
            .chunks(2)
            .map(|pair| pair[0])
            .collect::<Vec<_>>()
            .windows(2)
            .all(|pair| pair[0] < pair[1]),
        "{numbers:?}"
    );
}

async fn a_job_that_cannot_be_read_is_delivered_alone_and_buried_alone(bench: &Bench) {
    let worker = bench.worker();
    let spoiled = bench.put(job()).await;
    let good = bench.put(job()).await;
    bench.engine.spoil(spoiled).await;
    let held = worker.claim(2).await;
    assert_eq!((held[0].id, held[0].envelope.is_err()), (spoiled, true));
    assert_eq!((held[1].id, held[1].envelope.is_ok()), (good, true));
    let unfit = Verdict::Bury {
        reason: "it cannot be read".into(),
        death: Death::Unfit,
        charge: Charge::None,
    };
    assert_eq!(worker.settle(&held[0], unfit).await, SettleAnswer::Accepted);
    worker.done(&held[1]).await;
    assert_eq!(
        (bench.state(spoiled).await, bench.state(good).await),
        ("dead:unfit".into(), "gone".into())
    );
    assert!(bench.view(spoiled).await.expect("kept").envelope.is_err());
}

async fn a_lock_key_that_holds_something_else_hurts_only_its_own_jobs(bench: &Bench) {
    let worker = bench.worker();
    bench.engine.plant_foreign_lock(&key("k")).await;
    let bad = bench.put(job().lock("k")).await;
    let good = bench.put(job().lock("other")).await;
    let held = worker.claim(2).await;
    assert_eq!((held[0].id, &held[0].how), (bad, &LockOutcome::Foreign(key("k"))));
    assert_eq!((held[1].id, &held[1].how), (good, &LockOutcome::Acquired));
    bench.engine.lose_lock(&key("k")).await;
}

async fn what_is_claimed_twice_in_a_row_is_never_the_same_job(bench: &Bench) {
    let (one, two) = (bench.worker(), bench.worker());
    for _ in 0..20 {
        bench.put(job()).await;
    }
    let mut seen: Vec<_> = one
        .claim(7)
        .await
        .into_iter()
        .chain(two.claim(7).await)
        .chain(one.claim(7).await)
        .map(|held| held.id)
        .collect();
    assert_eq!(seen.len(), 20);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

on_every_engine!(
    an_entry_twice_is_claimed_once,
    entries_of_scheduled_parked_and_dead_jobs_are_dropped,
    a_claim_takes_at_most_what_it_wants_and_says_whether_there_is_more,
    a_list_that_had_as_many_as_asked_may_have_more_though_none_was_claimed,
    one_claim_fills_up_from_list_to_list,
    a_paused_queue_is_not_looked_at,
    tokens_name_worker_and_lane_and_grow_and_fences_grow,
    a_job_that_cannot_be_read_is_delivered_alone_and_buried_alone,
    a_lock_key_that_holds_something_else_hurts_only_its_own_jobs,
    what_is_claimed_twice_in_a_row_is_never_the_same_job,
);
