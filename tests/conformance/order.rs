//! What a claim meets and in which order: each fact is one on which the engines once differed (`tests/model.rs`).

use linchpin::names::JobId;
use linchpin::store::new_job::Priority;
use linchpin::store::settle::{Outcome, SettleAnswer, Verdict};
use linchpin::store::turn::{LockOutcome, More, Suspects, Turn};
use linchpin::store::view::RetryAnswer;

use super::bench::Bench;
use super::draft::{job, job_in, key, secs, strange_token};
use super::worker::{Held, LAPSE, retry_after, wants};

fn ids(held: &[Held]) -> Vec<JobId> {
    held.iter().map(|held| held.id).collect()
}

async fn list(bench: &Bench, name: &str) -> Vec<JobId> {
    bench.engine.lists().await.remove(name).unwrap_or_default()
}

async fn a_job_whose_turn_it_is_runs_in_a_claim_that_meets_a_newcomer_first(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holder).await;
    let newcomer = bench.put(job().priority(Priority::High).lock("k")).await;
    assert_eq!(ids(&worker.claim(2).await), [waiter]);
    assert_eq!(bench.state(newcomer).await, "parked:k");
}

async fn twins_of_a_job_park_once(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    bench.engine.duplicate_entry(waiter).await;
    assert!(worker.claim(2).await.is_empty());
    assert_eq!(list(bench, "parked:k").await, [waiter]);
    worker.done(&holder).await;
}

async fn twins_of_a_suspect_go_to_the_tail_once(bench: &Bench) {
    let suspect = bench.put(job()).await;
    let worker = bench.worker();
    for _ in 0..2 {
        assert_eq!(ids(&bench.worker().claim(1).await), [suspect]);
        bench.later(LAPSE).await;
        worker.look().await;
    }
    bench.engine.duplicate_entry(suspect).await;
    assert!(worker.claim_suspects(2, Suspects::None).await.0.is_empty());
    assert_eq!(list(bench, "queue:q:1").await, [suspect]);
}

async fn an_entry_from_before_a_rekey_goes_by_the_new_keys(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("old")).await;
    bench.engine.duplicate_entry(id).await;
    let held = worker.claim_one().await;
    worker.settle(&held, Verdict::Rekey(vec![key("new")])).await;
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(1))).await;
    assert_eq!(list(bench, "queue:q:1").await, [id], "the old entry is left");
    bench.later(secs(2)).await;
    let held = worker.claim_one().await;
    assert_eq!((held.id, held.locks()), (id, vec![key("new")]));
    assert_eq!(
        worker.renew(&[&held]).await,
        [linchpin::store::lease::Renewed::Renewed],
        "it holds the new one"
    );
}

async fn a_job_that_gave_up_is_delivered_so_by_whichever_entry_is_met_first(bench: &Bench) {
    let worker = bench.worker();
    let waiter = bench.put(job().lock("k").wait_timeout(secs(4))).await;
    bench.put(job()).await;
    // Claimed together with a job that is never answered for, and returned: the claim lapses later.
    let claimed = bench.worker().claim(2).await;
    assert_eq!(worker.settle(&claimed[0], Verdict::Return).await, SettleAnswer::Accepted);
    let blocker = bench.put(job().priority(Priority::High).lock("k")).await;
    let holder = worker.claim(1).await.remove(0);
    assert_eq!(holder.id, blocker);
    bench.later(secs(8)).await;
    worker.renew(&[&holder]).await;
    assert!(worker.claim(1).await.is_empty());
    bench.later(secs(5)).await;
    worker.look().await;
    assert_eq!(bench.state(waiter).await, "ready", "it gave up");
    worker.renew(&[&holder]).await;
    bench.later(secs(5)).await;
    worker.look().await;
    let queued = list(bench, "queue:q:1").await;
    assert_eq!(
        queued.iter().filter(|id| **id == waiter).count(),
        2,
        "the reaped claim added an entry: {queued:?}"
    );
    let held = worker.claim(1).await.remove(0);
    assert_eq!(held.id, waiter);
    assert!(
        matches!(held.how, LockOutcome::GaveUp(waited) if waited >= secs(10)),
        "until the claim: {:?}",
        held.how
    );
    worker.done(&holder).await;
}

async fn a_job_that_gave_up_and_was_cancelled_leaves_no_wait_behind(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k").wait_timeout(secs(4))).await;
    assert!(worker.claim(1).await.is_empty());
    bench.later(secs(5)).await;
    worker.look().await;
    assert_eq!(bench.state(waiter).await, "ready");
    assert!(bench.key_names().await.contains(&"waits".to_owned()));
    bench.cancel(waiter).await.expect("an answer");
    assert!(!bench.key_names().await.contains(&"waits".to_owned()));
    worker.done(&holder).await;
}

async fn an_expired_job_passes_its_turn_on_at_once(bench: &Bench) {
    for looks in [false, true] {
        let worker = bench.worker();
        bench.put(job().lock("k")).await;
        let holder = worker.claim_one().await;
        let late = bench.put(job().lock("k").expires_in(secs(3))).await;
        let following = bench.put(job().lock("k")).await;
        assert!(worker.claim(2).await.is_empty());
        if looks {
            worker.done(&holder).await;
            bench.later(secs(3)).await;
        } else {
            bench.later(secs(3)).await;
            worker.look().await;
        }
        let settles = if looks { Vec::new() } else { vec![holder.settle(Verdict::Done)] };
        let turn = Turn {
            settles,
            ..wants(1, &["q"])
        };
        let (held, reply) = worker.turn(turn).await;
        // The look may have passed the late one over already, which is the same for the following.
        if held[0].id == late {
            assert!(held[0].expired);
            assert_eq!((bench.state(following).await, reply.more), ("ready".into(), More::Yes));
            worker.done(&held[0]).await;
            let next = worker.claim_one().await;
            assert_eq!(next.id, following);
            worker.done(&next).await;
        } else {
            assert_eq!(held[0].id, following);
            worker.done(&held[0]).await;
            let next = worker.claim_one().await;
            assert_eq!(next.id, late);
            worker.done(&next).await;
        }
    }
}

async fn a_job_handed_one_lock_that_parks_behind_another_keeps_its_waiting_time_and_goes_first(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("b")).await;
    let holds_b = worker.claim_one().await;
    let both = bench.put(job().locks(&["a", "b"])).await;
    assert!(worker.claim(1).await.is_empty());
    bench.put(job().lock("a")).await;
    let holds_a = worker.claim_one().await;
    let behind_a = bench.put(job().lock("a")).await;
    assert!(worker.claim(1).await.is_empty());
    bench.later(secs(5)).await;
    worker.look().await;
    // In one turn, which does not look: freed, handed over, and found busy elsewhere.
    let turn = Turn {
        settles: vec![holds_b.settle(Verdict::Done)],
        ..wants(1, &["q"])
    };
    assert!(worker.turn(turn).await.0.is_empty());
    assert_eq!(list(bench, "parked:a").await, [both, behind_a]);
    worker.done(&holds_a).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, both);
    assert!(
        matches!(held.how, LockOutcome::Waited(waited) if waited >= secs(5)),
        "{:?}",
        held.how
    );
}

async fn a_lock_that_a_job_handed_it_does_not_wait_for_any_more_is_free(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("b")).await;
    let holds_b = worker.claim_one().await;
    let both = bench.put(job().locks(&["a", "b"])).await;
    assert!(worker.claim(1).await.is_empty());
    bench.put(job().lock("a")).await;
    worker.claim_one().await;
    let only_b = bench.put(job().lock("b")).await;
    // Handed `b`, it parks behind `a` in this turn; the next in the list finds `b` free and unwanted.
    let turn = Turn {
        settles: vec![holds_b.settle(Verdict::Done)],
        ..wants(2, &["q"])
    };
    let (held, _) = worker.turn(turn).await;
    assert_eq!(bench.state(both).await, "parked:a");
    assert_eq!(ids(&held), [only_b]);
    assert_eq!(held[0].how, LockOutcome::Acquired);
}

async fn jobs_of_one_turn_go_back_in_the_order_of_their_settles(bench: &Bench) {
    let worker = bench.worker();
    let (returned, lost) = (bench.put(job()).await, bench.put(job().lock("k")).await);
    let held = worker.claim(2).await;
    bench.engine.lose_lock(&key("k")).await;
    let turn = Turn {
        settles: held.iter().map(|held| held.settle(Verdict::Return)).collect(),
        ..wants(0, &[])
    };
    let (_, reply) = worker.turn(turn).await;
    assert_eq!(reply.settled, [SettleAnswer::Accepted, SettleAnswer::Lost]);
    assert_eq!(list(bench, "queue:q:1").await, [lost, returned], "each to the head");
}

async fn locks_freed_in_one_turn_bring_the_waiter_of_the_last_to_the_head(bench: &Bench) {
    for looks in [false, true] {
        let worker = bench.worker();
        bench.put(job().lock("a")).await;
        bench.put(job().lock("b")).await;
        let holders = worker.claim(2).await;
        let behind_a = bench.put(job_in("w").lock("a")).await;
        let behind_b = bench.put(job_in("w").lock("b")).await;
        assert!(worker.turn(wants(2, &["w"])).await.0.is_empty());
        if looks {
            bench.later(secs(1)).await;
        }
        let turn = Turn {
            settles: holders.iter().map(|held| held.settle(Verdict::Done)).collect(),
            ..wants(2, &["w"])
        };
        let (held, _) = worker.turn(turn).await;
        assert_eq!(ids(&held), [behind_b, behind_a]);
        for held in &held {
            worker.done(held).await;
        }
    }
}

async fn a_job_scheduled_by_a_turn_is_not_claimed_by_its_second_entry_in_that_turn(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    bench.engine.duplicate_entry(id).await;
    let turn = Turn {
        settles: vec![held.settle(retry_after(secs(60)))],
        ..wants(1, &["q"])
    };
    assert!(worker.turn(turn).await.0.is_empty());
    assert_eq!(bench.state(id).await, "scheduled");
}

async fn a_renewal_that_renews_nothing_leaves_the_deadline(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    bench.later(secs(10)).await;
    bench.engine.lose_lock(&key("k")).await;
    assert_eq!(worker.renew(&[&held]).await, [linchpin::store::lease::Renewed::Lost]);
    bench.later(LAPSE - secs(10)).await;
    worker.look().await;
    assert_eq!(bench.state(id).await, "ready", "reaped at its first deadline");
}

async fn a_cancelled_job_whose_worker_ended_is_not_suspected(bench: &Bench) {
    let id = bench.put(job()).await;
    bench.worker().claim_one().await;
    bench.cancel(id).await.expect("an answer");
    bench.later(LAPSE).await;
    bench.worker().look().await;
    assert_eq!(bench.state(id).await, "dead:cancelled");
    assert_eq!(bench.outcomes(id).await, [Outcome::Crashed]);
    assert!(!bench.view(id).await.expect("kept").tries.suspect);
}

async fn a_job_buried_because_it_cannot_be_read_is_not_retried(bench: &Bench) {
    let id = bench.put(job()).await;
    bench.engine.spoil(id).await;
    let worker = bench.worker();
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(1))).await;
    assert_eq!(bench.state(id).await, "dead:unfit");
    assert_eq!(bench.retry(id).await.expect("an answer"), RetryAnswer::TooLate);
    assert_eq!(bench.state(id).await, "dead:unfit");
}

async fn a_retry_does_not_take_a_key_that_a_done_job_keeps_for_a_time(bench: &Bench) {
    let worker = bench.worker();
    let cancelled = bench.put(job().unique("u", 1)).await;
    bench.cancel(cancelled).await.expect("an answer");
    let keeper = bench.put(job().unique_for("u", 1, secs(60))).await;
    let held = worker.claim(2).await.remove(0);
    assert_eq!(held.id, keeper);
    worker.done(&held).await;
    assert_eq!(bench.retry(cancelled).await.expect("an answer"), RetryAnswer::Conflict(keeper));
    assert_eq!(bench.state(cancelled).await, "dead:cancelled");
    bench.later(secs(61)).await;
    assert_eq!(bench.retry(cancelled).await.expect("an answer"), RetryAnswer::Ready);
}

async fn offers_nobody_took_are_passed_on_in_the_order_of_their_keys(bench: &Bench) {
    let worker = bench.worker();
    // `b` is freed first: its turn ends first.
    bench.put(job().lock("b")).await;
    bench.put(job().lock("a")).await;
    let holders = worker.claim(2).await;
    let behind_b = bench.put(job_in("w").lock("b")).await;
    let behind_a = bench.put(job_in("w").lock("a")).await;
    assert!(worker.turn(wants(2, &["w"])).await.0.is_empty());
    for holder in &holders {
        worker.done(holder).await;
        bench.later(std::time::Duration::from_millis(300)).await;
    }
    bench.later(secs(3)).await;
    worker.look().await;
    assert_eq!(
        list(bench, "queue:w:1").await,
        [behind_b, behind_a],
        "`a`, then `b`, each to the head"
    );
}

async fn a_turn_given_up_for_a_lock_that_another_took_leaves_nothing_to_look_at(bench: &Bench) {
    let worker = bench.worker();
    for name in ["y", "z"] {
        bench.put(job().lock(name)).await;
    }
    let holders = worker.claim(2).await;
    let late = bench.put(job().locks(&["a", "z"])).await;
    bench.put(job_in("early").locks(&["y", "z"])).await;
    assert!(worker.turn(wants(2, &["q", "early"])).await.0.is_empty());
    for holder in &holders {
        worker.done(holder).await;
    }
    let (early, _) = worker.turn(wants(1, &["early"])).await;
    assert_eq!(
        early.len(),
        1,
        "it has the turn for `y`, and takes `z` as well, the turn of the late one"
    );
    bench.acquire(&key("a"), &strange_token(), secs(60)).await.expect("an answer");
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(late).await, "parked:a");
    bench.delete(late).await.expect("an answer");
    assert!(!bench.key_names().await.contains(&"lock_checks".to_owned()), "nobody waits for `z`");
}

on_every_engine!(
    a_job_whose_turn_it_is_runs_in_a_claim_that_meets_a_newcomer_first,
    twins_of_a_job_park_once,
    twins_of_a_suspect_go_to_the_tail_once,
    an_entry_from_before_a_rekey_goes_by_the_new_keys,
    a_job_that_gave_up_is_delivered_so_by_whichever_entry_is_met_first,
    a_job_that_gave_up_and_was_cancelled_leaves_no_wait_behind,
    an_expired_job_passes_its_turn_on_at_once,
    a_job_handed_one_lock_that_parks_behind_another_keeps_its_waiting_time_and_goes_first,
    a_lock_that_a_job_handed_it_does_not_wait_for_any_more_is_free,
    jobs_of_one_turn_go_back_in_the_order_of_their_settles,
    locks_freed_in_one_turn_bring_the_waiter_of_the_last_to_the_head,
    a_job_scheduled_by_a_turn_is_not_claimed_by_its_second_entry_in_that_turn,
    a_renewal_that_renews_nothing_leaves_the_deadline,
    a_cancelled_job_whose_worker_ended_is_not_suspected,
    a_job_buried_because_it_cannot_be_read_is_not_retried,
    a_retry_does_not_take_a_key_that_a_done_job_keeps_for_a_time,
    offers_nobody_took_are_passed_on_in_the_order_of_their_keys,
    a_turn_given_up_for_a_lock_that_another_took_leaves_nothing_to_look_at,
);
