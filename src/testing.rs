//! Testing your own tasks without Redis: one job inline, a whole queue, what was enqueued, and time that you move.
//!
//! A handler stays a function, so a unit test may call it with [`Attempt::test`](crate::Attempt::test). A [`Sandbox`] is for what lies
//! around the handler: options, locks, retries, delays, follow-up jobs. It runs the real worker on the embedded store, whose clock
//! stands still until [`Sandbox::advance`].
//!
//! ```
//! use std::time::Duration;
//! use linchpin::store::settle::Outcome;
//! use linchpin::testing::Sandbox;
//! use linchpin::{Attempt, TaskResult, task};
//!
//! #[task(lock = "inventory:{sku}", retries = 5)]
//! async fn decrement(attempt: Attempt, sku: String, qty: u32) -> TaskResult {
//!     if attempt.number() == 1 {
//!         return Err(format!("{sku}: the shelf is jammed").into());
//!     }
//!     let _ = qty;
//!     Ok(())
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), linchpin::Error> {
//! let shop = Sandbox::new(|worker| worker.task::<decrement>());
//! shop.client().enqueue(decrement { sku: "A1".into(), qty: 2 }).await?;
//! assert!(shop.has_pending(&decrement { sku: "A1".into(), qty: 2 })?);
//!
//! let first = shop.drain().await?;
//! assert_eq!((first[0].outcome, first[0].error.as_str()), (Outcome::Retry, "A1: the shelf is jammed"));
//! assert!(shop.drain().await?.is_empty(), "it waits for its retry");
//!
//! shop.advance(Duration::from_secs(60)).await?;
//! assert_eq!(shop.drain().await?[0].outcome, Outcome::Done);
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::client::digest::digest;
use crate::client::{Client, Request};
use crate::error::{Error, Invalid};
use crate::job::Job;
use crate::names::JobId;
use crate::store::Store;
use crate::store::memory::MemoryStore;
use crate::store::settle::AttemptRecord;
use crate::store::turn::Envelope;
use crate::worker::{Worker, WorkerBuilder};

/// How often a sandbox looks whether its worker has come to rest.
const GLANCE: Duration = Duration::from_millis(1);
/// Attempts after which [`Sandbox::drain`] gives up: a job that enqueues itself would go on for ever.
const ATTEMPTS_MAX: u64 = 10_000;

/// An embedded store with a clock of its own, and the worker that runs your tasks on it.
pub struct Sandbox {
    client: Client,
    store: Arc<MemoryStore>,
    tasks: Box<dyn Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync>,
}

impl Sandbox {
    /// Makes an empty one. `tasks` adds tasks and data to each worker that the sandbox starts; which queues it serves is the sandbox's.
    pub fn new(tasks: impl Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync + 'static) -> Self {
        let store = Arc::new(MemoryStore::with_test_clock());
        Self {
            client: Client::on(store.clone()),
            store,
            tasks: Box::new(tasks),
        }
    }

    /// The client to enqueue with; hand clones of it to the code under test.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Moves the store's clock: what is due by then is run by the next [`Sandbox::drain`]. Timeouts of handlers run on the real clock.
    ///
    /// # Errors
    /// None that a caller could cause.
    pub async fn advance(&self, by: Duration) -> Result<(), Error> {
        self.store.advance(by).await?;
        self.store.look_again();
        Ok(())
    }

    /// Runs every job that is ready, in whatever queue, and those that they enqueue, until nothing is ready. Answers the attempts that
    /// were made, oldest first. Scheduled jobs (retries among them) and jobs parked behind a lock held by the test are left.
    ///
    /// # Errors
    /// What [`WorkerBuilder::build`] finds wrong; [`Error::Invalid`] when more than 10,000 attempts are made.
    pub async fn drain(&self) -> Result<Vec<AttemptRecord>, Error> {
        let begun = self.store.attempts_made();
        let made = || self.store.attempts_made() - begun;
        loop {
            let queues = self.store.busy_queues();
            if queues.is_empty() {
                return self.attempts_after(begun).await;
            }
            // jobs of further queues are for the next worker
            self.work(queues.clone(), || {
                self.store.busy_queues().is_disjoint(&queues) || made() > ATTEMPTS_MAX
            })
            .await?;
            if made() > ATTEMPTS_MAX {
                let allowed = format!("at most {ATTEMPTS_MAX} attempts in one drain: does a job enqueue itself?");
                return Err(Invalid::new("sandbox", made(), allowed).into());
            }
        }
    }

    /// Enqueues one job and runs its first attempt, while other jobs stay where they are. Answers that attempt; `None` when it was not
    /// made: the job is delayed, or parked behind a lock that somebody holds.
    ///
    /// # Errors
    /// As [`Client::enqueue`] and [`Sandbox::drain`].
    pub async fn run(&self, job: impl Into<Request>) -> Result<Option<AttemptRecord>, Error> {
        let begun = self.store.attempts_made();
        let id = self.client.enqueue_to(job.into(), APART).await?.id();
        let tried = || self.store.attempts_made() > begun || !self.store.is_runnable(id);
        self.work([APART.to_owned()].into(), tried).await?;
        let id = id.to_string();
        Ok(self.attempts_after(begun).await?.into_iter().find(|attempt| attempt.job == id))
    }

    /// The jobs of one kind that have not ended: ready, scheduled or parked, in the order of their ids.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a job of this name whose arguments are no `J`.
    pub fn pending<J: Job + DeserializeOwned>(&self) -> Result<Vec<J>, Error> {
        let read = |(id, envelope): (JobId, Envelope)| {
            serde_json::from_slice(&envelope.body.args)
                .map_err(|error| Invalid::new("arguments", id, format!("those of a `{}` ({error})", J::SPEC.name)).into())
        };
        self.envelopes(J::SPEC.name).map(read).collect()
    }

    /// Whether a job with exactly these arguments has been enqueued and has not ended. The order of keys in maps does not count.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `job` cannot be written as JSON.
    pub fn has_pending<J: Job>(&self, job: &J) -> Result<bool, Error> {
        let name = J::SPEC.name;
        let args = serde_json::to_vec(job).map_err(|error| Invalid::new("arguments", name, format!("what JSON can hold ({error})")))?;
        let wanted = digest(name, &args);
        Ok(self
            .envelopes(name)
            .any(|(_, envelope)| digest(name, &envelope.body.args) == wanted))
    }

    fn envelopes(&self, task: &'static str) -> impl Iterator<Item = (JobId, Envelope)> {
        let pending = self.store.pending_envelopes().into_iter();
        pending.filter(move |(_, envelope)| envelope.body.task.as_str() == task)
    }

    /// Runs a worker of `queues` until `ended`; what is active then is waited for.
    async fn work(&self, queues: BTreeSet<String>, ended: impl Fn() -> bool) -> Result<(), Error> {
        let worker = (self.tasks)(Worker::builder(&self.client)).only_queues(queues).build()?;
        worker
            .run(async {
                while !ended() {
                    tokio::time::sleep(GLANCE).await;
                }
            })
            .await?;
        Ok(())
    }

    async fn attempts_after(&self, number: u64) -> Result<Vec<AttemptRecord>, Error> {
        let entries = self.store.attempts(number, usize::MAX).await?;
        Ok(entries.into_iter().map(|entry| entry.record).collect())
    }
}

/// The queue of [`Sandbox::run`]; no job of the user's is in it.
pub(crate) const APART: &str = "sandbox.run";

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sandbox")
    }
}
