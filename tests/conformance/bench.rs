//! What a test holds: an engine, its store, and every job it made.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linchpin::names::{JobId, ProcessId, QueueName};
use linchpin::store::Store;
use linchpin::store::new_job::Accepted;
use linchpin::store::settle::{Death, Outcome};
use linchpin::store::turn::{Suspects, Turn};
use linchpin::store::view::{JobView, State};

use super::draft::{Draft, secs};
use super::engine::Engine;
use super::worker::{LEASE, Worker};
use crate::support::may_stay;

pub struct Bench {
    pub store: Arc<dyn Store>,
    pub engine: Arc<dyn Engine>,
    pub producer: ProcessId,
    made: Mutex<Vec<(JobId, QueueName)>>,
}

impl Deref for Bench {
    type Target = dyn Store;
    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl Bench {
    pub fn on(engine: Arc<dyn Engine>) -> Self {
        Self {
            store: engine.store(),
            engine,
            producer: ProcessId::random(),
            made: Mutex::default(),
        }
    }

    pub fn worker(&self) -> Worker {
        Worker::new(self.store.clone())
    }

    /// Enqueues a batch and answers for each.
    pub async fn offer(&self, drafts: &[&Draft]) -> Vec<Accepted> {
        let made = drafts.iter().map(|draft| (draft.id(), draft.0.header.queue.clone()));
        self.made.lock().expect("no panic").extend(made);
        let jobs = drafts.iter().map(|draft| draft.0.clone()).collect();
        self.store.enqueue(&self.producer, jobs).await.expect("an enqueue")
    }

    /// Notes a job that came in by another way than [`Bench::offer`].
    pub fn remember(&self, draft: &Draft) {
        let made = (draft.id(), draft.0.header.queue.clone());
        self.made.lock().expect("no panic").push(made);
    }

    /// Enqueues what must be new.
    pub async fn put(&self, draft: Draft) -> JobId {
        assert_eq!(self.offer(&[&draft]).await, [Accepted::New]);
        draft.id()
    }

    pub async fn view(&self, id: JobId) -> Option<JobView> {
        self.store.job(id).await.expect("a read")
    }

    /// The job's state in a word: `gone`, `ready`, `scheduled`, `active`, `parked:<key>`, `dead:<kind>`.
    pub async fn state(&self, id: JobId) -> String {
        match self.view(id).await.map(|view| view.state) {
            None => "gone".into(),
            Some(State::Ready) => "ready".into(),
            Some(State::Scheduled { .. }) => "scheduled".into(),
            Some(State::Active { .. }) => "active".into(),
            Some(State::Parked { behind, .. }) => format!("parked:{behind}"),
            Some(State::Dead { death, .. }) => format!("dead:{}", death_word(death)),
        }
    }

    pub async fn later(&self, by: Duration) {
        self.store.advance(by).await.expect("a test clock");
    }

    /// The outcomes logged for a job, oldest first.
    pub async fn outcomes(&self, id: JobId) -> Vec<Outcome> {
        let entries = self.store.attempts(0, 100_000).await.expect("a read");
        entries
            .iter()
            .filter(|entry| entry.record.job == id.to_string())
            .map(|entry| entry.record.outcome)
            .collect()
    }

    pub async fn key_names(&self) -> Vec<String> {
        self.store.keys().await.expect("a read").into_iter().map(|(name, _)| name).collect()
    }

    /// The keys that are none of the documented bounded ones.
    pub async fn unbounded_keys(&self) -> Vec<String> {
        self.key_names().await.into_iter().filter(|name| !may_stay(name)).collect()
    }

    /// Ends every job of the test as an operator would, lets what was held lapse, and then looks for leaks.
    pub async fn nothing_is_left(&self) {
        for paused in self.store.census().await.expect("a read").paused {
            self.store.resume(&paused).await.expect("a resume");
        }
        let made = self.made.lock().expect("no panic").clone();
        for (id, _) in &made {
            self.store.delete(*id).await.expect("a delete");
        }
        let mut queues: Vec<QueueName> = made.into_iter().map(|(_, queue)| queue).collect();
        queues.sort();
        queues.dedup();
        let janitor = self.worker();
        let mut left = Vec::new();
        for _ in 0..300 {
            self.later(secs(3600)).await;
            let turn = Turn {
                want: 100,
                queues: queues.clone(),
                lease: LEASE,
                suspects: Suspects::OneAlone,
                ..Turn::default()
            };
            let (held, _) = janitor.turn(turn).await;
            assert!(held.is_empty(), "a deleted job was claimed: {held:?}");
            left = self.unbounded_keys().await;
            if left.is_empty() {
                return;
            }
        }
        panic!("left after everything was deleted: {left:?}");
    }
}

fn death_word(death: Death) -> &'static str {
    match death {
        Death::Exhausted => "exhausted",
        Death::Discarded => "discarded",
        Death::Cancelled => "cancelled",
        Death::Expired => "expired",
        Death::Crashed => "crashed",
        Death::Unfit => "unfit",
    }
}
