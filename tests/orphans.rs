//! Rows of Redis that belong to nothing, one kind after the other: planted by hand, as a lost write, an eviction or an operator would leave them. Each time the
//! jobs run once all the same, a late settle changes nothing, and nothing is left.
#![cfg(feature = "redis")]

#[path = "conformance/draft.rs"]
#[allow(dead_code)]
mod draft;
mod support;
#[path = "conformance/worker.rs"]
#[allow(dead_code)]
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use draft::{job, secs, strange_token};
use linchpin::limits::SWEEP;
use linchpin::names::{JobId, Namespace, ProcessId};
use linchpin::store::Store;
use linchpin::store::new_job::Accepted;
use linchpin::store::redis::RedisStore;
use linchpin::store::settle::{SettleAnswer, Verdict};
use support::{RedisServer, may_stay};
use worker::{Held, Worker, wants};

const QUEUE: &str = "queue:q:1";

/// A namespace with one job that a worker holds under lock `k`, one that waits for it, one that is ready, one that is due in an hour, and a dead one.
struct Scene {
    server: RedisServer,
    store: Arc<RedisStore>,
    before: Worker,
    held: Held,
    parked: JobId,
    ready: JobId,
    scheduled: JobId,
    dead: JobId,
}

impl Scene {
    async fn open() -> Self {
        let server = RedisServer::start();
        let namespace = Namespace::new("orphans").expect("a name");
        let store = RedisStore::connect_with_test_clock(&server.url(), &namespace).await;
        let store = Arc::new(store.expect("our own server"));
        let before = Worker::new(store.clone());
        let put = async |draft: draft::Draft| {
            let id = draft.id();
            let put = store.enqueue(&ProcessId::random(), vec![draft.0]).await;
            assert_eq!(put.expect("an enqueue"), [Accepted::New]);
            id
        };
        put(job().lock("k")).await;
        let held = before.claim_one().await;
        let parked = put(job().lock("k")).await;
        assert!(before.claim(1).await.is_empty(), "it parks");
        let dead = put(job()).await;
        store.cancel(dead).await.expect("an answer");
        let scheduled = put(job().after(secs(3600))).await;
        let ready = put(job()).await;
        Self {
            server,
            store,
            before,
            held,
            parked,
            ready,
            scheduled,
            dead,
        }
    }

    fn redis(&self, words: &[&str]) {
        let named: Vec<String> = words.iter().map(|word| word.replace('@', "{orphans}:")).collect();
        let words: Vec<&str> = named.iter().map(String::as_str).collect();
        let answer = self.server.command(&words).expect("our own server");
        assert!(
            !answer.starts_with('-') && answer != ":0\r\n",
            "{words:?} changed nothing: {answer}"
        );
    }

    fn held_id(&self) -> String {
        self.held.id.to_string()
    }

    fn token(&self) -> String {
        self.held.token.to_string()
    }

    /// A worker looks, claims and is done with all that it gets, each second; how often each job was done.
    async fn live(&self, seconds: u64, done: &mut HashMap<JobId, u32>) {
        let worker = Worker::new(self.store.clone());
        for _ in 0..seconds {
            self.store.advance(secs(1)).await.expect("a test clock");
            worker.look().await;
            for held in worker.turn(wants(10, &["q"])).await.0 {
                worker.done(&held).await;
                *done.entry(held.id).or_default() += 1;
            }
        }
    }

    /// Goes on past the lease, past a sweep, and past the hour.
    async fn go_on(&self) -> HashMap<JobId, u32> {
        let mut done = HashMap::new();
        self.live(40, &mut done).await;
        assert!(!done.contains_key(&self.scheduled), "it is not due yet");
        self.store.advance(SWEEP + secs(1)).await.expect("a test clock");
        self.live(40, &mut done).await;
        assert!(!done.contains_key(&self.scheduled), "it is not due yet");
        self.store.advance(Duration::from_secs(3600)).await.expect("a test clock");
        self.live(40, &mut done).await;
        done
    }
}

/// Plants, goes on, and looks: every job but the dead one is done once.
async fn orphan(what: &str, plant: impl FnOnce(&Scene)) {
    let scene = Scene::open().await;
    plant(&scene);
    let done = scene.go_on().await;
    for (job, id) in [
        ("held", scene.held.id),
        ("parked", scene.parked),
        ("ready", scene.ready),
        ("scheduled", scene.scheduled),
    ] {
        assert_eq!(done.get(&id), Some(&1), "{what}: the {job} job");
        assert_eq!(scene.store.job(id).await.expect("a read"), None, "{what}: the {job} job");
    }
    assert_eq!(done.len(), 4, "{what}: nothing else ran");
    let late = scene.before.settle(&scene.held, Verdict::Done).await;
    assert!(matches!(late, SettleAnswer::Lost), "{what}: {late:?}");
    let state = scene
        .store
        .job(scene.dead)
        .await
        .expect("a read")
        .map(|job| job.state.name().to_string());
    assert_eq!(state.as_deref(), Some("dead"), "{what}");

    scene.store.retry(scene.dead).await.expect("an answer");
    let mut done = HashMap::new();
    scene.live(3, &mut done).await;
    assert_eq!(done, HashMap::from([(scene.dead, 1)]), "{what}");
    // what processes leave behind is bounded by them
    scene.store.advance(Duration::from_secs(3600)).await.expect("a test clock");
    scene.live(2, &mut done).await;
    let keys = scene.store.keys().await.expect("a read").into_iter().map(|(name, _)| name);
    let left: Vec<String> = keys.filter(|name| !may_stay(name)).collect();
    assert!(left.is_empty(), "{what}: {left:?} are left");
}

#[tokio::test]
async fn of_claims() {
    orphan("an owner without a claim", |scene| {
        scene.redis(&["HDEL", "@claims", &scene.token()]);
        scene.redis(&["ZREM", "@active", &scene.token()]);
    })
    .await;
    orphan("a claim without owners", |scene| {
        scene.redis(&["HDEL", "@owners", &scene.held_id()])
    })
    .await;
    orphan("a deadline without its claim", |scene| {
        scene.redis(&["HDEL", "@claims", &scene.token()])
    })
    .await;
    orphan("a claim without its deadline", |scene| {
        scene.redis(&["ZREM", "@active", &scene.token()])
    })
    .await;
    orphan("a claim of nobody", |scene| {
        let token = strange_token();
        scene.redis(&["HSET", "@claims", token.as_str(), "17000|5|"]);
        scene.redis(&["ZADD", "@active", "5", token.as_str()]);
    })
    .await;
}

#[tokio::test]
async fn of_locks() {
    orphan("an owner without its lock", |scene| scene.redis(&["DEL", "@lock:k"])).await;
    orphan("a lock without its owner", |scene| {
        scene.redis(&["HDEL", "@owners", &scene.held_id()]);
        scene.redis(&["HDEL", "@claims", &scene.token()]);
        scene.redis(&["ZREM", "@active", &scene.token()]);
    })
    .await;
    orphan("a lock of nobody", |scene| {
        scene.redis(&["DEL", "@lock:k"]);
        scene.redis(&["HSET", "@lock:k", strange_token().as_str(), "5"]);
        scene.redis(&["PEXPIRE", "@lock:k", "18000"]);
    })
    .await;
    orphan("a turn of nobody", |scene| {
        scene.redis(&["HSET", "@next", "k2", "5|5|1q|nobody"]);
        scene.redis(&["ZADD", "@lock_checks", "5", "k2"]);
    })
    .await;
    orphan("a line without its check", |scene| scene.redis(&["DEL", "@lock_checks"])).await;
}

#[tokio::test]
async fn of_state() {
    orphan("state", |scene| scene.redis(&["DEL", "@state"])).await;
    orphan("state, owners and claims", |scene| {
        scene.redis(&["DEL", "@state", "@owners", "@claims", "@active"])
    })
    .await;
}

#[tokio::test]
async fn of_entries() {
    let entry = |id: JobId| id.to_string();
    orphan("an entry without its body", |scene| {
        scene.redis(&["LPUSH", &format!("@{QUEUE}"), &entry(JobId::random())]);
    })
    .await;
    orphan("a body without its entry", |scene| scene.redis(&["DEL", &format!("@{QUEUE}")])).await;
    orphan("a body of a parked job without its entry", |scene| {
        scene.redis(&["DEL", "@parked:k"])
    })
    .await;
    orphan("two entries of one job", |scene| {
        scene.redis(&["RPUSH", &format!("@{QUEUE}"), &entry(scene.ready), &entry(scene.ready)]);
    })
    .await;
    orphan("an entry of a job that runs", |scene| {
        scene.redis(&["LPUSH", &format!("@{QUEUE}"), &format!("{}|k", scene.held.id)]);
    })
    .await;
    orphan("an entry of a scheduled job", |scene| {
        scene.redis(&["LPUSH", &format!("@{QUEUE}"), &entry(scene.scheduled)]);
    })
    .await;
    orphan("an entry of a parked job", |scene| {
        scene.redis(&["LPUSH", &format!("@{QUEUE}"), &format!("{}|k", scene.parked)]);
    })
    .await;
    orphan("an entry of a dead job", |scene| {
        scene.redis(&["LPUSH", &format!("@{QUEUE}"), &entry(scene.dead)]);
    })
    .await;
}
