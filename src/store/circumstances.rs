//! What stands around a job and around the workers at one instant: what an answer to "why is it not running" is made of.

use std::time::Duration;

use crate::names::{Fence, JobId, LockKey, OwnerToken, ProcessId, QueueName, TaskName};
use crate::store::view::JobView;

/// A job and what stands around it, read at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circumstances {
    /// The job.
    pub job: JobView,
    /// Whether its queue is paused.
    pub paused: bool,
    /// Active: since about when its attempt runs.
    pub active_for: Option<Duration>,
    /// Active: until its claim lapses unless it is renewed.
    pub lease_left: Option<Duration>,
    /// Dead: since when.
    pub dead_for: Option<Duration>,
    /// The lock that it is parked behind, or, ready, whose turn it has.
    pub lock: Option<LockView>,
    /// Parked: until it gives up waiting.
    pub gives_up_in: Option<Duration>,
    /// Parked: waiters before it. Ready: entries before it, of higher priorities too. None where it was not found within
    /// [`POSITION_MAX`](crate::limits::POSITION_MAX) entries.
    pub ahead: Option<u64>,
}

/// Since when about, of a fence and the store's clock: a fence is the clock's microseconds, unless more than one a microsecond were taken.
pub(crate) fn since(fence: u64, now_us: u64) -> Duration {
    Duration::from_millis((now_us + 500).saturating_sub(fence) / 1000)
}

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockView {
    /// Its key.
    pub key: LockKey,
    /// Who holds it.
    pub holder: Option<Holder>,
    /// Jobs and clients that wait for it.
    pub waiters: u64,
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The claim or acquisition; its process is a worker or a client.
    pub token: OwnerToken,
    /// Its fence.
    pub fence: Fence,
    /// The job whose attempt holds it; none for a lock that was taken within an attempt.
    pub job: Option<JobId>,
    /// Since about when.
    pub held_for: Duration,
    /// Until it ends by itself unless it is renewed.
    pub left: Duration,
}

/// A lock, and who waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockLine {
    /// The lock.
    pub lock: LockView,
    /// The job whose turn it is, until it is claimed.
    pub next: Option<JobId>,
    /// Who waits, in order, at most [`PAGE_MAX`](crate::limits::PAGE_MAX) of them.
    pub waiters: Vec<WaiterView>,
}

/// Who waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaiterView {
    /// A parked job.
    Job(JobId),
    /// An acquisition of a client, or of an attempt that takes a nested lock.
    Client(OwnerToken),
}

/// A page of locks, by their keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockPage {
    /// The locks.
    pub locks: Vec<LockView>,
    /// Where the next page begins: behind this key. `None` after the last.
    pub next: Option<LockKey>,
}

/// A worker as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerView {
    /// Its identity.
    pub worker: ProcessId,
    /// Labels for people: hostname, pid, version.
    pub labels: Vec<(String, String)>,
    /// Its queues.
    pub queues: Vec<QueueName>,
    /// The names of its tasks, former ones included.
    pub tasks: Vec<TaskName>,
    /// Attempts it runs at once.
    pub concurrency: usize,
    /// Attempts it ran when it spoke last.
    pub running: usize,
    /// Since when it has been silent.
    pub silent_for: Duration,
}

impl WorkerView {
    /// Whether it spoke lately enough to count as alive.
    pub fn is_live(&self) -> bool {
        self.silent_for <= crate::limits::WORKER_LIVE
    }
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueView {
    /// Its name.
    pub queue: QueueName,
    /// Entries of its lists: ready jobs, and what a claim would drop.
    pub ready: u64,
    /// Whether claims from it are stopped.
    pub paused: bool,
    /// Of the ready jobs at the heads of its lists the one that was made first.
    pub oldest: Option<JobId>,
    /// Live workers that serve it.
    pub workers: u64,
}
