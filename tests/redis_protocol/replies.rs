//! Replies that are lost, of every script: what was done is done once, and the same answer comes.

use crate::draft::{job, key, secs};
use crate::support::{Fault, Proxy, RedisServer};
use crate::worker::{LAPSE, Worker, wants};
use crate::{named, open, put, run};
use linchpin::names::{ProcessId, ScheduleName};
use linchpin::store::Store;
use linchpin::store::effects::Riding;
use linchpin::store::lease::{AcquireAnswer, ReleaseAnswer, Renewed};
use linchpin::store::new_job::Accepted;
use linchpin::store::redis::RedisStore;
use linchpin::store::schedules::{ScheduleStep, StepAnswer};
use linchpin::store::settle::{Settle, SettleAnswer, Verdict};
use linchpin::store::view::State;
use std::sync::Arc;

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
