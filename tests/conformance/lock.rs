//! Locks of jobs: park, free, next, several keys; and locks held by themselves.

use std::time::Duration;

use linchpin::store::lease::{AcquireAnswer, ReleaseAnswer};
use linchpin::store::new_job::OnBusy;
use linchpin::store::settle::{SettleAnswer, Verdict};
use linchpin::store::turn::{LockOutcome, Turn};

use super::bench::Bench;
use super::draft::{job, job_in, key, queue, secs, strange_token};
use super::worker::{retry_after, wants};

async fn a_busy_lock_parks_the_job_and_its_release_hands_over_to_the_first_waiter(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    assert_eq!(holder.how, LockOutcome::Acquired);
    let first = bench.put(job().lock("k")).await;
    let second = bench.put(job().lock("k")).await;
    assert!(worker.claim(2).await.is_empty());
    assert_eq!(
        (bench.state(first).await, bench.state(second).await),
        ("parked:k".into(), "parked:k".into())
    );
    assert_eq!(bench.census().await.expect("a read").parked, 2);
    bench.later(secs(3)).await;
    worker.done(&holder).await;
    assert_eq!(
        (bench.state(first).await, bench.state(second).await),
        ("ready".into(), "parked:k".into())
    );
    let held = worker.claim_one().await;
    assert_eq!(held.id, first);
    assert!(
        matches!(held.how, LockOutcome::Waited(waited) if waited >= secs(3) && waited < secs(4)),
        "{:?}",
        held.how
    );
    assert!(held.fence > holder.fence, "fences grow per lock");
    worker.done(&held).await;
    assert_eq!(worker.claim_one().await.id, second);
}

async fn the_turn_that_settles_the_holder_claims_the_waiter(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let ahead = bench.put(job()).await;
    let turn = Turn {
        settles: vec![holder.settle(Verdict::Done)],
        ..wants(1, &["q"])
    };
    let (held, reply) = worker.turn(turn).await;
    assert_eq!(reply.settled, [SettleAnswer::Accepted]);
    assert_eq!(
        held.iter().map(|held| held.id).collect::<Vec<_>>(),
        [waiter],
        "from the head of its queue"
    );
    assert_eq!(bench.state(ahead).await, "ready");
}

async fn two_jobs_over_one_lock_in_one_range_one_runs_and_one_parks(bench: &Bench) {
    let worker = bench.worker();
    let first = bench.put(job().lock("k")).await;
    let second = bench.put(job().lock("k")).await;
    let held = worker.claim(2).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [first]);
    assert_eq!(bench.state(second).await, "parked:k");
}

async fn a_job_that_does_not_wait_is_delivered_busy_without_the_lock(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    for on_busy in [OnBusy::Skip, OnBusy::Fail, OnBusy::Snooze(secs(5))] {
        let id = bench.put(job().lock("k").on_busy(on_busy)).await;
        let held = worker.claim_one().await;
        assert_eq!((held.id, &held.how), (id, &LockOutcome::Busy(key("k"))));
        worker.done(&held).await;
    }
    worker.done(&holder).await;
    let id = bench.put(job().lock("k").on_busy(OnBusy::Skip)).await;
    let held = worker.claim_one().await;
    assert_eq!((held.id, &held.how), (id, &LockOutcome::Acquired));
}

async fn a_newcomer_does_not_take_a_lock_that_is_offered_to_another(bench: &Bench) {
    let (worker, other) = (bench.worker(), bench.worker());
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holder).await;
    let newcomer = bench.put(job_in("r").lock("k")).await;
    let skipper = bench.put(job_in("r").lock("k").on_busy(OnBusy::Skip)).await;
    let (held, _) = other.turn(wants(2, &["r"])).await;
    assert_eq!((held.len(), held[0].id, &held[0].how), (1, skipper, &LockOutcome::Busy(key("k"))));
    assert_eq!(bench.state(newcomer).await, "parked:k");
    assert_eq!(
        bench.acquire(&key("k"), &strange_token(), secs(5)).await.expect("an answer"),
        AcquireAnswer::Busy
    );
    assert_eq!(worker.claim_one().await.id, waiter);
}

async fn a_job_that_does_not_come_in_its_turn_lets_the_following_one_go_first(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let late = bench.put(job_in("nobody").lock("k")).await;
    assert!(worker.turn(wants(1, &["nobody"])).await.0.is_empty());
    let following = bench.put(job().lock("k")).await;
    let third = bench.put(job().lock("k")).await;
    assert!(worker.claim(2).await.is_empty());
    worker.done(&holder).await;
    assert_eq!(bench.state(late).await, "ready");
    bench.later(Duration::from_millis(1500)).await;
    worker.look().await;
    assert_eq!(bench.state(late).await, "ready", "its turn lasts 2 s");
    bench.later(Duration::from_millis(1000)).await;
    worker.look().await;
    assert_eq!(
        (bench.state(late).await, bench.state(following).await),
        ("parked:k".into(), "ready".into())
    );
    let held = worker.claim_one().await;
    assert_eq!(held.id, following);
    worker.done(&held).await;
    assert_eq!(
        (bench.state(late).await, bench.state(third).await),
        ("ready".into(), "parked:k".into()),
        "the late one is first again"
    );
}

async fn a_turn_that_nobody_else_waits_for_stays(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holder).await;
    for _ in 0..3 {
        bench.later(secs(3)).await;
        worker.look().await;
        assert_eq!(bench.state(waiter).await, "ready");
    }
    let held = worker.claim_one().await;
    assert!(matches!(held.how, LockOutcome::Waited(_)), "{:?}", held.how);
}

async fn a_retried_job_frees_its_lock_and_keeps_no_place(bench: &Bench) {
    let worker = bench.worker();
    let retried = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.settle(&held, retry_after(secs(1))).await;
    assert_eq!(
        (bench.state(retried).await, bench.state(waiter).await),
        ("scheduled".into(), "ready".into())
    );
    let held = worker.claim_one().await;
    assert_eq!(held.id, waiter);
    bench.later(secs(2)).await;
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(retried).await, "parked:k");
}

async fn a_returned_job_lets_the_waiter_go_first(bench: &Bench) {
    let worker = bench.worker();
    let returned = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.settle(&held, Verdict::Return).await;
    let held = worker.claim(2).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [waiter]);
    assert_eq!(bench.state(returned).await, "parked:k");
}

async fn a_job_over_two_keys_takes_both_or_none(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("b")).await;
    let holder = worker.claim_one().await;
    let both = bench.put(job().locks(&["a", "b"])).await;
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(both).await, "parked:b", "behind the first busy one in sorted order");
    let only_a = bench.put(job().lock("a")).await;
    let held = worker.claim_one().await;
    assert_eq!((held.id, &held.how), (only_a, &LockOutcome::Acquired), "`a` was not taken");
    worker.done(&held).await;
    worker.done(&holder).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, both);
    for name in ["a", "b"] {
        assert_eq!(
            bench.acquire(&key(name), &strange_token(), secs(5)).await.expect("an answer"),
            AcquireAnswer::Busy
        );
    }
    worker.done(&held).await;
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn a_job_whose_other_key_is_busy_at_its_turn_passes_the_turn_on_and_waits_first_there(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("a")).await;
    let holds_a = worker.claim_one().await;
    let both = bench.put(job().locks(&["a", "b"])).await;
    let after_it = bench.put(job().lock("a")).await;
    assert!(worker.claim(2).await.is_empty());
    bench.put(job().lock("b")).await;
    let holds_b = worker.claim_one().await;
    let behind_b = bench.put(job().lock("b")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holds_a).await;
    assert_eq!(
        (bench.state(both).await, bench.state(after_it).await),
        ("ready".into(), "parked:a".into())
    );
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(
        (bench.state(both).await, bench.state(after_it).await),
        ("parked:b".into(), "ready".into())
    );
    worker.done(&holds_b).await;
    assert_eq!(
        (bench.state(both).await, bench.state(behind_b).await),
        ("ready".into(), "parked:b".into()),
        "at the head"
    );
    let held = worker.claim_one().await;
    assert_eq!(held.id, both, "`a` is free, though offered to another");
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(after_it).await, "parked:a");
    worker.done(&held).await;
    let held = worker.claim(2).await;
    assert_eq!(held.len(), 2);
}

async fn two_jobs_over_the_same_two_keys_with_a_turn_each_do_not_pass_them_round_for_ever(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("b")).await;
    let holds_b = worker.claim_one().await;
    let behind_b = bench.put(job().locks(&["a", "b"])).await;
    assert!(worker.claim(1).await.is_empty());
    bench.put(job().lock("a")).await;
    let holds_a = worker.claim_one().await;
    let behind_a = bench.put(job().locks(&["a", "b"])).await;
    let after_them = bench.put(job().lock("a")).await;
    assert!(worker.claim(2).await.is_empty());
    assert_eq!(
        (bench.state(behind_a).await, bench.state(behind_b).await),
        ("parked:a".into(), "parked:b".into())
    );
    worker.done(&holds_a).await;
    worker.done(&holds_b).await;
    let held = worker.claim(5).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [behind_b], "one of them runs");
    worker.done(&held[0]).await;
    let held = worker.claim(5).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [behind_a], "then the other");
    worker.done(&held[0]).await;
    assert_eq!(worker.claim_one().await.id, after_them, "it kept its place");
}

async fn waiters_of_a_paused_queue_keep_their_place_and_are_passed_over(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let paused = bench.put(job_in("p").lock("k")).await;
    assert!(worker.turn(wants(1, &["p"])).await.0.is_empty());
    let other = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    bench.pause(&queue("p")).await.expect("a pause");
    worker.done(&holder).await;
    assert_eq!(
        (bench.state(paused).await, bench.state(other).await),
        ("parked:k".into(), "ready".into())
    );
    let held = worker.claim_one().await;
    bench.resume(&queue("p")).await.expect("a resume");
    worker.done(&held).await;
    assert_eq!(bench.state(paused).await, "ready");
    let (held, _) = worker.turn(wants(1, &["p"])).await;
    assert_eq!(held[0].id, paused);
}

async fn a_free_lock_whose_waiters_were_all_paused_is_handed_over_by_the_look(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let paused = bench.put(job_in("p").lock("k")).await;
    assert!(worker.turn(wants(1, &["p"])).await.0.is_empty());
    bench.pause(&queue("p")).await.expect("a pause");
    worker.done(&holder).await;
    let newcomer = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty(), "somebody waits for it");
    assert_eq!(bench.state(newcomer).await, "parked:k");
    bench.later(secs(1)).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, newcomer);
    worker.done(&held).await;
    bench.resume(&queue("p")).await.expect("a resume");
    bench.later(secs(1)).await;
    let (held, _) = worker.turn(wants(1, &["p"])).await;
    assert_eq!(held[0].id, paused);
}

async fn a_turn_in_a_queue_paused_meanwhile_passes_on_after_its_time(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let next = bench.put(job_in("p").lock("k")).await;
    assert!(worker.turn(wants(1, &["p"])).await.0.is_empty());
    let other = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holder).await;
    bench.pause(&queue("p")).await.expect("a pause");
    bench.later(secs(3)).await;
    assert_eq!(worker.claim_one().await.id, other);
    assert_eq!(bench.state(next).await, "parked:k");
}

async fn a_lock_that_ended_by_its_time_is_handed_over_by_the_look(bench: &Bench) {
    let worker = bench.worker();
    let token = strange_token();
    let taken = bench.acquire(&key("k"), &token, secs(5)).await.expect("an answer");
    assert!(matches!(taken, AcquireAnswer::Acquired { .. }));
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    bench.later(secs(6)).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, waiter);
    assert_eq!(bench.release(&key("k"), &token).await.expect("an answer"), ReleaseAnswer::NotHeld);
    assert_eq!(
        worker.renew(&[&held]).await,
        [linchpin::store::lease::Renewed::Renewed],
        "the late release freed nothing"
    );
}

async fn a_lock_is_acquired_once_by_its_token_and_busy_for_others(bench: &Bench) {
    let (token, other) = (strange_token(), strange_token());
    let AcquireAnswer::Acquired { fence, .. } = bench.acquire(&key("k"), &token, secs(5)).await.expect("an answer") else {
        panic!("it was free");
    };
    let AcquireAnswer::Acquired { fence: again, .. } = bench.acquire(&key("k"), &token, secs(5)).await.expect("an answer") else {
        panic!("a resend");
    };
    assert_eq!(fence, again);
    assert_eq!(
        bench.acquire(&key("k"), &other, secs(5)).await.expect("an answer"),
        AcquireAnswer::Busy
    );
    assert_eq!(bench.release(&key("k"), &other).await.expect("an answer"), ReleaseAnswer::NotHeld);
    assert_eq!(bench.release(&key("k"), &token).await.expect("an answer"), ReleaseAnswer::Released);
    assert_eq!(bench.release(&key("k"), &token).await.expect("an answer"), ReleaseAnswer::NotHeld);
    let AcquireAnswer::Acquired { fence: later, .. } = bench.acquire(&key("k"), &other, secs(5)).await.expect("an answer") else {
        panic!("it was free");
    };
    assert!(later > fence);
}

async fn a_release_hands_over_to_a_parked_job(bench: &Bench) {
    let worker = bench.worker();
    let token = strange_token();
    bench.acquire(&key("k"), &token, secs(60)).await.expect("an answer");
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.release(&key("k"), &token).await.expect("an answer"), ReleaseAnswer::Released);
    let held = worker.claim_one().await;
    assert_eq!(held.id, waiter);
    assert_eq!(
        bench.acquire(&key("k"), &token, secs(60)).await.expect("an answer"),
        AcquireAnswer::Busy
    );
}

async fn a_kept_lock_goes_to_the_parked_job_when_its_time_is_over(bench: &Bench) {
    let (worker, token) = (bench.worker(), strange_token());
    bench.acquire(&key("k"), &token, secs(60)).await.expect("an answer");
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let kept = bench.keep(&key("k"), &strange_token(), secs(3)).await.expect("an answer");
    assert_eq!(kept, ReleaseAnswer::NotHeld, "another token");
    for _ in 0..2 {
        let kept = bench.keep(&key("k"), &token, secs(3)).await.expect("an answer");
        assert_eq!(kept, ReleaseAnswer::Released);
    }
    bench.later(secs(2)).await;
    worker.look().await;
    assert!(worker.claim(1).await.is_empty(), "it is kept");
    assert_eq!(bench.state(waiter).await, "parked:k");
    bench.later(secs(2)).await;
    worker.look().await;
    assert_eq!(worker.claim_one().await.id, waiter);
    assert_eq!(
        bench.keep(&key("k"), &token, secs(3)).await.expect("an answer"),
        ReleaseAnswer::NotHeld
    );
}

async fn a_key_with_separators_and_controls_is_a_lock_like_any_other(bench: &Bench) {
    let worker = bench.worker();
    let odd = "a|b,c%d\n{x} ☃";
    bench.put(job().locks(&[odd, "plain"])).await;
    let holder = worker.claim_one().await;
    let waiter = bench.put(job().lock(odd)).await;
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(waiter).await, format!("parked:{odd}"));
    worker.done(&holder).await;
    assert_eq!(worker.claim_one().await.id, waiter);
}

on_every_engine!(
    a_busy_lock_parks_the_job_and_its_release_hands_over_to_the_first_waiter,
    the_turn_that_settles_the_holder_claims_the_waiter,
    two_jobs_over_one_lock_in_one_range_one_runs_and_one_parks,
    a_job_that_does_not_wait_is_delivered_busy_without_the_lock,
    a_newcomer_does_not_take_a_lock_that_is_offered_to_another,
    a_job_that_does_not_come_in_its_turn_lets_the_following_one_go_first,
    a_turn_that_nobody_else_waits_for_stays,
    a_retried_job_frees_its_lock_and_keeps_no_place,
    a_returned_job_lets_the_waiter_go_first,
    a_job_over_two_keys_takes_both_or_none,
    a_job_whose_other_key_is_busy_at_its_turn_passes_the_turn_on_and_waits_first_there,
    two_jobs_over_the_same_two_keys_with_a_turn_each_do_not_pass_them_round_for_ever,
    waiters_of_a_paused_queue_keep_their_place_and_are_passed_over,
    a_free_lock_whose_waiters_were_all_paused_is_handed_over_by_the_look,
    a_turn_in_a_queue_paused_meanwhile_passes_on_after_its_time,
    a_lock_that_ended_by_its_time_is_handed_over_by_the_look,
    a_lock_is_acquired_once_by_its_token_and_busy_for_others,
    a_release_hands_over_to_a_parked_job,
    a_kept_lock_goes_to_the_parked_job_when_its_time_is_over,
    a_key_with_separators_and_controls_is_a_lock_like_any_other,
);
