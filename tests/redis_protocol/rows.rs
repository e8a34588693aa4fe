//! Rows that were lost, doubled or broken.

use crate::draft::{job, secs};
use crate::support::RedisServer;
use crate::worker::{LAPSE, Worker, wants};
use crate::{named, open, put, run};
use linchpin::Error;
use linchpin::names::{Fence, JobId, LockKey, ProcessId};
use linchpin::store::Store;
use linchpin::store::redis::RedisStore;
use linchpin::store::view::State;

#[tokio::test]
async fn rows_that_alone_survive_a_restart_are_reaped() {
    let mut server = RedisServer::options().append_only().start();
    let store = open(&server.url()).await;
    let id = put(&store, &ProcessId::random(), job().lock("k")).await;
    let gone = Worker::new(store.clone());
    gone.claim_one().await;
    server.kill();
    server.restart();
    let worker = Worker::new(store.clone());
    store.advance(LAPSE).await.expect("a test clock");
    let held = worker.claim_suspects(1, linchpin::store::turn::Suspects::One).await.0;
    assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), [id]);
    worker.done(&held[0]).await;
}

#[tokio::test]
async fn a_claim_that_fails_midway_loses_nothing() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let worker = Worker::new(store.clone());
    let id = put(&store, &ProcessId::random(), job()).await;
    let _: String = run(&server, &["SET", &named("claims"), "foreign"]).await;
    let refused = store.turn(&worker.id, 0, wants(1, &["q"])).await;
    assert!(matches!(refused, Err(Error::Internal { .. })), "{refused:?}");
    let _: usize = run(&server, &["DEL", &named("claims")]).await;
    assert_eq!(worker.claim_one().await.id, id, "the list is trimmed last");
}

async fn fence_of_holder(store: &RedisStore, name: &str) -> Fence {
    let key = LockKey::new(name).expect("a key");
    let line = store.lock(&key).await.expect("an answer").expect("it is held");
    line.lock.holder.expect("a holder").fence
}

#[tokio::test]
async fn twins_in_front_of_locked_jobs_are_claimed_once_and_shift_no_fence() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    worker.look().await; // a turn that looks takes nothing the short way
    let twin = put(&store, &producer, job()).await;
    let _: usize = run(&server, &["RPUSH", &named("queue:q:1"), &twin.to_string()]).await;
    let locked = put(&store, &producer, job().lock("k")).await;
    let plain = put(&store, &producer, job()).await;
    let held = worker.claim(10).await;
    assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), [twin, locked, plain]);
    assert_eq!(fence_of_holder(&store, "k").await, held[1].fence);
    for one in &held {
        worker.done(one).await;
    }
}

#[tokio::test]
async fn twins_alone_in_a_range_are_claimed_once() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    worker.look().await; // a turn that looks takes nothing the short way
    let twin = put(&store, &producer, job()).await;
    let other = put(&store, &producer, job()).await;
    for _ in 0..2 {
        let _: usize = run(&server, &["RPUSH", &named("queue:q:1"), &twin.to_string()]).await;
    }
    let held = worker.claim(10).await;
    assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), [twin, other]);
    let entries: usize = run(&server, &["LLEN", &named("queue:q:1")]).await;
    assert_eq!(entries, 0, "twins are dropped");
}

/// What a sweep mends: the rows are as an eviction, a lost write or a hand would leave them.
#[tokio::test]
async fn rows_that_belong_to_nothing_are_swept_and_counted() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let producer = ProcessId::random();
    let worker = Worker::new(store.clone());
    worker.look().await;
    let unscheduled = put(&store, &producer, job().after(secs(7200))).await;
    run::<i64>(&server, &["DEL", &named("scheduled")]).await;
    let unburied = put(&store, &producer, job()).await;
    store.cancel(unburied).await.expect("an answer");
    run::<i64>(&server, &["DEL", &named("dead")]).await;
    let nobody = JobId::random().to_string();
    for hash in ["bodies", "tries", "cancels", "watched"] {
        run::<i64>(&server, &["HSET", &named(hash), &nobody, "x"]).await;
    }
    let placed = JobId::random().to_string();
    run::<i64>(&server, &["HSET", &named("places"), &placed, "s"]).await;
    run::<i64>(&server, &["ZADD", &named("waits"), "9000000000000", &nobody]).await;
    run::<i64>(&server, &["ZADD", &named("active"), "9000000000000", "nobody.0.1"]).await;
    store.advance(linchpin::limits::SWEEP + secs(1)).await.expect("a test clock");
    worker.look().await;
    assert_eq!(store.job(unscheduled).await.expect("a read").expect("kept").state, State::Ready);
    assert_eq!(
        run::<i64>(&server, &["LLEN", &named("queue:q:1")]).await,
        2,
        "it, and the stale one of the dead job"
    );
    assert_eq!(run::<i64>(&server, &["ZCARD", &named("dead")]).await, 1);
    for hash in ["bodies", "tries", "cancels", "watched"] {
        assert_eq!(run::<i64>(&server, &["EXISTS", &named(hash)]).await, 0, "{hash}");
    }
    assert_eq!(run::<i64>(&server, &["HEXISTS", &named("places"), &placed]).await, 0);
    assert_eq!(run::<i64>(&server, &["EXISTS", &named("waits"), &named("active")]).await, 0);
    let minute = store
        .keys()
        .await
        .expect("a read")
        .into_iter()
        .find(|(name, _)| name.starts_with("stats:"));
    let minute = named(&minute.expect("it was counted").0);
    assert_eq!(run::<i64>(&server, &["HGET", &minute, "swept"]).await, 9);
}

#[tokio::test]
async fn a_claim_that_lost_its_deadline_gets_one_and_its_job_comes_back() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let producer = ProcessId::random();
    let worker = Worker::new(store.clone());
    let id = put(&store, &producer, job()).await;
    worker.claim_one().await;
    run::<i64>(&server, &["DEL", &named("active")]).await;
    store.advance(linchpin::limits::SWEEP + secs(1)).await.expect("a test clock");
    worker.look().await;
    assert!(
        matches!(store.job(id).await.expect("a read").expect("kept").state, State::Active { .. }),
        "a worker that lives has a lease to renew it"
    );
    store.advance(LAPSE).await.expect("a test clock");
    worker.look().await;
    assert_eq!(store.job(id).await.expect("a read").expect("kept").state, State::Ready);
}

#[tokio::test]
async fn a_long_list_is_not_searched_and_gets_no_second_entries() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let producer = ProcessId::random();
    let worker = Worker::new(store.clone());
    worker.look().await;
    for _ in 0..21 {
        let jobs: Vec<_> = (0..100).map(|_| job().0).collect();
        store.enqueue(&producer, jobs).await.expect("an enqueue");
    }
    store.advance(linchpin::limits::SWEEP + secs(1)).await.expect("a test clock");
    // A sweep of 2,100 rows takes some looks; it has ended when its row says when the next one is due.
    for _ in 0..100 {
        worker.look().await;
        store.advance(secs(1)).await.expect("a test clock");
        let row: String = run(&server, &["HGET", &named("state"), "sweep"]).await;
        if !row.starts_with("0|") {
            assert_eq!(run::<i64>(&server, &["LLEN", &named("queue:q:1")]).await, 2100);
            return;
        }
    }
    panic!("the sweep does not end");
}
