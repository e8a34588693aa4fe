//! Cancel, delete and retry in every state; pause, census, workers.

use linchpin::limits::LANE_KEPT;
use linchpin::names::{JobId, ProcessId};
use linchpin::store::settle::{Outcome, SettleAnswer, Verdict};
use linchpin::store::turn::Suspects;
use linchpin::store::view::{CancelAnswer, DeleteAnswer, Replaced, RetryAnswer, State, WorkerCard};

use super::bench::Bench;
use super::draft::{job, job_in, queue, secs};
use super::worker::{LAPSE, discard, retry_after, wants};

async fn cancel(bench: &Bench, id: JobId) -> CancelAnswer {
    bench.cancel(id).await.expect("a cancel")
}

async fn delete(bench: &Bench, id: JobId) -> DeleteAnswer {
    bench.delete(id).await.expect("a delete")
}

async fn retry(bench: &Bench, id: JobId) -> RetryAnswer {
    bench.retry(id).await.expect("a retry")
}

async fn cancel_buries_a_ready_and_a_scheduled_job_at_once(bench: &Bench) {
    let worker = bench.worker();
    let ready = bench.put(job()).await;
    let scheduled = bench.put(job().after(secs(60))).await;
    for id in [ready, scheduled] {
        assert_eq!(cancel(bench, id).await, CancelAnswer::Cancelled);
        assert_eq!(bench.state(id).await, "dead:cancelled");
        assert_eq!(cancel(bench, id).await, CancelAnswer::TooLate);
    }
    bench.later(secs(61)).await;
    assert!(worker.claim(5).await.is_empty());
    assert_eq!(bench.census().await.expect("a read").scheduled, 0);
}

async fn cancel_of_a_parked_job_takes_it_off_its_list(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let cancelled = bench.put(job().lock("k").wait_timeout(secs(5))).await;
    let other = bench.put(job().lock("k")).await;
    assert!(worker.claim(2).await.is_empty());
    assert_eq!(cancel(bench, cancelled).await, CancelAnswer::Cancelled);
    assert_eq!(bench.census().await.expect("a read").parked, 1);
    worker.done(&holder).await;
    assert_eq!(worker.claim_one().await.id, other);
    bench.later(secs(6)).await;
    worker.look().await;
    assert_eq!(bench.state(cancelled).await, "dead:cancelled", "its wait has ended too");
}

async fn cancel_or_delete_of_the_job_whose_turn_it_is_passes_the_turn_on(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let first = bench.put(job().lock("k")).await;
    let second = bench.put(job().lock("k")).await;
    let third = bench.put(job().lock("k")).await;
    assert!(worker.claim(3).await.is_empty());
    worker.done(&holder).await;
    assert_eq!(cancel(bench, first).await, CancelAnswer::Cancelled);
    assert_eq!(bench.state(second).await, "ready");
    assert_eq!(delete(bench, second).await, DeleteAnswer::Deleted);
    assert_eq!(bench.state(third).await, "ready");
    assert_eq!(worker.claim(3).await[0].id, third);
}

async fn cancel_of_an_active_job_is_a_request_and_its_settle_buries_it(bench: &Bench) {
    let worker = bench.worker();
    for verdict in [Verdict::Return, retry_after(secs(1)), Verdict::Rekey(Vec::new()), discard()] {
        let id = bench.put(job().lock("k")).await;
        let held = worker.claim_one().await;
        assert_eq!(cancel(bench, id).await, CancelAnswer::Requested);
        let state = bench.view(id).await.expect("kept").state;
        assert!(
            matches!(
                state,
                State::Active {
                    cancel_requested: true,
                    ..
                }
            ),
            "{state:?}"
        );
        assert_eq!(worker.settle(&held, verdict).await, SettleAnswer::Accepted);
        assert_eq!(bench.state(id).await, "dead:cancelled");
        assert_eq!(retry(bench, id).await, RetryAnswer::Ready);
        let held = worker.claim_one().await;
        assert_eq!(worker.settle(&held, Verdict::Return).await, SettleAnswer::Accepted);
        assert_eq!(bench.state(id).await, "ready", "the mark went with the settle");
        delete(bench, id).await;
        assert!(worker.claim(5).await.is_empty(), "its entry is stale");
    }
}

async fn done_wins_over_cancel_and_delete(bench: &Bench) {
    let worker = bench.worker();
    let cancelled = bench.put(job()).await;
    let held = worker.claim_one().await;
    cancel(bench, cancelled).await;
    worker.done(&held).await;
    assert_eq!(bench.state(cancelled).await, "gone");
    let deleted = bench.put(job()).await;
    let held = worker.claim_one().await;
    delete(bench, deleted).await;
    worker.done(&held).await;
    assert_eq!(bench.state(deleted).await, "gone");
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn delete_removes_what_is_not_active_at_once(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let parked = bench.put(job().lock("k").wait_timeout(secs(9))).await;
    assert!(worker.claim(1).await.is_empty());
    let dead = bench.put(job()).await;
    cancel(bench, dead).await;
    let ready = bench.put(job()).await;
    let scheduled = bench.put(job().after(secs(60))).await;
    for id in [parked, dead, ready, scheduled] {
        assert_eq!(delete(bench, id).await, DeleteAnswer::Deleted);
        assert_eq!(bench.state(id).await, "gone");
        assert_eq!(delete(bench, id).await, DeleteAnswer::TooLate);
    }
    worker.done(&holder).await;
    assert!(worker.claim(5).await.is_empty());
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn delete_of_an_active_job_removes_it_at_its_settle(bench: &Bench) {
    let worker = bench.worker();
    for verdict in [Verdict::Return, retry_after(secs(1)), Verdict::Rekey(Vec::new()), discard()] {
        let id = bench.put(job().unique("u", 1)).await;
        let held = worker.claim_one().await;
        assert_eq!(delete(bench, id).await, DeleteAnswer::Requested);
        assert_eq!(worker.settle(&held, verdict).await, SettleAnswer::Accepted);
        assert_eq!(bench.state(id).await, "gone");
    }
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn delete_outdoes_cancel_of_an_active_job(bench: &Bench) {
    let worker = bench.worker();
    for delete_first in [true, false] {
        let id = bench.put(job()).await;
        let held = worker.claim_one().await;
        if delete_first {
            delete(bench, id).await;
        }
        cancel(bench, id).await;
        if !delete_first {
            delete(bench, id).await;
        }
        worker.settle(&held, Verdict::Return).await;
        assert_eq!(bench.state(id).await, "gone");
    }
}

async fn a_cancelled_job_that_is_reaped_is_buried_and_a_deleted_one_is_gone(bench: &Bench) {
    let (worker, other) = (bench.worker(), bench.worker());
    let cancelled = bench.put(job().lock("k")).await;
    let deleted = bench.put(job()).await;
    assert_eq!(worker.claim(2).await.len(), 2);
    cancel(bench, cancelled).await;
    delete(bench, deleted).await;
    bench.later(LAPSE).await;
    other.look().await;
    assert_eq!(
        (bench.state(cancelled).await, bench.state(deleted).await),
        ("dead:cancelled".into(), "gone".into())
    );
    let next = bench.put(job().lock("k")).await;
    assert_eq!(other.claim_one().await.id, next, "its lock was freed");
}

async fn a_cancelled_job_whose_lock_was_lost_is_buried_by_its_lost_settle(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    cancel(bench, id).await;
    bench.engine.lose_lock(&super::draft::key("k")).await;
    assert_eq!(worker.settle(&held, Verdict::Done).await, SettleAnswer::Lost);
    assert_eq!(bench.state(id).await, "dead:cancelled");
}

async fn retry_of_a_scheduled_job_is_ready_at_the_tail_and_keeps_its_charges(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(600))).await;
    let before = bench.put(job()).await;
    assert_eq!(retry(bench, id).await, RetryAnswer::Ready);
    let held = worker.claim(5).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [before, id]);
    assert_eq!(held[1].tries.charged, 1);
    for held in &held {
        worker.done(held).await;
    }
    bench.later(secs(601)).await;
    assert!(worker.claim(5).await.is_empty(), "its old due time is forgotten");
}

async fn retry_of_a_dead_job_starts_again_at_nothing_charged(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().expires_in(secs(60))).await;
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(1))).await;
    bench.later(secs(2)).await;
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    assert_eq!(bench.view(id).await.expect("kept").tries.charged, 2);
    bench.later(secs(60)).await;
    assert_eq!(retry(bench, id).await, RetryAnswer::Ready);
    let view = bench.view(id).await.expect("kept");
    assert_eq!((view.tries, view.errors), (Default::default(), vec!["it failed".to_owned()]));
    assert_eq!(bench.census().await.expect("a read").dead, 0);
    let held = worker.claim_one().await;
    assert_eq!((held.id, held.expired), (id, false), "or it would die at once");
}

async fn retry_of_a_ready_parked_or_active_job_changes_nothing(bench: &Bench) {
    let worker = bench.worker();
    let active = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let parked = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let ready = bench.put(job()).await;
    for id in [active, parked, ready] {
        let before = bench.state(id).await;
        assert_eq!(retry(bench, id).await, RetryAnswer::NotNeeded);
        assert_eq!(bench.state(id).await, before);
    }
    assert_eq!(bench.census().await.expect("a read").ready, [(queue("q"), 1)]);
    worker.done(&held).await;
}

async fn verbs_on_a_job_that_never_was_are_too_late(bench: &Bench) {
    let id = JobId::random();
    assert_eq!(cancel(bench, id).await, CancelAnswer::TooLate);
    assert_eq!(delete(bench, id).await, DeleteAnswer::TooLate);
    assert_eq!(retry(bench, id).await, RetryAnswer::TooLate);
    assert_eq!(bench.state(id).await, "gone");
}

async fn a_stale_entry_of_a_cancelled_job_lets_its_retry_run_once(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    cancel(bench, id).await;
    assert_eq!(retry(bench, id).await, RetryAnswer::Ready);
    let held = worker.claim(5).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [id], "two entries, one job");
}

async fn cancel_logs_what_it_buries(bench: &Bench) {
    let id = bench.put(job().lock("k")).await;
    cancel(bench, id).await;
    assert_eq!(bench.outcomes(id).await, [Outcome::Cancelled]);
}

async fn the_census_counts_every_state(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    worker.claim_one().await;
    bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    bench.put(job_in("b")).await;
    bench.put(job_in("a")).await;
    bench.put(job_in("a").priority(linchpin::store::new_job::Priority::High)).await;
    bench.put(job().after(secs(60))).await;
    let dead = bench.put(job_in("c")).await;
    cancel(bench, dead).await;
    bench.worker().turn(wants(1, &["c"])).await;
    let census = bench.census().await.expect("a read");
    assert_eq!(census.ready, [(queue("a"), 2), (queue("b"), 1)]);
    assert_eq!(
        (census.scheduled, census.parked, census.active, census.dead, census.jobs),
        (1, 1, 1, 1, 7)
    );
    assert_eq!(census.pending(), 6);
}

async fn workers_are_counted_until_they_leave_or_fall_silent(bench: &Bench) {
    let card = || WorkerCard {
        worker: ProcessId::random(),
        labels: vec![("host".into(), "test".into())],
        queues: vec![queue("q")],
        concurrency: 10,
        running: 0,
        tasks: vec![("take".into(), "{}".into())],
    };
    let (one, two) = (card(), card());
    bench.register(&one).await.expect("a registration");
    bench.register(&two).await.expect("a registration");
    assert_eq!(bench.heartbeat(&one).await.expect("an answer").workers, 2);
    assert_eq!(bench.census().await.expect("a read").workers, 2);
    bench.deregister(&two.worker).await.expect("an answer");
    assert_eq!(bench.heartbeat(&one).await.expect("an answer").workers, 1);
    bench.later(LANE_KEPT + secs(1)).await;
    assert_eq!(bench.heartbeat(&two).await.expect("an answer").workers, 1, "the silent one is gone");
    bench.deregister(&two.worker).await.expect("an answer");
    bench.close(&bench.producer).await.expect("an answer");
}

async fn a_retried_cancelled_suspect_starts_clean(bench: &Bench) {
    let id = bench.put(job()).await;
    bench.worker().claim_one().await;
    bench.later(LAPSE).await;
    bench.worker().look().await;
    assert!(bench.view(id).await.expect("kept").tries.suspect);
    cancel(bench, id).await;
    assert_eq!(retry(bench, id).await, RetryAnswer::Ready);
    let (held, _) = bench.worker().claim_suspects(1, Suspects::None).await;
    assert_eq!(held[0].id, id);
}

async fn a_registration_answers_what_was_told_of_its_tasks_before(bench: &Bench) {
    let card = |lines: &[(&str, &str)]| WorkerCard {
        worker: ProcessId::random(),
        labels: vec![],
        queues: vec![queue("q")],
        concurrency: 1,
        running: 0,
        tasks: lines.iter().map(|(task, line)| ((*task).into(), (*line).into())).collect(),
    };
    let (one, two) = (
        card(&[("take", "{}"), ("give", "{}")]),
        card(&[("take", r#"{"a":1}"#), ("give", "{}")]),
    );
    assert!(!bench.heartbeat(&one).await.expect("an answer").registered);
    assert_eq!(bench.register(&one).await.expect("a registration"), []);
    assert!(bench.heartbeat(&one).await.expect("an answer").registered);
    let replaced = Replaced {
        task: "take".into(),
        line: "{}".into(),
    };
    assert_eq!(bench.register(&two).await.expect("a registration"), [replaced]);
    for card in [one, two] {
        bench.deregister(&card.worker).await.expect("an answer");
    }
}

on_every_engine!(
    a_registration_answers_what_was_told_of_its_tasks_before,
    cancel_buries_a_ready_and_a_scheduled_job_at_once,
    cancel_of_a_parked_job_takes_it_off_its_list,
    cancel_or_delete_of_the_job_whose_turn_it_is_passes_the_turn_on,
    cancel_of_an_active_job_is_a_request_and_its_settle_buries_it,
    done_wins_over_cancel_and_delete,
    delete_removes_what_is_not_active_at_once,
    delete_of_an_active_job_removes_it_at_its_settle,
    delete_outdoes_cancel_of_an_active_job,
    a_cancelled_job_that_is_reaped_is_buried_and_a_deleted_one_is_gone,
    a_cancelled_job_whose_lock_was_lost_is_buried_by_its_lost_settle,
    retry_of_a_scheduled_job_is_ready_at_the_tail_and_keeps_its_charges,
    retry_of_a_dead_job_starts_again_at_nothing_charged,
    retry_of_a_ready_parked_or_active_job_changes_nothing,
    verbs_on_a_job_that_never_was_are_too_late,
    a_stale_entry_of_a_cancelled_job_lets_its_retry_run_once,
    cancel_logs_what_it_buries,
    the_census_counts_every_state,
    workers_are_counted_until_they_leave_or_fall_silent,
    a_retried_cancelled_suspect_starts_clean,
);
