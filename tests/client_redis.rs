//! The client on a Redis that misbehaves: an enqueue resent makes no second job, a full server refuses whole, a wait outlives its
//! connection.
#![cfg(all(feature = "macros", feature = "redis"))]

mod support;

use std::sync::Arc;

use linchpin::client::End;
use linchpin::names::Namespace;
use linchpin::store::redis::RedisStore;
use linchpin::{Client, Error, TaskResult, task};
use support::{Fault, Proxy, RedisServer, within};

#[task]
async fn note(text: String) -> TaskResult {
    let _ = text;
    Ok(())
}

fn a_note() -> note {
    note { text: "x".into() }
}

/// A client through `url`, and the digest of the script that enqueues.
async fn connect(url: &str) -> (Client, Vec<u8>) {
    let store = RedisStore::connect(url, &Namespace::new("t").expect("a name"))
        .await
        .expect("our own server");
    let digest = store
        .scripts()
        .into_iter()
        .find(|(name, _)| *name == "enqueue")
        .expect("the script")
        .1;
    (Client::on(Arc::new(store)), digest.into_bytes())
}

#[tokio::test]
async fn an_enqueue_whose_reply_is_lost_makes_one_job() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (client, pattern) = connect(&proxy.url()).await;
    client.enqueue(a_note()).await.expect("the script is known from here");
    for (round, fault) in [
        Fault::DropReplies {
            pattern: pattern.clone(),
            every: 2,
        },
        Fault::DropRequests {
            pattern: pattern.clone(),
            every: 2,
        },
    ]
    .into_iter()
    .enumerate()
    {
        let before = client.census().await.expect("a census").jobs;
        let dropped = proxy.dropped();
        proxy.set(fault.clone());
        for _ in 0..10 {
            within(&format!("one, {fault:?}"), client.enqueue(a_note()))
                .await
                .expect("resent until answered");
        }
        let answers = within(&format!("many, {fault:?}"), client.enqueue_many((0..50).map(|_| a_note())))
            .await
            .expect("resent until answered");
        assert!(answers.iter().all(Result::is_ok), "round {round}");
        proxy.set(Fault::None);
        assert!(proxy.dropped() > dropped, "round {round}: the fault hit nothing");
        assert_eq!(client.census().await.expect("a census").jobs, before + 60, "round {round}");
    }
}

#[tokio::test]
async fn a_full_server_refuses_a_batch_whole() {
    let server = RedisServer::start();
    let (client, _) = connect(&server.url()).await;
    client.enqueue(a_note()).await.expect("there is room");
    server.command(&["CONFIG", "SET", "maxmemory", "1mb"]).expect("our own server");
    let one = client.enqueue(a_note()).await.expect_err("full");
    assert!(
        matches!(&one, Error::Refused { code, .. } if code == "OOM") && one.is_transient(),
        "{one}"
    );
    let many = client.enqueue_many((0..10).map(|_| a_note())).await.expect_err("full");
    assert!(matches!(&many, Error::Refused { code, .. } if code == "OOM"), "{many}");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).expect("our own server");
    assert_eq!(client.census().await.expect("a census").jobs, 1);
    client.enqueue(a_note()).await.expect("there is room again");
}

#[tokio::test]
async fn a_wait_outlives_its_connection() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (waiting, _) = connect(&proxy.url()).await;
    let (operator, _) = connect(&server.url()).await;
    let missed = operator.enqueue(a_note()).await.expect("enqueued").id();
    let told = operator.enqueue(a_note()).await.expect("enqueued").id();
    let waits = [missed, told].map(|id| {
        let waiting = waiting.clone();
        tokio::spawn(async move { waiting.wait(id).await })
    });
    let registered = async {
        while !operator.store().keys().await.expect("keys").iter().any(|(key, _)| key == "watched") {
            tokio::task::yield_now().await;
        }
    };
    within("registered", registered).await;
    // Its end is missed: nothing gets through while it is deleted.
    proxy.set(Fault::Refuse);
    proxy.reset();
    operator.delete(missed).await.expect("deleted");
    proxy.set(Fault::None);
    let [missed, told_wait] = waits;
    let missed = within("told of what it missed", missed).await.expect("no panic").expect("no error");
    assert!(matches!(missed, End::Gone | End::Deleted), "{missed:?}");
    operator.cancel(told).await.expect("cancelled");
    let end = within("told", told_wait).await.expect("no panic").expect("no error");
    assert!(matches!(end, End::Dead(_)), "{end:?}");
}

#[tokio::test]
async fn a_closed_client_leaves_nothing_behind() {
    let server = RedisServer::start();
    let (client, _) = connect(&server.url()).await;
    let id = client.enqueue(a_note()).await.expect("enqueued").id();
    client.delete(id).await.expect("deleted");
    client.close().await.expect("closed");
    let left: Vec<_> = client.store().keys().await.expect("keys").into_iter().map(|(key, _)| key).collect();
    let bounded = ["state", "owners", "schema"];
    assert!(
        left.iter()
            .all(|key| bounded.contains(&key.as_str()) || key.starts_with("wake:") || key.starts_with("queue:")),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_follower_outlives_its_connection_and_misses_nothing() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (following, _) = connect(&proxy.url()).await;
    let (operator, _) = connect(&server.url()).await;
    let cancel_one = async || {
        let id = operator.enqueue(a_note()).await.expect("enqueued").id();
        operator.cancel(id).await.expect("cancelled");
        id.to_string()
    };
    let mut follow = following.follow(None).await.expect("the log");
    let heard = cancel_one().await;
    let entry = within("heard", follow.next()).await.expect("going on");
    assert_eq!(entry.record.job, heard);
    proxy.set(Fault::Refuse);
    proxy.reset();
    let missed = [cancel_one().await, cancel_one().await];
    proxy.set(Fault::None);
    for missed in missed {
        let entry = within("what it missed", follow.next()).await.expect("going on");
        assert_eq!(entry.record.job, missed);
    }
}

#[tokio::test]
async fn a_follower_that_is_dropped_closes_its_connection() {
    let server = RedisServer::start();
    let (client, _) = connect(&server.url()).await;
    let blocked = || {
        let list = server.command(&["CLIENT", "LIST"]).expect("our own server");
        list.lines().filter(|line| line.contains("cmd=xread")).count()
    };
    let follow = client.follow(Some(0)).await.expect("the log");
    let reaches = async |count: usize| {
        while blocked() != count {
            tokio::task::yield_now().await;
        }
    };
    within("it blocks", reaches(1)).await;
    drop(follow);
    within("its connection is closed", reaches(0)).await;
}
