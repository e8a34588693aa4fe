//! The client keeps its word: what it accepts, refuses, finds again, and is told about.
#![cfg(feature = "macros")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use linchpin::client::End;
use linchpin::limits::ENQUEUE_BATCH_MAX;
use linchpin::names::{Fence, JobId, OwnerToken, ProcessId, QueueName};
use linchpin::store::Store;
use linchpin::store::memory::MemoryStore;
use linchpin::store::new_job::Priority;
use linchpin::store::settle::{AttemptRecord, Charge, Death, LockWord, Outcome, Settle, Verdict};
use linchpin::store::turn::{Claim, ClaimedJob, Suspects, Turn, TurnReply};
use linchpin::store::view::{CancelAnswer, DeleteAnswer, RetryAnswer, State};
use linchpin::{Client, Enqueued, Error, TaskResult, task};

const LEASE: Duration = Duration::from_secs(15);

#[task(lock = ["sku:{sku}", "sku:{other}", "shelf:{shelf}"])]
async fn decrement(sku: String, other: String, shelf: u32, qty: u32) -> TaskResult {
    let _ = (sku, other, shelf, qty);
    Ok(())
}

#[task(unique = "order:{order}", queue = "mail", priority = "high")]
async fn confirm(order: u64, text: String) -> TaskResult {
    let _ = (order, text);
    Ok(())
}

fn take(sku: &str, qty: u32) -> decrement {
    decrement {
        sku: sku.into(),
        other: sku.into(),
        shelf: 1,
        qty,
    }
}

fn mail(order: u64, text: &str) -> confirm {
    confirm { order, text: text.into() }
}

/// A store with a clock of its own and a worker that does what the test says.
struct Bench {
    store: Arc<MemoryStore>,
    client: Client,
    worker: ProcessId,
}

impl Bench {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::with_test_clock());
        let client = Client::on(store.clone());
        let worker = ProcessId::random();
        Self { store, client, worker }
    }

    async fn turn(&self, turn: Turn) -> TurnReply {
        self.store.turn(&self.worker, 0, turn).await.expect("the store turns")
    }

    async fn claim(&self, queue: &str) -> Option<Claim> {
        let queues = vec![QueueName::new(queue).expect("a name")];
        let (want, suspects) = (10, Suspects::None);
        self.turn(Turn {
            want,
            queues,
            suspects,
            lease: LEASE,
            ..Turn::default()
        })
        .await
        .claim
    }

    async fn settle(&self, token: &OwnerToken, job: &ClaimedJob, verdict: Verdict) {
        let header = &job.envelope.as_ref().expect("readable").header;
        let record = AttemptRecord {
            job: job.id.to_string(),
            task: "t".into(),
            number: 1,
            worker: self.worker.to_string(),
            lock_keys: String::new(),
            fence: Fence(1),
            lock: LockWord::None,
            waited_ms: 0,
            ran_ms: 0,
            outcome: Outcome::Done,
            error: String::new(),
            nested: Vec::new(),
            nested_omitted: 0,
        };
        let settle = Settle {
            id: job.id,
            token: token.clone(),
            locks: header.locks.clone(),
            keep: None,
            nested: vec![],
            unique: header.unique.clone(),
            riding: None,
            verdict,
            record,
        };
        self.turn(Turn {
            settles: vec![settle],
            lease: LEASE,
            ..Turn::default()
        })
        .await;
    }

    async fn finish(&self, queue: &str, verdict: Verdict) {
        let claim = self.claim(queue).await.expect("a job is ready");
        for job in &claim.jobs {
            self.settle(&claim.token, job, verdict.clone()).await;
        }
    }

    async fn state(&self, id: JobId) -> Option<State> {
        self.client.job(id).await.expect("the store answers").map(|view| view.state)
    }
}

fn bury() -> Verdict {
    Verdict::Bury {
        reason: "no".into(),
        death: Death::Discarded,
        charge: Charge::None,
    }
}

#[tokio::test]
async fn a_job_carries_its_tasks_options_and_its_locks_sorted_once() {
    let bench = Bench::new();
    let id = bench.client.enqueue(take("A1", 2)).await.unwrap().id();
    let view = bench.client.job(id).await.unwrap().expect("it is there");
    let envelope = view.envelope.expect("readable");
    assert_eq!(
        envelope.header.locks.iter().map(|key| key.as_str()).collect::<Vec<_>>(),
        ["shelf:1", "sku:A1"]
    );
    assert_eq!(envelope.header.queue.as_str(), "default");
    assert_eq!(envelope.body.args, r#"{"sku":"A1","other":"A1","shelf":1,"qty":2}"#);
    assert_eq!(envelope.body.task.as_str(), "decrement");
    assert_eq!(view.state, State::Ready);
}

#[tokio::test]
async fn a_jobs_own_options_come_before_its_tasks() {
    let bench = Bench::new();
    let enqueue = bench.client.enqueue(mail(1, "hi")).queue("slow").priority(Priority::Low).retries(3);
    let id = enqueue
        .timeout(Duration::from_secs(5))
        .delay(Duration::from_secs(60))
        .await
        .unwrap()
        .id();
    let view = bench.client.job(id).await.unwrap().expect("it is there");
    let envelope = view.envelope.expect("readable");
    assert_eq!((envelope.header.queue.as_str(), envelope.header.priority), ("slow", Priority::Low));
    assert_eq!(
        (envelope.body.retries, envelope.body.timeout),
        (Some(3), Some(Duration::from_secs(5)))
    );
    assert_eq!(
        view.state,
        State::Scheduled {
            due_in: Duration::from_secs(60)
        }
    );
}

#[tokio::test]
async fn an_instant_that_has_passed_is_now() {
    let bench = Bench::new();
    for at in [
        SystemTime::UNIX_EPOCH,
        SystemTime::now() - Duration::from_secs(5),
        SystemTime::UNIX_EPOCH - Duration::from_secs(5),
    ] {
        let id = bench.client.enqueue(take("A1", 2)).at(at).await.unwrap().id();
        assert_eq!(bench.state(id).await, Some(State::Ready));
    }
}

#[tokio::test]
async fn a_unique_key_answers_existing_conflict_and_is_free_again_after_the_end() {
    let bench = Bench::new();
    let first = bench.client.enqueue(mail(1, "hi")).await.unwrap();
    assert!(first.is_new());
    assert_eq!(bench.client.enqueue(mail(1, "hi")).await.unwrap(), Enqueued::Existing(first.id()));
    let conflict = bench.client.enqueue(mail(1, "ho")).await.unwrap_err();
    assert!(
        matches!(&conflict, Error::Conflict { key, holder } if key.as_str() == "order:1" && *holder == first.id()),
        "{conflict}"
    );
    assert_eq!(bench.client.job_by_key("order:1").await.unwrap().expect("held").id, first.id());
    assert!(
        bench.client.enqueue(mail(1, "ho")).unique("other").await.unwrap().is_new(),
        "a key of its own"
    );
    bench.finish("mail", Verdict::Done).await;
    assert!(bench.client.job_by_key("order:1").await.unwrap().is_none());
    assert!(bench.client.enqueue(mail(1, "ho")).await.unwrap().is_new());
}

#[tokio::test]
async fn a_unique_key_kept_for_a_time_outlives_its_job() {
    let bench = Bench::new();
    let first = bench
        .client
        .enqueue(mail(1, "hi"))
        .unique_for(Duration::from_secs(100))
        .await
        .unwrap();
    bench.finish("mail", Verdict::Done).await;
    assert_eq!(bench.client.enqueue(mail(1, "hi")).await.unwrap(), Enqueued::Existing(first.id()));
    bench.store.advance(Duration::from_secs(101)).await.unwrap();
    assert!(bench.client.enqueue(mail(1, "hi")).await.unwrap().is_new());
}

#[tokio::test]
async fn many_jobs_are_answered_in_order_and_a_bad_one_is_refused_alone() {
    let bench = Bench::new();
    let held = bench.client.enqueue(mail(7, "hi")).await.unwrap().id();
    let count = ENQUEUE_BATCH_MAX as u64 * 2 + 10;
    let jobs = (0..count).map(|i| match i {
        500 => bench.client.enqueue(mail(7, "other")),
        1500 => bench.client.enqueue(mail(1500, &"x".repeat(70_000))),
        1600 => bench.client.enqueue(mail(7, "hi")),
        _ => bench.client.enqueue(mail(i + 1_000_000, "hi")),
    });
    let answers = bench.client.enqueue_many(jobs).await.unwrap();
    assert_eq!(answers.len() as u64, count);
    for (i, answer) in answers.iter().enumerate() {
        match i {
            500 => assert!(matches!(answer, Err(Error::Conflict { holder, .. }) if *holder == held)),
            1500 => assert!(matches!(answer, Err(Error::Invalid(problems)) if problems[0].what == "payload")),
            1600 => assert!(matches!(answer, Ok(Enqueued::Existing(id)) if *id == held)),
            _ => assert!(matches!(answer, Ok(Enqueued::New(_))), "{i}: {answer:?}"),
        }
    }
    assert_eq!(bench.client.census().await.unwrap().pending(), count - 3 + 1);
    assert!(bench.client.enqueue_many(Vec::<decrement>::new()).await.unwrap().is_empty());
}

#[tokio::test]
async fn cancel_delete_and_retry_answer_in_every_state() {
    let bench = Bench::new();
    let client = &bench.client;
    let ready = client.enqueue(take("A1", 1)).await.unwrap().id();
    assert_eq!(client.retry(ready).await.unwrap(), RetryAnswer::NotNeeded);
    assert_eq!(client.cancel(ready).await.unwrap(), CancelAnswer::Cancelled);
    assert!(matches!(
        bench.state(ready).await,
        Some(State::Dead {
            death: Death::Cancelled,
            ..
        })
    ));
    assert_eq!(client.cancel(ready).await.unwrap(), CancelAnswer::TooLate);
    assert_eq!(client.retry(ready).await.unwrap(), RetryAnswer::Ready);
    let claim = bench.claim("default").await.expect("ready again");
    assert_eq!(client.cancel(ready).await.unwrap(), CancelAnswer::Requested);
    assert_eq!(client.delete(ready).await.unwrap(), DeleteAnswer::Requested);
    bench.settle(&claim.token, &claim.jobs[0], Verdict::Return).await;
    assert_eq!(bench.state(ready).await, None);
    assert_eq!(client.delete(ready).await.unwrap(), DeleteAnswer::TooLate);
    assert_eq!(client.retry(ready).await.unwrap(), RetryAnswer::TooLate);
}

#[tokio::test]
async fn a_paused_queue_is_not_claimed_from_until_it_is_resumed() {
    let bench = Bench::new();
    bench.client.enqueue(mail(1, "hi")).await.unwrap();
    bench.client.pause("mail").await.unwrap();
    assert!(bench.claim("mail").await.is_none());
    bench.client.resume("mail").await.unwrap();
    assert!(bench.claim("mail").await.is_some());
}

#[tokio::test]
async fn every_waiter_is_told_how_its_job_ended() {
    let bench = Bench::new();
    for (verdict, end) in [(Verdict::Done, End::Done), (bury(), End::Dead(Death::Discarded))] {
        let id = bench.client.enqueue(take("A1", 1)).await.unwrap().id();
        let finish = async {
            tokio::task::yield_now().await;
            bench.finish("default", verdict).await;
        };
        let (one, two, ()) = tokio::join!(bench.client.wait(id), bench.client.wait(id), finish);
        assert_eq!((one.unwrap(), two.unwrap()), (end, end));
    }
    let id = bench.client.enqueue(take("A1", 1)).await.unwrap().id();
    let delete = async {
        tokio::task::yield_now().await;
        bench.client.delete(id).await.unwrap()
    };
    let (end, _) = tokio::join!(bench.client.wait(id), delete);
    assert_eq!(end.unwrap(), End::Deleted);
}

#[tokio::test]
async fn waiting_for_what_has_ended_answers_at_once() {
    let bench = Bench::new();
    assert_eq!(bench.client.wait(JobId::random()).await.unwrap(), End::Gone);
    let id = bench.client.enqueue(take("A1", 1)).await.unwrap().id();
    bench.client.cancel(id).await.unwrap();
    assert_eq!(bench.client.wait(id).await.unwrap(), End::Dead(Death::Cancelled));
}

#[tokio::test]
async fn a_dropped_wait_leaves_nothing_and_disturbs_no_other() {
    let bench = Bench::new();
    let id = bench.client.enqueue(take("A1", 1)).await.unwrap().id();
    for _ in 0..100 {
        let dropped = tokio::time::timeout(Duration::ZERO, bench.client.wait(id)).await;
        assert!(dropped.is_err());
    }
    let finish = async {
        // The listener takes back the registrations of those that have left while this one is in.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        bench.finish("default", Verdict::Done).await;
    };
    let (end, ()) = tokio::join!(bench.client.wait(id), finish);
    assert_eq!(end.unwrap(), End::Done);
}

#[tokio::test]
async fn a_closed_client_has_taken_its_registrations_back() {
    let bench = Bench::new();
    let id = bench.client.enqueue(take("A1", 1)).await.unwrap().id();
    let waiting = tokio::spawn({
        let client = bench.client.clone();
        async move { client.wait(id).await }
    });
    let watched = async {
        while !bench.store.keys().await.unwrap().iter().any(|(key, _)| key == "watched") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), watched).await.expect("registered");
    bench.client.close().await.unwrap();
    assert!(matches!(waiting.await.unwrap(), Err(Error::Unreachable { .. })));
    assert!(!bench.store.keys().await.unwrap().iter().any(|(key, _)| key == "watched"));
}
