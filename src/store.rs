//! The one seam between Linchpin and where its jobs live: the transitions of the state table and the read model.
//!
//! Two engines implement it and are held equal by `tests/conformance.rs`: `redis`, and `memory`, which is also the
//! reference model. ARCHITECTURE.md has the state table that both follow.

pub mod circumstances;
pub mod effects;
pub mod lease;
pub mod memory;
pub mod new_job;
pub mod page;
#[cfg(feature = "redis")]
pub mod redis;
pub mod schedules;
pub mod settle;
pub mod turn;
pub mod view;

use std::time::Duration;

use async_trait::async_trait;

use crate::error::Error;
use crate::names::{JobId, LockKey, OwnerToken, ProcessId, QueueName, UniqueKey};
use circumstances::{Circumstances, LockLine, LockPage, QueueView, WorkerView};
use effects::{Applied, Effect, Value};
use lease::{AcquireAnswer, BreakAnswer, HoldRenewal, HoldsRenewed, ParkAnswer, ReleaseAnswer, Renewal, RenewalAnswer};
use new_job::{Accepted, NewJob};
use page::{Cursor, JobFilter, JobPage};
use schedules::{ScheduleRows, ScheduleStep, Stepped};
use settle::{Settle, SettleAnswer};
use turn::{Turn, TurnReply};
use view::{AttemptEntry, Beat, CancelAnswer, Census, DeleteAnswer, JobView, Push, Replaced, RetryAnswer, WatchAnswer, WorkerCard};

/// Where jobs live. Every method is one transition or one read; each is atomic.
///
/// Unless said otherwise a method returns [`Error::Unreachable`] when it certainly was not done, and resends by itself
/// (recognised by the other side) while the outcome of what it sent is unknown.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Names the store for people, without secrets, for example `redis://localhost:6379/0`.
    fn describe(&self) -> String;

    /// Names the namespace in which its jobs and locks are; `memory` for an embedded store.
    fn namespace(&self) -> &str;

    // ---- producers -------------------------------------------------------------------------------------------------

    /// Enqueues a batch of at most [`ENQUEUE_BATCH_MAX`](crate::limits::ENQUEUE_BATCH_MAX) jobs, each whole or not at all,
    /// in one round trip. Answers for each in order; a conflict refuses that job alone. A resend never makes a second job.
    ///
    /// # Errors
    /// [`Error::Unknown`] when no answer came within the resend deadline; [`Error::Refused`] when the server is full.
    async fn enqueue(&self, process: &ProcessId, jobs: Vec<NewJob>) -> Result<Vec<Accepted>, Error>;

    /// What is known about a job; `None` when nothing is kept of it (or it never was).
    async fn job(&self, id: JobId) -> Result<Option<JobView>, Error>;

    /// The job that holds a unique key.
    async fn unique_holder(&self, key: &UniqueKey) -> Result<Option<JobId>, Error>;

    /// Cancels: a job that is not active is buried as cancelled at once; an active one is asked to stop.
    async fn cancel(&self, id: JobId) -> Result<CancelAnswer, Error>;

    /// Removes: a job that is not active is gone at once; an active one is asked to stop and removed at its settle.
    async fn delete(&self, id: JobId) -> Result<DeleteAnswer, Error>;

    /// Makes a scheduled or dead job ready at once (charged attempts of a dead one start again at 0).
    async fn retry(&self, id: JobId) -> Result<RetryAnswer, Error>;

    /// Registers `process` to be told when a job has ended ([`Push::Ended`]), unless it has.
    async fn watch(&self, id: JobId, process: &ProcessId) -> Result<WatchAnswer, Error>;

    /// Takes the registration back.
    async fn unwatch(&self, id: JobId, process: &ProcessId) -> Result<(), Error>;

    /// What is pushed to `process`, from when this returns. The stream reconnects by itself; after each reconnection it
    /// yields [`Push::Resubscribed`], since pushes may have been missed.
    async fn pushes(&self, process: &ProcessId) -> Result<tokio::sync::mpsc::Receiver<Push>, Error>;

    /// Forgets what the store kept for resends of `process`. For a clean exit.
    async fn close(&self, process: &ProcessId) -> Result<(), Error>;

    /// Applies effects that ride no settle: all of them or, where a check fails, none. Not resent.
    ///
    /// # Errors
    /// [`Error::Unknown`] when no answer came: they may have been applied.
    async fn apply(&self, effects: Vec<Effect>) -> Result<Applied, Error>;

    /// What stands under a key of the user's; at most [`VALUE_ELEMENTS_MAX`](crate::limits::VALUE_ELEMENTS_MAX) elements are read.
    async fn value(&self, key: &[u8]) -> Result<Option<Value>, Error>;

    /// Whether a key is one of Linchpin's own here, which effects may not name.
    fn is_own_key(&self, key: &[u8]) -> bool;

    /// The result that was kept of a job, as JSON; `None` when none was, or its time is over.
    async fn result(&self, id: JobId) -> Result<Option<Vec<u8>>, Error>;

    // ---- workers ---------------------------------------------------------------------------------------------------

    /// Checks that the store can be used (version, layout), writes the worker's card and its tasks' manifest; answers the lines
    /// that stood there and said something else.
    async fn register(&self, card: &WorkerCard) -> Result<Vec<Replaced>, Error>;

    /// Says that the worker lives. Rows of workers silent for 10 minutes are removed.
    async fn heartbeat(&self, card: &WorkerCard) -> Result<Beat, Error>;

    /// Removes the worker's card and lanes.
    async fn deregister(&self, worker: &ProcessId) -> Result<(), Error>;

    /// One turn: settle what ended, free its locks, look (promote, reap) when the fleet's last look is old, claim.
    /// `slot` (0 or 1) names which of the worker's two turns in flight this is; a slot carries one turn at a time.
    /// Resends until answered, reconnecting for ever; settles whose outcome stayed unknown ride again by themselves.
    ///
    /// # Errors
    /// Only what no resend mends ([`Error::Refused`], [`Error::Internal`]); then nothing of the turn was applied.
    ///
    /// # Cancel safety
    /// Not cancel safe: what was claimed lapses.
    async fn turn(&self, worker: &ProcessId, slot: usize, turn: Turn) -> Result<TurnReply, Error>;

    /// Waits until one of the queues may have something to claim, at most `patience`; answers which ones were marked
    /// (empty after `patience` or a lost connection). Whoever is told of a queue must turn, with the queue in `took`.
    ///
    /// # Cancel safety
    /// Cancelling may lose a mark; the fleet's look restores it.
    async fn wake(&self, worker: &ProcessId, queues: &[QueueName], patience: Duration) -> Result<Vec<QueueName>, Error>;

    /// Renews claims and holds, naming every attempt that runs or has yet to be settled. One attempt, no resend: the
    /// watchdog calls again. Called from the watchdog's own runtime, over a connection of its own.
    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewalAnswer>, Error>;

    /// Settles one stuck attempt from the watchdog's own connection. Conditional like any settle; may be repeated.
    async fn surrender(&self, settle: Settle) -> Result<SettleAnswer, Error>;

    // ---- locks -----------------------------------------------------------------------------------------------------

    /// Takes a free lock under `token` for `ttl`, or says that it is busy. Idempotent by token.
    async fn acquire(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) -> Result<AcquireAnswer, Error>;

    /// Releases what `token` holds of `key`, and gives the lock to the next waiter. Idempotent.
    async fn release(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error>;

    /// Lets what `token` holds of `key` end by itself after `time`, from now, for a lock that is kept for a shortest time. Idempotent.
    async fn keep(&self, key: &LockKey, token: &OwnerToken, time: Duration) -> Result<ReleaseAnswer, Error>;

    /// Takes a lock under `token` for `ttl`, confirms an offer of it, or parks the acquisition in one line with the jobs that wait;
    /// also hands the lock over if it is free. Idempotent by token. `asked` says that it may be in line already.
    async fn acquire_or_park(&self, key: &LockKey, token: &OwnerToken, ttl: Duration, asked: bool) -> Result<ParkAnswer, Error>;

    /// Takes an acquisition out of the line; what it was given meanwhile is released. Idempotent.
    async fn give_up(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error>;

    /// Renews locks held by themselves. One attempt, no resend: the watchdog calls again. Called from the watchdog's own runtime,
    /// over a connection of its own.
    async fn renew_holds(&self, holds: Vec<HoldRenewal>) -> Result<HoldsRenewed, Error>;

    /// Takes a lock from whoever holds it and gives it to the next waiter. The holder is told; what it still settles is refused.
    async fn break_lock(&self, key: &LockKey) -> Result<BreakAnswer, Error>;

    /// A page of the locks that somebody holds or waits for, by their keys: at most `limit`, behind the key `after`.
    async fn locks(&self, after: Option<&LockKey>, limit: usize) -> Result<LockPage, Error>;

    /// A lock and who waits for it, read at one instant; `None` when nobody holds it or waits for it.
    async fn lock(&self, key: &LockKey) -> Result<Option<LockLine>, Error>;

    // ---- schedules -------------------------------------------------------------------------------------------------

    /// Every schedule's row, by name.
    async fn schedules(&self) -> Result<ScheduleRows, Error>;

    /// Changes one schedule's row and accepts the jobs that come of it, if the row, the clock and the job of its latest tick are as assumed.
    /// A resend never makes a second job.
    async fn step_schedule(&self, step: ScheduleStep) -> Result<Stepped, Error>;

    // ---- operators and the read model --------------------------------------------------------------------------------

    /// Stops claims from a queue.
    async fn pause(&self, queue: &QueueName) -> Result<(), Error>;

    /// Allows claims from a queue again.
    async fn resume(&self, queue: &QueueName) -> Result<(), Error>;

    /// Counts of everything, for operators and tests.
    async fn census(&self) -> Result<Census, Error>;

    /// A page of the jobs that `filter` takes: at most `limit`, from where `after` says. Scheduled jobs come by their due time, dead ones
    /// the latest first, the ready ones of one queue in the order of claims, others in no order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a length over [`PAGE_MAX`](crate::limits::PAGE_MAX) and for a cursor of another filter.
    async fn jobs(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error>;

    /// What stands around a job, read at one instant; `None` when nothing is kept of it.
    async fn circumstances(&self, id: JobId) -> Result<Option<Circumstances>, Error>;

    /// Queues that hold ready jobs, are paused, or are served by a live worker, in order.
    async fn queues(&self) -> Result<Vec<QueueView>, Error>;

    /// Workers that spoke within the last 10 minutes, whoever spoke last first, at most
    /// [`WORKERS_LISTED_MAX`](crate::limits::WORKERS_LISTED_MAX).
    async fn workers(&self) -> Result<Vec<WorkerView>, Error>;

    /// The manifest: each task that a worker ever registered, with its line of JSON, in order.
    async fn tasks(&self) -> Result<Vec<(String, String)>, Error>;

    /// Entries of the attempts log after number `after`, oldest first, at most about `limit` (whole turns).
    async fn attempts(&self, after: u64, limit: usize) -> Result<Vec<AttemptEntry>, Error>;

    /// Entries of the attempts log after number `after` (without one: that are written from now on), as they are written, until the receiver is
    /// dropped. Nothing polls. A lost connection is restored; nothing is missed then but what the log has trimmed meanwhile.
    async fn follow(&self, after: Option<u64>) -> Result<tokio::sync::mpsc::Receiver<AttemptEntry>, Error>;

    /// The engine's keys that exist now, without the namespace, with their sizes in bytes where known. For the leak check.
    async fn keys(&self) -> Result<Vec<(String, u64)>, Error>;

    /// Moves the store's clock forward. Only where the engine was opened with a test clock.
    async fn advance(&self, by: Duration) -> Result<(), Error>;
}

/// The URL without user and password.
#[cfg(any(feature = "redis", feature = "config"))]
pub(crate) fn redacted(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://{}", &url[..scheme], &url[at + 1..]),
        _ => url.split('?').next().unwrap_or_default().to_owned(),
    }
}
