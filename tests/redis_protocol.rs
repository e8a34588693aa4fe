//! What must hold of the Redis engine under lost replies, a full server, a broken key and lost rows: one store, one server, no worker.
#![cfg(feature = "redis")]

#[path = "conformance/draft.rs"]
#[allow(dead_code)]
mod draft;
mod support;
#[path = "conformance/worker.rs"]
#[allow(dead_code)]
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use draft::{job, job_in, key, secs};
use linchpin::Error;
use linchpin::limits::PROMOTE_MAX;
use linchpin::names::{Fence, JobId, LockKey, Namespace, ProcessId, ScheduleName};
use linchpin::store::Store;
use linchpin::store::effects::Riding;
use linchpin::store::lease::{AcquireAnswer, ReleaseAnswer, Renewed};
use linchpin::store::new_job::Accepted;
use linchpin::store::redis::RedisStore;
use linchpin::store::schedules::{ScheduleStep, StepAnswer};
use linchpin::store::settle::{Settle, SettleAnswer, Verdict};
use linchpin::store::view::State;
use support::{Fault, Proxy, RedisServer};
use worker::{LAPSE, Worker, retry_after, wants};

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

/// The first reply of a script is swallowed; every later one arrives.
async fn lose_one_reply(proxy: &Proxy, store: &RedisStore, script: &str) {
    let digest = store.scripts().into_iter().find(|(name, _)| *name == script).expect("a script").1;
    proxy.set(Fault::DropReplies {
        pattern: digest.into_bytes(),
        every: 2,
    });
}

#[tokio::test]
async fn a_lost_reply_of_an_enqueue_makes_no_second_job() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    let producer = ProcessId::random();
    put(&store, &producer, job()).await;
    lose_one_reply(&proxy, &store, "enqueue").await;
    for _ in 0..4 {
        put(&store, &producer, job()).await;
    }
    assert!(proxy.dropped() >= 2, "replies were lost");
    proxy.set(Fault::None);
    assert_eq!(run::<usize>(&server, &["LLEN", &named("queue:q:1")]).await, 5);
    assert_eq!(store.census().await.expect("a read").jobs, 5);
}

#[tokio::test]
async fn a_lost_reply_of_a_turn_claims_and_settles_once() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    for _ in 0..6 {
        put(&store, &producer, job().lock("k")).await;
    }
    lose_one_reply(&proxy, &store, "turn").await;
    let mut fences = Vec::new();
    for _ in 0..6 {
        let held = worker.claim(1).await;
        for one in held {
            fences.push(one.fence);
            worker.done(&one).await;
        }
    }
    for _ in fences.len()..6 {
        let one = worker.claim_one().await;
        fences.push(one.fence);
        worker.done(&one).await;
    }
    assert!(proxy.dropped() >= 3, "replies were lost");
    proxy.set(Fault::None);
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
    assert_eq!(store.census().await.expect("a read").jobs, 0);
    let records = store.attempts(0, 1000).await.expect("a read");
    assert_eq!(records.len(), 6, "each attempt once: {records:?}");
}

#[tokio::test]
async fn effects_of_a_turn_whose_reply_is_lost_happen_once() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    let sell = |least: i64| {
        let mut effects = linchpin::Effects::default();
        effects.require("stock", linchpin::Need::AtLeast(least));
        effects.decr_by("stock", 1);
        effects.rpush("sold", "1");
        Riding {
            effects: effects.list().to_vec(),
            jobs: Vec::new(),
            result: None,
            fallback: Verdict::Return,
        }
    };
    run::<String>(&server, &["SET", "stock", "100"]).await;
    lose_one_reply(&proxy, &store, "turn").await;
    let mut answers = Vec::new();
    for i in 0..12 {
        put(&store, &producer, job().lock("k")).await;
        let mut held = worker.claim(1).await;
        if held.is_empty() {
            held = worker.claim(1).await;
        }
        let least = if i % 3 == 2 { 1000 } else { 0 };
        let settle = Settle {
            riding: Some(Arc::new(sell(least))),
            ..held[0].settle(Verdict::Done)
        };
        answers.push(worker.send(settle).await);
        store.delete(held[0].id).await.expect("a delete");
    }
    assert!(proxy.dropped() >= 8, "replies were lost");
    proxy.set(Fault::None);
    for (i, answer) in answers.iter().enumerate() {
        match answer {
            SettleAnswer::Accepted => assert_ne!(i % 3, 2),
            SettleAnswer::Refused(_) => assert_eq!(i % 3, 2, "a resend is answered as the first sending was"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(run::<i64>(&server, &["GET", "stock"]).await, 92);
    assert_eq!(run::<usize>(&server, &["LLEN", "sold"]).await, 8);
    assert_eq!(store.census().await.expect("a read").jobs, 0);
}

#[tokio::test]
async fn a_lost_reply_of_acquire_and_release_counts_once() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    let token = linchpin::names::OwnerToken::new(&ProcessId::random(), 0, 1);
    lose_one_reply(&proxy, &store, "acquire").await;
    let first = store.acquire(&key("k"), &token, secs(15)).await.expect("an acquire");
    let again = store.acquire(&key("k"), &token, secs(15)).await.expect("an acquire");
    let fence = |answer: &AcquireAnswer| match answer {
        AcquireAnswer::Acquired { fence, .. } => *fence,
        AcquireAnswer::Busy => panic!("it was free"),
    };
    assert_eq!(fence(&first), fence(&again));
    lose_one_reply(&proxy, &store, "release").await;
    let released = store.release(&key("k"), &token).await.expect("a release");
    assert!(proxy.dropped() >= 1);
    assert!(matches!(released, ReleaseAnswer::Released | ReleaseAnswer::NotHeld));
    assert_eq!(run::<usize>(&server, &["EXISTS", &named("lock:k")]).await, 0);
}

#[tokio::test]
async fn every_script_survives_a_lost_reply() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    let scripts: Vec<String> = store.scripts().into_iter().map(|(name, _)| name.to_owned()).collect();
    for script in scripts {
        lose_one_reply(&proxy, &store, &script).await;
        let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
        let a = put(&store, &producer, job().lock("k")).await;
        let b = put(&store, &producer, job().lock("k")).await;
        let c = put(&store, &producer, job()).await;
        let mut held = worker.claim(1).await;
        if held.is_empty() {
            held = worker.claim(1).await; // the first only met the entry of the deleted job
        }
        assert_eq!(
            held.iter().map(|one| one.id).collect::<Vec<_>>(),
            [a],
            "after a lost reply of {script}"
        );
        let held = held.remove(0);
        let _ = worker.renew(&[&held]).await_ok().await;
        store.cancel(c).await.expect("a cancel");
        store.retry(c).await.expect("a retry");
        store.delete(c).await.expect("a delete");
        worker.done(&held).await;
        let held = worker.claim(2).await;
        assert_eq!(
            held.iter().map(|one| one.id).collect::<Vec<_>>(),
            [b],
            "after a lost reply of {script}"
        );
        worker.done(&held[0]).await;
        assert_eq!(store.census().await.expect("a read").jobs, 0, "after a lost reply of {script}");
        proxy.set(Fault::None);
    }
}

#[tokio::test]
async fn a_step_of_a_schedule_whose_reply_is_lost_is_done_once() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    lose_one_reply(&proxy, &store, "step").await;
    for n in 0..4 {
        let draft = job();
        let step = ScheduleStep {
            name: ScheduleName::new(format!("s{n}")).expect("a name"),
            expected: None,
            new: Some(format!("{}row", draft.id())),
            from: None,
            before: None,
            previous_lives: None,
            tell: true,
            jobs: vec![draft.0.clone()],
        };
        let stepped = store.step_schedule(step.clone()).await.expect("an answer");
        assert_eq!(stepped.answer, StepAnswer::Done(vec![Accepted::New]), "step {n}");
        let late = job();
        let other = ScheduleStep {
            new: Some(format!("{}row", late.id())),
            jobs: vec![late.0],
            ..step
        };
        let answer = store.step_schedule(other).await.expect("an answer").answer;
        assert!(matches!(answer, StepAnswer::Lost(Some(_))), "step {n}: {answer:?}");
    }
    proxy.set(Fault::None);
    let read = store.schedules().await.expect("a read");
    assert_eq!(
        (store.census().await.expect("a read").jobs, read.version, read.rows.len()),
        (4, 4, 4)
    );
}

/// A renewal whose reply is lost is the watchdog's to repeat: only here it may fail.
trait AwaitOk: Future {
    fn await_ok(self) -> impl Future<Output = bool>;
}

impl<F: Future<Output = Vec<Renewed>>> AwaitOk for F {
    async fn await_ok(self) -> bool {
        use futures::FutureExt;
        std::panic::AssertUnwindSafe(self).catch_unwind().await.is_ok()
    }
}

#[tokio::test]
async fn a_resend_whose_lane_is_gone_lapses_and_its_settles_ride_again() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = open(&proxy.url()).await;
    let (producer, worker) = (ProcessId::random(), Worker::new(store.clone()));
    let id = put(&store, &producer, job()).await;
    let held = worker.claim_one().await;
    let digest = store.scripts().into_iter().find(|(name, _)| *name == "turn").expect("a script").1;
    proxy.set(Fault::DropReplies {
        pattern: digest.into_bytes(),
        every: 1,
    });
    let settling = tokio::spawn({
        let (store, worker, held) = (store.clone(), worker.id.clone(), held.clone());
        async move {
            let settle = linchpin::store::turn::Turn {
                settles: vec![held.settle(linchpin::store::settle::Verdict::Done)],
                ..wants(0, &["q"])
            };
            store.turn(&worker, 0, settle).await.expect("a turn")
        }
    });
    proxy.wait_dropped(1).await;
    let fields: Vec<String> = run(&server, &["HKEYS", &named("state")]).await;
    let lane = fields.iter().find(|field| field.starts_with("l:")).expect("a lane").clone();
    let _: usize = run(&server, &["HDEL", &named("state"), &lane]).await;
    proxy.set(Fault::None);
    // it was applied; the new lane carries it again, and "lost" means dealt with
    assert_eq!(settling.await.expect("no panic").settled, [SettleAnswer::Lost]);
    assert!(store.job(id).await.expect("a read").is_none());
}

#[tokio::test]
async fn a_claim_whose_reply_is_lost_for_good_runs_again_after_its_lease() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (through, store) = (open(&proxy.url()).await, open(&server.url()).await);
    Worker::new(store.clone()).claim(1).await; // the server knows the script
    let id = put(&store, &ProcessId::random(), job().lock("k")).await;
    let digest = store.scripts().into_iter().find(|(name, _)| *name == "turn").expect("a script").1;
    proxy.set(Fault::DropReplies {
        pattern: digest.into_bytes(),
        every: 1,
    });
    let dying = Worker::new(through.clone());
    let claiming = tokio::spawn(async move { dying.claim(1).await });
    proxy.wait_dropped(1).await;
    claiming.abort();
    let _ = claiming.await;
    let other = Worker::new(store.clone());
    assert!(matches!(
        store.job(id).await.expect("a read").expect("kept").state,
        State::Active { .. }
    ));
    assert!(other.claim(1).await.is_empty(), "its lease stands");
    store.advance(LAPSE).await.expect("a test clock");
    let held = other.claim_suspects(1, linchpin::store::turn::Suspects::One).await.0;
    assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), [id]);
    other.done(&held[0]).await;
}

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
