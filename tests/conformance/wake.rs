//! Wake: idle workers wait for marks.

use std::time::Duration;

use linchpin::names::QueueName;
use linchpin::store::settle::Verdict;
use linchpin::store::turn::{Suspects, Turn};

use super::bench::Bench;
use super::draft::{job, job_in, queue, secs};
use super::worker::{LAPSE, Worker, wants};

/// Long enough for a mark that was armed; a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// For a mark that must not be there.
const SHORT: Duration = Duration::from_millis(100);

async fn woken(bench: &Bench, worker: &Worker, queues: &[&str], patience: Duration) -> Vec<QueueName> {
    let queues: Vec<_> = queues.iter().map(|name| queue(name)).collect();
    bench.wake(&worker.id, &queues, patience).await.expect("an answer")
}

async fn a_wait_for_nothing_ends_with_its_patience(bench: &Bench) {
    assert!(woken(bench, &bench.worker(), &["q", "r"], SHORT).await.is_empty());
}

async fn an_enqueue_wakes_one_who_waits_for_its_queue(bench: &Bench) {
    let worker = bench.worker();
    let (store, id) = (bench.store.clone(), worker.id.clone());
    let waiting = tokio::spawn(async move { store.wake(&id, &[queue("other"), queue("q")], PATIENCE * 4).await });
    tokio::task::yield_now().await;
    bench.put(job()).await;
    assert_eq!(waiting.await.expect("no panic").expect("an answer"), [queue("q")]);
}

async fn a_mark_is_taken_once_and_only_by_its_queue(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    bench.put(job()).await;
    assert!(woken(bench, &worker, &["r"], SHORT).await.is_empty());
    assert_eq!(woken(bench, &worker, &["r", "q"], PATIENCE).await, [queue("q")]);
    assert!(woken(bench, &worker, &["q"], SHORT).await.is_empty(), "at most one mark a queue");
}

async fn who_took_a_mark_and_did_not_empty_the_queue_puts_it_back(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    bench.put(job()).await;
    let took = woken(bench, &worker, &["q"], PATIENCE).await;
    let turn = Turn {
        took: took.clone(),
        ..wants(1, &["q"])
    };
    assert_eq!(worker.turn(turn).await.0.len(), 1);
    assert_eq!(woken(bench, &worker, &["q"], PATIENCE).await, took);
    let turn = Turn { took, ..wants(5, &["q"]) };
    assert_eq!(worker.turn(turn).await.0.len(), 1);
    assert!(woken(bench, &worker, &["q"], SHORT).await.is_empty());
}

async fn suspects_alone_do_not_put_a_mark_back(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    bench.worker().claim_one().await;
    bench.later(LAPSE).await;
    worker.look().await;
    let took = woken(bench, &worker, &["q"], PATIENCE).await;
    assert_eq!(took, [queue("q")], "the reap marked it");
    let turn = Turn {
        took,
        suspects: Suspects::None,
        ..wants(5, &["q"])
    };
    worker.turn(turn).await;
    assert!(
        woken(bench, &worker, &["q"], SHORT).await.is_empty(),
        "or an idle worker would spin"
    );
}

async fn whatever_makes_a_job_ready_marks_its_queue(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k").after(secs(5))).await;
    assert!(woken(bench, &worker, &["q"], SHORT).await.is_empty(), "scheduled");
    bench.later(secs(6)).await;
    worker.look().await;
    assert_eq!(woken(bench, &worker, &["q"], PATIENCE).await, [queue("q")], "promoted");
    let held = worker.claim_one().await;
    assert_eq!(held.id, id);
    bench.put(job_in("r").lock("k")).await;
    assert!(worker.turn(wants(1, &["r"])).await.0.is_empty());
    woken(bench, &worker, &["r"], SHORT).await;
    worker.settle(&held, Verdict::Return).await;
    let marked = woken(bench, &worker, &["q", "r"], PATIENCE).await;
    assert_eq!(marked.first(), Some(&queue("q")), "returned");
    let marked = match marked.len() {
        2 => marked[1..].to_vec(),
        _ => woken(bench, &worker, &["r"], PATIENCE).await,
    };
    assert_eq!(marked, [queue("r")], "handed over");
    bench.pause(&queue("q")).await.expect("a pause");
    bench.resume(&queue("q")).await.expect("a resume");
    assert_eq!(woken(bench, &worker, &["q"], PATIENCE).await, [queue("q")], "resumed");
    bench.cancel(id).await.expect("a cancel");
    bench.retry(id).await.expect("a retry");
    assert_eq!(woken(bench, &worker, &["q"], PATIENCE).await, [queue("q")], "retried");
}

on_every_engine!(
    a_wait_for_nothing_ends_with_its_patience,
    an_enqueue_wakes_one_who_waits_for_its_queue,
    a_mark_is_taken_once_and_only_by_its_queue,
    who_took_a_mark_and_did_not_empty_the_queue_puts_it_back,
    suspects_alone_do_not_put_a_mark_back,
    whatever_makes_a_job_ready_marks_its_queue,
);
