//! A server that is full, newer, slow or away.

use crate::draft::{job, job_in, secs};
use crate::support::RedisServer;
use crate::worker::{Worker, retry_after};
use crate::{NS, named, open, put, run};
use linchpin::Error;
use linchpin::limits::PROMOTE_MAX;
use linchpin::names::{Namespace, ProcessId};
use linchpin::store::Store;
use linchpin::store::lease::Renewed;
use linchpin::store::new_job::Accepted;
use linchpin::store::redis::RedisStore;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_full_server_refuses_an_enqueue_whole_and_still_drains() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(put(&store, &producer, if n % 2 == 0 { job().lock("k") } else { job() }).await);
    }
    let held = worker.claim(4).await;
    let _: String = run(&server, &["CONFIG", "SET", "maxmemory", "1mb"]).await;
    let refused = store.enqueue(&producer, vec![job().0, job().0]).await;
    match refused {
        Err(Error::Refused { code, advice, .. }) => assert!(code == "OOM" && advice.contains("maxmemory"), "{code} {advice}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(worker.renew(&[&held[0]]).await, [Renewed::Renewed]);
    for one in &held {
        worker.settle(one, retry_after(secs(1))).await;
    }
    store.advance(secs(2)).await.err();
    let mut done = 0;
    for _ in 0..200 {
        for one in worker.claim(3).await {
            worker.done(&one).await;
            done += 1;
        }
        if done == 16 {
            break;
        }
    }
    assert!(done >= 16, "{done} of 16 drained while full");
    let _: String = run(&server, &["CONFIG", "SET", "maxmemory", "0"]).await;
    store.advance(secs(2)).await.expect("a test clock");
    for _ in 0..20 {
        if done == 20 {
            break;
        }
        let held = worker.claim(3).await;
        assert!(!held.is_empty(), "{done} of 20");
        for one in held {
            worker.done(&one).await;
            done += 1;
        }
    }
    assert_eq!(store.census().await.expect("a read").jobs, 0, "nothing half-written");
}

#[tokio::test]
async fn owners_is_never_small_encoded() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let card = linchpin::store::view::WorkerCard {
        worker: ProcessId::random(),
        labels: vec![],
        queues: vec![],
        concurrency: 1,
        running: 0,
        tasks: vec![],
    };
    store.register(&card).await.expect("a registration");
    assert_eq!(run::<String>(&server, &["OBJECT", "ENCODING", &named("owners")]).await, "hashtable");
}

#[tokio::test]
async fn a_newer_layout_is_refused_with_the_next_step() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let _: String = run(&server, &["SET", &named("schema"), "2"]).await;
    let card = linchpin::store::view::WorkerCard {
        worker: ProcessId::random(),
        labels: vec![],
        queues: vec![],
        concurrency: 1,
        running: 0,
        tasks: vec![],
    };
    match store.register(&card).await {
        Err(Error::Refused { code, advice, .. }) => assert!(code == "layout" && advice.contains("newer release")),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn twenty_thousand_jobs_due_at_once_are_promoted_in_short_scripts() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    for _ in 0..20 {
        let batch = (0..1000).map(|_| job().after(secs(5)).0).collect();
        store.enqueue(&producer, batch).await.expect("an enqueue");
    }
    store.advance(secs(6)).await.expect("a test clock");
    for _ in 0..20_000 / PROMOTE_MAX + 10 {
        worker.look().await;
        if store.census().await.expect("a read").scheduled == 0 {
            break;
        }
    }
    let census = store.census().await.expect("a read");
    assert_eq!((census.scheduled, census.ready.iter().map(|(_, n)| n).sum::<u64>()), (0, 20_000));
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for() {
    let mut server = RedisServer::options().append_only().start();
    let store = open(&server.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    let id = put(&store, &producer, job()).await;
    server.kill();
    let enqueuing = tokio::spawn({
        let (store, producer) = (store.clone(), producer.clone());
        async move { store.enqueue(&producer, vec![job_in("other").0]).await }
    });
    let claiming = tokio::spawn(async move { worker.claim(1).await });
    server.restart();
    let held = tokio::time::timeout(Duration::from_secs(10), claiming)
        .await
        .expect("it reconnects")
        .expect("no panic");
    assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), [id]);
    assert_eq!(enqueuing.await.expect("no panic").expect("an enqueue"), [Accepted::New]);
    assert_eq!(run::<usize>(&server, &["LLEN", &named("queue:other:1")]).await, 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_in_time_and_shows_no_password() {
    let begun = Instant::now();
    let namespace = Namespace::new(NS).expect("a name");
    let refused = RedisStore::connect("redis://shop:s3cret@127.0.0.1:1/0", &namespace).await;
    let error = refused.expect_err("nobody listens there");
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}
