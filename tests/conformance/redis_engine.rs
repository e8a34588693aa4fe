//! The Redis engine under the suite: a server of each test's own, and what a test does to its keys behind its back.

use std::sync::Arc;

use async_trait::async_trait;
use linchpin::names::{JobId, LockKey, Namespace};
use linchpin::store::Store;
use linchpin::store::redis::RedisStore;

use super::engine::Engine;
use crate::support::RedisServer;

pub async fn redis() -> Arc<dyn Engine> {
    let server = RedisServer::start();
    let namespace = Namespace::new("conformance").expect("a name");
    let store = RedisStore::connect_with_test_clock(&server.url(), &namespace)
        .await
        .expect("our own server");
    Arc::new(Redis {
        server,
        store: Arc::new(store),
    })
}

struct Redis {
    server: RedisServer,
    store: Arc<RedisStore>,
}

impl Redis {
    async fn command(&self, words: &[&str]) -> redis::Value {
        let mut connection = self.server.connection().await;
        let mut command = redis::cmd(words[0]);
        for word in &words[1..] {
            command.arg(*word);
        }
        command.query_async(&mut connection).await.expect("a command of the test")
    }
}

#[async_trait]
impl Engine for Redis {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn spoil(&self, id: JobId) {
        self.command(&["HSET", "{conformance}:jobs", &id.to_string(), "no header at all"])
            .await;
    }

    async fn plant_foreign_lock(&self, key: &LockKey) {
        self.command(&["SET", &format!("{{conformance}}:lock:{}", key.wire()), "foreign"])
            .await;
    }

    async fn lose_lock(&self, key: &LockKey) {
        self.command(&["DEL", &format!("{{conformance}}:lock:{}", key.wire())]).await;
    }

    async fn duplicate_entry(&self, id: JobId) {
        self.command(&["RPUSH", "{conformance}:queue:q:1", &id.to_string()]).await;
    }
}
