//! The Redis engine under the suite: a server of each test's own, and what a test does to its keys behind its back.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use linchpin::names::{JobId, LockKey, Namespace};
use linchpin::store::Store;
use linchpin::store::redis::RedisStore;

use super::engine::Engine;
use crate::support::RedisServer;

/// An engine with a namespace of its own on a server.
pub async fn redis_on(server: Arc<RedisServer>, namespace: &str) -> Arc<dyn Engine> {
    let name = Namespace::new(namespace).expect("a name");
    let store = RedisStore::connect_with_test_clock(&server.url(), &name)
        .await
        .expect("our own server");
    Arc::new(Redis {
        connection: server.connection().await,
        _server: server,
        namespace: namespace.into(),
        store: Arc::new(store),
    })
}

/// Reads every list of a namespace, and whose turn it is: name, entry, name, entry.
const LISTS: &str = "
local out={}
for _,kind in ipairs({'queue:','parked:'}) do
  for _,key in ipairs(redis.call('KEYS',ARGV[1]..kind..'*')) do
    for _,entry in ipairs(redis.call('LRANGE',key,0,-1)) do
      out[#out+1]=string.sub(key,#ARGV[1]+1)
      out[#out+1]=entry
    end
  end
end
local next=redis.call('HGETALL',ARGV[1]..'next')
for i=1,#next,2 do
  out[#out+1]='next:'..next[i]
  out[#out+1]=string.match(next[i+1],'^%d+|%d+|(.*)$')
end
return out";

/// Takes a job's entries off every list of a namespace.
const LOSE_ENTRIES: &str = "
for _,kind in ipairs({'queue:','parked:'}) do
  for _,key in ipairs(redis.call('KEYS',ARGV[1]..kind..'*')) do
    for _,entry in ipairs(redis.call('LRANGE',key,0,-1)) do
      if string.find(entry,ARGV[2],1,true) then redis.call('LREM',key,0,entry) end
    end
  end
end";

struct Redis {
    /// Ends with the engine.
    _server: Arc<RedisServer>,
    connection: redis::aio::MultiplexedConnection,
    namespace: String,
    store: Arc<RedisStore>,
}

impl Redis {
    fn key(&self, name: &str) -> String {
        format!("{{{}}}:{name}", self.namespace)
    }

    async fn command(&self, words: &[&str]) -> redis::Value {
        let mut connection = self.connection.clone();
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
        // As if its time had passed: that is when the look comes for it.
        self.command(&["ZADD", &self.key("lock_checks"), "XX", "0", &key.wire()]).await;
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

    async fn lose_entries(&self, id: JobId) {
        self.command(&["EVAL", LOSE_ENTRIES, "0", &self.key(""), &id.to_string()]).await;
    }

    async fn lists(&self) -> BTreeMap<String, Vec<JobId>> {
        let prefix = self.key("");
        let flat = redis::from_redis_value(self.command(&["EVAL", LISTS, "0", &prefix]).await);
        let flat: Vec<(String, String)> = flat.expect("pairs of text");
        let mut lists = BTreeMap::<String, Vec<JobId>>::new();
        for (name, entry) in flat {
            // A waiter's and a next one's has its priority and queue in front.
            let entry = match name.starts_with("queue:") {
                true => entry.as_str(),
                false => entry.split_once('|').expect("an entry behind its queue").1,
            };
            let id = entry.split('|').next().and_then(|id| id.parse().ok());
            lists.entry(name).or_default().push(id.expect("an entry begins with an id"));
        }
        lists
    }
}
