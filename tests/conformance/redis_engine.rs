//! The Redis engine under the suite: a server of each test's own, and what a test does to its keys behind its back.

use std::sync::Arc;

use async_trait::async_trait;
use linchpin::names::{JobId, LockKey, Namespace};
use linchpin::store::Store;
use linchpin::store::redis::RedisStore;

use super::engine::Engine;
use crate::support::RedisServer;

pub async fn redis() -> Arc<dyn Engine> {
    redis_on(Arc::new(RedisServer::start()), "conformance").await
}

/// An engine with a namespace of its own on a server.
pub async fn redis_on(server: Arc<RedisServer>, namespace: &str) -> Arc<dyn Engine> {
    let name = Namespace::new(namespace).expect("a name");
    let store = RedisStore::connect_with_test_clock(&server.url(), &name)
        .await
        .expect("our own server");
    Arc::new(Redis {
        server,
        namespace: namespace.into(),
        store: Arc::new(store),
    })
}

struct Redis {
    server: Arc<RedisServer>,
    namespace: String,
    store: Arc<RedisStore>,
}

impl Redis {
    fn key(&self, name: &str) -> String {
        format!("{{{}}}:{name}", self.namespace)
    }

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
        self.command(&["HSET", &self.key("jobs"), &id.to_string(), "no header at all"])
            .await;
    }

    async fn plant_foreign_lock(&self, key: &LockKey) {
        self.command(&["SET", &self.key(&format!("lock:{}", key.wire())), "foreign"]).await;
    }

    async fn lose_lock(&self, key: &LockKey) {
        self.command(&["DEL", &self.key(&format!("lock:{}", key.wire()))]).await;
    }

    async fn duplicate_entry(&self, id: JobId) {
        let Some(view) = self.store.job(id).await.expect("a read") else {
            return;
        };
        let Ok(envelope) = view.envelope else { return };
        let header = envelope.header;
        let list = self.key(&format!("queue:{}:{}", header.queue, header.priority.digit()));
        let locks: Vec<_> = header.locks.iter().map(LockKey::wire).collect();
        let entry = match locks.is_empty() {
            true => id.to_string(),
            false => format!("{id}|{}", locks.join(",")),
        };
        self.command(&["RPUSH", &list, &entry]).await;
    }
}
