//! What must hold of the Redis engine under lost replies, a full server, a broken key and lost rows: one store, one server, no worker.
#![cfg(feature = "redis")]

#[path = "../conformance/draft.rs"]
#[allow(dead_code)]
mod draft;
mod replies;
mod rows;
mod server;
#[path = "../support/mod.rs"]
mod support;
#[path = "../conformance/worker.rs"]
#[allow(dead_code)]
mod worker;

use std::sync::Arc;

use linchpin::names::{JobId, Namespace, ProcessId};
use linchpin::store::Store;
use linchpin::store::new_job::Accepted;
use linchpin::store::redis::RedisStore;
use support::RedisServer;

const NS: &str = "protocol";

async fn open(url: &str) -> Arc<RedisStore> {
    let namespace = Namespace::new(NS).expect("a name");
    Arc::new(RedisStore::connect_with_test_clock(url, &namespace).await.expect("our own server"))
}

async fn put(store: &RedisStore, producer: &ProcessId, draft: draft::Draft) -> JobId {
    let id = draft.id();
    assert_eq!(store.enqueue(producer, vec![draft.0]).await.expect("an enqueue"), [Accepted::New]);
    id
}

async fn run<T: redis::FromRedisValue>(server: &RedisServer, words: &[&str]) -> T {
    let mut connection = server.connection().await;
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command.query_async(&mut connection).await.expect("a command of the test")
}

fn named(name: &str) -> String {
    format!("{{{NS}}}:{name}")
}
