//! Watching a job's end, and what is pushed to processes.

use std::time::Duration;

use linchpin::names::{JobId, ProcessId};
use linchpin::store::settle::Death;
use linchpin::store::view::{Ended, Push, WatchAnswer};
use tokio::sync::mpsc::Receiver;

use super::bench::Bench;
use super::draft::{job, secs};
use super::worker::{LAPSE, discard};

async fn told(pushes: &mut Receiver<Push>) -> Push {
    tokio::time::timeout(Duration::from_secs(10), pushes.recv())
        .await
        .expect("in time")
        .expect("an open stream")
}

async fn watch(bench: &Bench, id: JobId, process: &ProcessId) -> WatchAnswer {
    bench.watch(id, process).await.expect("an answer")
}

async fn whoever_watches_is_told_how_the_job_ended(bench: &Bench) {
    let worker = bench.worker();
    let process = ProcessId::random();
    let mut pushes = bench.pushes(&process).await.expect("a stream");
    let done = bench.put(job()).await;
    assert_eq!(watch(bench, done, &process).await, WatchAnswer::Watching);
    let held = worker.claim_one().await;
    worker.done(&held).await;
    assert_eq!(told(&mut pushes).await, Push::Ended(done, Ended::Done));
    let dead = bench.put(job()).await;
    watch(bench, dead, &process).await;
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    assert_eq!(told(&mut pushes).await, Push::Ended(dead, Ended::Dead(Death::Discarded)));
    let cancelled = bench.put(job()).await;
    watch(bench, cancelled, &process).await;
    bench.cancel(cancelled).await.expect("a cancel");
    assert_eq!(told(&mut pushes).await, Push::Ended(cancelled, Ended::Dead(Death::Cancelled)));
    let deleted = bench.put(job().after(secs(60))).await;
    watch(bench, deleted, &process).await;
    bench.delete(deleted).await.expect("a delete");
    assert_eq!(told(&mut pushes).await, Push::Ended(deleted, Ended::Deleted));
    let names = bench.key_names().await;
    assert!(!names.contains(&"watched".to_owned()), "{names:?}");
}

async fn a_reap_that_ends_a_job_tells_too(bench: &Bench) {
    let worker = bench.worker();
    let process = ProcessId::random();
    let mut pushes = bench.pushes(&process).await.expect("a stream");
    let id = bench.put(job()).await;
    watch(bench, id, &process).await;
    worker.claim_one().await;
    bench.delete(id).await.expect("a delete");
    bench.later(LAPSE).await;
    worker.look().await;
    assert_eq!(told(&mut pushes).await, Push::Ended(id, Ended::Deleted));
}

async fn everybody_who_watches_is_told_but_who_took_it_back(bench: &Bench) {
    let worker = bench.worker();
    let processes = [ProcessId::random(), ProcessId::random(), ProcessId::random()];
    let id = bench.put(job()).await;
    let mut streams = Vec::new();
    for process in &processes {
        streams.push(bench.pushes(process).await.expect("a stream"));
        watch(bench, id, process).await;
    }
    bench.unwatch(id, &processes[2]).await.expect("an answer");
    let held = worker.claim_one().await;
    worker.done(&held).await;
    for stream in &mut streams[..2] {
        assert_eq!(told(stream).await, Push::Ended(id, Ended::Done));
    }
    let marker = bench.put(job()).await;
    watch(bench, marker, &processes[2]).await;
    bench.delete(marker).await.expect("a delete");
    assert_eq!(
        told(&mut streams[2]).await,
        Push::Ended(marker, Ended::Deleted),
        "and nothing before"
    );
}

async fn watching_what_has_ended_says_so_at_once(bench: &Bench) {
    let worker = bench.worker();
    let process = ProcessId::random();
    assert_eq!(watch(bench, JobId::random(), &process).await, WatchAnswer::Gone);
    let done = bench.put(job()).await;
    let held = worker.claim_one().await;
    assert_eq!(watch(bench, done, &process).await, WatchAnswer::Watching);
    bench.unwatch(done, &process).await.expect("an answer");
    worker.done(&held).await;
    assert_eq!(watch(bench, done, &process).await, WatchAnswer::Gone);
    let dead = bench.put(job()).await;
    bench.cancel(dead).await.expect("a cancel");
    assert_eq!(watch(bench, dead, &process).await, WatchAnswer::Dead(Death::Cancelled));
}

async fn the_worker_of_an_active_job_is_told_to_stop(bench: &Bench) {
    let (worker, other) = (bench.worker(), bench.worker());
    let mut pushes = bench.pushes(&worker.id).await.expect("a stream");
    let mut others = bench.pushes(&other.id).await.expect("a stream");
    let cancelled = bench.put(job()).await;
    let deleted = bench.put(job()).await;
    assert_eq!(worker.claim(2).await.len(), 2);
    bench.cancel(cancelled).await.expect("a cancel");
    bench.delete(deleted).await.expect("a delete");
    assert_eq!(told(&mut pushes).await, Push::Cancel(cancelled));
    assert_eq!(told(&mut pushes).await, Push::Cancel(deleted));
    let last = bench.put(job()).await;
    other.claim_one().await;
    bench.cancel(last).await.expect("a cancel");
    assert_eq!(told(&mut others).await, Push::Cancel(last), "only of its own jobs");
}

on_every_engine!(
    whoever_watches_is_told_how_the_job_ended,
    a_reap_that_ends_a_job_tells_too,
    everybody_who_watches_is_told_but_who_took_it_back,
    watching_what_has_ended_says_so_at_once,
    the_worker_of_an_active_job_is_told_to_stop,
);
