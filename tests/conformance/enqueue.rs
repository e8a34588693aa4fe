//! Enqueue: jobs come in ready or scheduled, each whole or not at all.

use std::time::{Duration, SystemTime};

use linchpin::Error;
use linchpin::limits::ENQUEUE_BATCH_MAX;
use linchpin::store::new_job::{Accepted, Due, Priority};
use linchpin::store::settle::Verdict;
use linchpin::store::turn::LockOutcome;
use linchpin::store::view::State;

use super::bench::Bench;
use super::draft::{job, job_in, secs};
use super::worker::wants;

async fn a_job_is_ready_then_active_then_gone(bench: &Bench) {
    let worker = bench.worker();
    let draft = job();
    let id = bench.put(draft.clone()).await;
    let view = bench.view(id).await.expect("it is stored");
    assert_eq!((view.state, view.errors.len()), (State::Ready, 0));
    let held = worker.claim_one().await;
    assert_eq!(bench.state(id).await, "active");
    assert_eq!((held.id, &held.how, held.expired, held.alone), (id, &LockOutcome::None, false, false));
    let envelope = held.envelope.clone().expect("it can be read");
    assert_eq!((envelope.header, envelope.body), (draft.0.header, draft.0.body));
    worker.done(&held).await;
    assert_eq!(bench.state(id).await, "gone");
    assert!(bench.unbounded_keys().await.is_empty(), "{:?}", bench.unbounded_keys().await);
}

async fn jobs_of_one_list_are_claimed_first_in_first_out(bench: &Bench) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(bench.put(job()).await);
    }
    let held = bench.worker().claim(10).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), ids);
}

async fn priorities_go_first_to_last_and_queues_in_the_order_asked(bench: &Bench) {
    let low = bench.put(job_in("a").priority(Priority::Low)).await;
    let normal = bench.put(job_in("a")).await;
    let high = bench.put(job_in("a").priority(Priority::High)).await;
    let other = bench.put(job_in("b").priority(Priority::Low)).await;
    let (held, _) = bench.worker().turn(wants(10, &["b", "a"])).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [other, high, normal, low]);
}

async fn a_job_due_later_is_scheduled_and_claimed_once_due(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().after(secs(10))).await;
    assert_eq!(bench.state(id).await, "scheduled");
    bench.later(secs(9)).await;
    assert!(worker.claim(1).await.is_empty());
    let Some(State::Scheduled { due_in }) = bench.view(id).await.map(|view| view.state) else {
        panic!("still scheduled");
    };
    assert!(due_in <= secs(1) && due_in > Duration::from_millis(200), "{due_in:?}");
    bench.later(secs(1)).await;
    assert_eq!(worker.claim_one().await.id, id);
}

async fn an_instant_that_has_passed_is_due_at_once(bench: &Bench) {
    let id = bench.put(job().due(Due::At(SystemTime::UNIX_EPOCH + secs(1)))).await;
    assert_eq!(bench.state(id).await, "ready");
    let id = bench.put(job().after(Duration::ZERO)).await;
    assert_eq!(bench.state(id).await, "ready");
    let id = bench.put(job().due(Due::At(SystemTime::now() + secs(3600)))).await;
    assert_eq!(bench.state(id).await, "scheduled");
}

async fn a_batch_is_answered_job_by_job_in_order(bench: &Bench) {
    let (first, same, other, free) = (job().unique("u", 1), job().unique("u", 1), job().unique("u", 2), job());
    let answers = bench.offer(&[&first, &same, &other, &free]).await;
    let wanted = [Accepted::New, Accepted::Existing(first.id()), Accepted::Conflict(first.id()), Accepted::New];
    assert_eq!(answers, wanted);
    assert_eq!(bench.census().await.expect("a read").jobs, 2);
    assert_eq!((bench.state(same.id()).await, bench.state(other.id()).await), ("gone".into(), "gone".into()));
}

async fn a_batch_over_the_limit_is_refused_whole(bench: &Bench) {
    let jobs = (0..=ENQUEUE_BATCH_MAX).map(|_| job().0).collect();
    let refused = bench.enqueue(&bench.producer, jobs).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert_eq!(bench.census().await.expect("a read").jobs, 0);
}

async fn a_job_past_its_expiry_is_delivered_as_expired_without_locks(bench: &Bench) {
    let worker = bench.worker();
    let in_time = bench.put(job().lock("k").expires_in(secs(60))).await;
    let late = bench.put(job().lock("k").expires_in(secs(60))).await;
    let first = worker.claim_one().await;
    assert_eq!((first.id, first.expired), (in_time, false));
    bench.later(secs(60)).await;
    let expired = worker.claim(2).await.into_iter().find(|held| held.id == late).expect("it is delivered");
    assert!(expired.expired);
    assert_eq!(expired.how, LockOutcome::None, "also while its lock is held");
    assert_eq!(worker.settle(&expired, Verdict::Done).await, linchpin::store::settle::SettleAnswer::Accepted);
}

on_every_engine!(
    a_job_is_ready_then_active_then_gone,
    jobs_of_one_list_are_claimed_first_in_first_out,
    priorities_go_first_to_last_and_queues_in_the_order_asked,
    a_job_due_later_is_scheduled_and_claimed_once_due,
    an_instant_that_has_passed_is_due_at_once,
    a_batch_is_answered_job_by_job_in_order,
    a_batch_over_the_limit_is_refused_whole,
    a_job_past_its_expiry_is_delivered_as_expired_without_locks,
);
