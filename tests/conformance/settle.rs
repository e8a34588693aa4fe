//! Settle: applied if valid, else lost and without any effect.

use linchpin::names::JobId;
use linchpin::store::settle::{Charge, Death, Settle, SettleAnswer, Verdict};
use linchpin::store::turn::{LockOutcome, Turn};
use linchpin::store::view::State;

use super::bench::Bench;
use super::draft::{job, key, secs, strange_token};
use super::worker::{LAPSE, discard, retry_after, wants};

async fn a_failed_attempt_is_charged_and_scheduled_and_its_error_kept(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    for number in 1..=5u32 {
        let held = worker.claim_one().await;
        assert_eq!(held.tries.charged, number - 1);
        let verdict = Verdict::Schedule {
            delay: secs(5),
            charge: Charge::Attempt,
            error: Some(format!("error {number}")),
        };
        assert_eq!(worker.settle(&held, verdict).await, SettleAnswer::Accepted);
        assert_eq!(bench.state(id).await, "scheduled");
        assert!(worker.claim(1).await.is_empty());
        bench.later(secs(6)).await;
    }
    let view = bench.view(id).await.expect("kept");
    assert_eq!(view.tries.charged, 5);
    assert_eq!(view.errors, ["error 3", "error 4", "error 5"], "the last three");
}

async fn a_snoozed_job_is_not_charged(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    let snooze = Verdict::Schedule {
        delay: secs(5),
        charge: Charge::None,
        error: None,
    };
    worker.settle(&held, snooze).await;
    let view = bench.view(id).await.expect("kept");
    assert_eq!((view.tries.charged, view.errors.len()), (0, 0));
    assert!(
        matches!(view.state, State::Scheduled { due_in } if due_in <= secs(5) && due_in > secs(4)),
        "{:?}",
        view.state
    );
}

async fn mismatches_are_counted_and_timed_until_another_end(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    let mismatch = |charge| Verdict::Schedule {
        delay: secs(4),
        charge,
        error: None,
    };
    let held = worker.claim_one().await;
    worker.settle(&held, mismatch(Charge::Mismatch)).await;
    bench.later(secs(5)).await;
    let held = worker.claim_one().await;
    assert_eq!((held.tries.charged, held.tries.mismatches), (0, 1));
    assert!(
        held.tries.mismatched_for >= secs(5) && held.tries.mismatched_for < secs(6),
        "{:?}",
        held.tries
    );
    worker.settle(&held, mismatch(Charge::Mismatch)).await;
    bench.later(secs(5)).await;
    let held = worker.claim_one().await;
    assert_eq!(held.tries.mismatches, 2);
    assert!(held.tries.mismatched_for >= secs(10), "since the first: {:?}", held.tries);
    worker.settle(&held, mismatch(Charge::None)).await;
    bench.later(secs(5)).await;
    let held = worker.claim_one().await;
    assert_eq!((held.tries.mismatches, held.tries.mismatched_for), (0, secs(0)));
}

async fn a_returned_job_is_at_the_head_and_not_charged(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    bench.put(job()).await;
    assert_eq!(worker.settle(&held, Verdict::Return).await, SettleAnswer::Accepted);
    let held = worker.claim_one().await;
    assert_eq!((held.id, held.tries.charged), (id, 0));
}

async fn a_rekeyed_job_runs_next_under_its_new_locks(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("old")).await;
    let held = worker.claim_one().await;
    worker.settle(&held, Verdict::Rekey(vec![key("new"), key("also")])).await;
    assert_eq!(bench.state(id).await, "ready");
    bench.put(job().lock("old")).await;
    let held = worker.claim(2).await;
    assert_eq!((held[0].id, held[0].locks()), (id, vec![key("also"), key("new")]), "sorted");
    assert_eq!((held[1].how.clone(), held[1].locks()), (LockOutcome::Acquired, vec![key("old")]));
    worker.done(&held[0]).await;
    worker.done(&held[1]).await;
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn a_buried_job_is_dead_with_its_reason_and_frees_its_lock(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.settle(&held, discard()).await;
    let view = bench.view(id).await.expect("kept");
    assert_eq!(view.tries.charged, 1);
    let dead = State::Dead {
        death: Death::Discarded,
        reason: "no use".into(),
    };
    assert_eq!(view.state, dead);
    assert_eq!(bench.census().await.expect("a read").dead, 1);
    assert_eq!(worker.claim_one().await.id, waiter);
}

async fn a_settle_under_a_foreign_token_changes_nothing_and_is_lost(bench: &Bench) {
    let (worker, intruder) = (bench.worker(), bench.worker());
    let id = bench.put(job().lock("k").unique("u", 1)).await;
    let held = worker.claim_one().await;
    for verdict in [
        Verdict::Done,
        Verdict::Return,
        retry_after(secs(1)),
        discard(),
        Verdict::Rekey(Vec::new()),
    ] {
        let mut settle = held.settle(verdict);
        settle.token = strange_token();
        assert_eq!(intruder.send(settle).await, SettleAnswer::Lost);
        assert_eq!(bench.state(id).await, "active");
    }
    assert_eq!(
        worker.renew(&[&held]).await,
        [linchpin::store::lease::Renewed::Renewed],
        "owner and lock stand"
    );
    let view = bench.view(id).await.expect("kept");
    assert_eq!((view.tries.charged, view.errors.len()), (0, 0));
    worker.done(&held).await;
}

async fn a_settle_is_accepted_once(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    worker.done(&held).await;
    assert_eq!(worker.settle(&held, Verdict::Done).await, SettleAnswer::Lost);
    assert_eq!(worker.settle(&held, Verdict::Return).await, SettleAnswer::Lost);
    assert_eq!(bench.state(id).await, "gone", "not made again");
}

async fn one_job_settled_twice_in_one_turn_is_settled_by_the_first(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    let turn = Turn {
        settles: vec![held.settle(retry_after(secs(60))), held.settle(Verdict::Done)],
        ..wants(0, &[])
    };
    let (_, reply) = worker.turn(turn).await;
    assert_eq!(reply.settled, [SettleAnswer::Accepted, SettleAnswer::Lost]);
    assert_eq!(bench.state(id).await, "scheduled");
}

async fn a_lost_lock_refuses_the_settle_and_the_job_runs_again(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k").unique("u", 1)).await;
    let held = worker.claim_one().await;
    bench.engine.lose_lock(&key("k")).await;
    bench.put(job()).await;
    assert_eq!(worker.settle(&held, Verdict::Done).await, SettleAnswer::Lost);
    let view = bench.view(id).await.expect("kept");
    assert_eq!((view.state, view.tries.charged), (State::Ready, 0));
    let again = worker.claim_one().await;
    assert_eq!(again.id, id, "from the head");
    assert!(again.fence > held.fence);
    worker.done(&again).await;
}

async fn a_lock_lost_and_taken_by_another_stays_with_the_other(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    bench.engine.lose_lock(&key("k")).await;
    let other = bench.put(job().lock("k")).await;
    let heir = worker.claim_one().await;
    assert_eq!(heir.id, other);
    assert_eq!(worker.settle(&held, Verdict::Done).await, SettleAnswer::Lost);
    assert_eq!(worker.renew(&[&heir]).await, [linchpin::store::lease::Renewed::Renewed]);
    assert!(worker.claim(1).await.is_empty());
    assert_eq!(bench.state(id).await, "parked:k", "behind the one who has it now");
    worker.done(&heir).await;
}

async fn a_lost_nested_lock_refuses_the_settle_and_frees_the_others(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let mut held = worker.claim_one().await;
    let (kept, lost) = (strange_token(), strange_token());
    bench.acquire(&key("kept"), &kept, secs(60)).await.expect("an answer");
    bench.acquire(&key("lost"), &lost, secs(60)).await.expect("an answer");
    held.nested = vec![(key("kept"), kept), (key("lost"), lost)];
    bench.engine.lose_lock(&key("lost")).await;
    assert_eq!(worker.settle(&held, Verdict::Done).await, SettleAnswer::Lost);
    assert_eq!(bench.state(id).await, "ready");
    let names = bench.key_names().await;
    assert!(!names.iter().any(|name| name.starts_with("lock:")), "{names:?}");
}

async fn nested_locks_are_freed_by_the_settle(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    let mut held = worker.claim_one().await;
    let token = strange_token();
    bench.acquire(&key("n"), &token, secs(60)).await.expect("an answer");
    held.nested = vec![(key("n"), token)];
    let waiter = bench.put(job().lock("n")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&held).await;
    assert_eq!(worker.claim_one().await.id, waiter);
}

async fn a_settle_after_the_deadline_counts_while_nobody_reaped(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    bench.later(LAPSE).await;
    let turn = Turn {
        settles: vec![held.settle(Verdict::Done)],
        ..wants(1, &["q"])
    };
    let (claimed, reply) = worker.turn(turn).await;
    assert_eq!(
        (reply.settled, claimed.len()),
        (vec![SettleAnswer::Accepted], 0),
        "the settle comes before the reap"
    );
    assert_eq!(bench.state(id).await, "gone");
}

async fn a_late_settle_of_a_reaped_job_frees_only_its_own_lock(bench: &Bench) {
    let (late, worker) = (bench.worker(), bench.worker());
    let id = bench.put(job().lock("k")).await;
    let old = late.claim_one().await;
    bench.later(LAPSE).await;
    let (held, _) = worker.claim_suspects(1, linchpin::store::turn::Suspects::One).await;
    assert_eq!(held[0].id, id);
    assert_eq!(late.settle(&old, Verdict::Done).await, SettleAnswer::Lost);
    assert_eq!(bench.state(id).await, "active");
    assert_eq!(worker.renew(&[&held[0]]).await, [linchpin::store::lease::Renewed::Renewed]);
    worker.done(&held[0]).await;
    assert_eq!(bench.state(id).await, "gone");
}

async fn locks_that_a_settle_keeps_are_free_when_their_time_is_over(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().locks(&["k", "l"])).await;
    let held = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let mut settle = held.settle(Verdict::Done);
    settle.keep = Some(secs(3));
    let turn = |settle: &Settle| Turn {
        settles: vec![settle.clone()],
        ..wants(0, &[])
    };
    assert_eq!(worker.turn(turn(&settle)).await.1.settled, [SettleAnswer::Accepted]);
    assert_eq!(worker.turn(turn(&settle)).await.1.settled, [SettleAnswer::Lost], "once");
    assert_eq!(bench.state(id).await, "gone");
    let later = bench.put(job().lock("l")).await;
    bench.later(secs(2)).await;
    worker.look().await;
    assert!(worker.claim(2).await.is_empty(), "both are kept");
    assert_eq!(bench.state(waiter).await, "parked:k");
    bench.later(secs(2)).await;
    worker.look().await;
    let mut claimed: Vec<JobId> = worker.claim(2).await.iter().map(|held| held.id).collect();
    claimed.sort();
    assert_eq!(claimed, [waiter, later]);
}

async fn a_refused_settle_keeps_no_lock(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().locks(&["k", "l"])).await;
    let held = worker.claim_one().await;
    bench.engine.lose_lock(&key("l")).await;
    let mut settle = held.settle(Verdict::Done);
    settle.keep = Some(secs(3600));
    assert_eq!(bench.surrender(settle).await.expect("an answer"), SettleAnswer::Lost);
    let again = worker.claim_one().await;
    assert_eq!((again.id, again.how.clone()), (id, LockOutcome::Acquired));
    worker.done(&again).await;
}

async fn a_surrender_is_a_settle_outside_of_any_turn(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let settle = held.settle(retry_after(secs(60)));
    assert_eq!(bench.surrender(settle.clone()).await.expect("an answer"), SettleAnswer::Accepted);
    assert_eq!(bench.surrender(settle).await.expect("an answer"), SettleAnswer::Lost);
    assert_eq!(
        (bench.state(id).await, bench.state(waiter).await),
        ("scheduled".into(), "ready".into())
    );
}

async fn everything_done_leaves_only_the_bounded_keys(bench: &Bench) {
    let worker = bench.worker();
    for number in 0..30 {
        let draft = match number % 3 {
            0 => job(),
            1 => job().lock("k").unique(&format!("u{number}"), 1),
            _ => job()
                .locks(&["k", &format!("l{number}")])
                .wait_timeout(secs(3600))
                .after(secs(number)),
        };
        bench.put(draft).await;
    }
    let mut done = 0;
    for _ in 0..200 {
        for held in worker.claim(4).await {
            worker.done(&held).await;
            done += 1;
        }
        bench.later(secs(1)).await;
    }
    assert_eq!(done, 30);
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

on_every_engine!(
    a_failed_attempt_is_charged_and_scheduled_and_its_error_kept,
    a_snoozed_job_is_not_charged,
    mismatches_are_counted_and_timed_until_another_end,
    a_returned_job_is_at_the_head_and_not_charged,
    a_rekeyed_job_runs_next_under_its_new_locks,
    a_buried_job_is_dead_with_its_reason_and_frees_its_lock,
    a_settle_under_a_foreign_token_changes_nothing_and_is_lost,
    a_settle_is_accepted_once,
    one_job_settled_twice_in_one_turn_is_settled_by_the_first,
    a_lost_lock_refuses_the_settle_and_the_job_runs_again,
    a_lock_lost_and_taken_by_another_stays_with_the_other,
    a_lost_nested_lock_refuses_the_settle_and_frees_the_others,
    nested_locks_are_freed_by_the_settle,
    a_settle_after_the_deadline_counts_while_nobody_reaped,
    a_late_settle_of_a_reaped_job_frees_only_its_own_lock,
    locks_that_a_settle_keeps_are_free_when_their_time_is_over,
    a_refused_settle_keeps_no_lock,
    a_surrender_is_a_settle_outside_of_any_turn,
    everything_done_leaves_only_the_bounded_keys,
);
