//! The read model and what operators' verbs answer.

use std::time::Duration;

use crate::names::{JobId, LockKey, OwnerToken, ProcessId, QueueName, TaskName};
use crate::store::settle::{AttemptRecord, Death};
use crate::store::turn::{Envelope, Tries, Undecodable};

/// Where a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Due after this long.
    Scheduled {
        /// Zero when it is due and not promoted yet.
        due_in: Duration,
    },
    /// In its queue.
    Ready,
    /// Behind a lock.
    Parked {
        /// The lock.
        behind: LockKey,
        /// Since when.
        waited: Duration,
    },
    /// An attempt owns it.
    Active {
        /// The attempt's claim.
        token: OwnerToken,
        /// Somebody asked for it to stop.
        cancel_requested: bool,
    },
    /// Dead.
    Dead {
        /// What kind of death.
        death: Death,
        /// Why.
        reason: String,
    },
}

/// What is known about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Where it is.
    pub state: State,
    /// What it is.
    pub envelope: Result<Envelope, Undecodable>,
    /// What went before.
    pub tries: Tries,
    /// Its last errors, oldest first.
    pub errors: Vec<String>,
    /// How far the attempt that runs has come, where it says so; `None` in every other state.
    pub progress: Option<Progress>,
}

/// How far an attempt has come, as its handler said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is done, in units of the handler's own.
    pub done: u64,
    /// What there is to do; 0 where that is not known.
    pub total: u64,
    /// What it is doing, for people; may be empty.
    pub note: String,
}

/// The answer to a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It is dead, reason cancelled.
    Cancelled,
    /// An attempt runs and was asked to stop; whoever settles first wins.
    Requested,
    /// It has ended, or never was.
    TooLate,
}

/// The answer to a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteAnswer {
    /// It is gone.
    Deleted,
    /// An attempt runs and was asked to stop; the job is removed when it settles.
    Requested,
    /// There is no such job.
    TooLate,
}

/// The answer to a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAnswer {
    /// It is ready.
    Ready,
    /// It is ready, parked or active already: nothing was changed.
    NotNeeded,
    /// Its unique key is held by this job by now: nothing was changed.
    Conflict(JobId),
    /// There is no such job.
    TooLate,
}

/// The answer to a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchAnswer {
    /// Registered: [`Push::Ended`] will come.
    Watching,
    /// It is dead.
    Dead(Death),
    /// Nothing is kept of it: done, deleted, or never was.
    Gone,
}

/// How a watched job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Done (or skipped).
    Done,
    /// Dead.
    Dead(Death),
    /// Deleted.
    Deleted,
}

/// What a store pushes to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Push {
    /// A watched job has ended.
    Ended(JobId, Ended),
    /// An attempt of this worker is asked to stop.
    Cancel(JobId),
    /// A lock that this process waits for is offered to an acquisition of it: confirm by asking again.
    Offered(OwnerToken),
    /// An operator broke a lock that this process held.
    Broken(LockKey, OwnerToken),
    /// The connection was lost for a while: pushes may have been missed.
    Resubscribed,
}

/// What a worker says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCard {
    /// Its identity.
    pub worker: ProcessId,
    /// Labels for people: hostname, pid, version.
    pub labels: Vec<(String, String)>,
    /// Its queues.
    pub queues: Vec<QueueName>,
    /// Attempts it runs at once.
    pub concurrency: usize,
    /// Attempts it runs now.
    pub running: usize,
    /// Manifest of its tasks: task name and one line of JSON (queue, lock and unique templates, argument names, limits).
    pub tasks: Vec<(String, String)>,
}

/// What a heartbeat is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// Workers that spoke within a minute, this one included.
    pub workers: usize,
    /// Whether what a registration writes is there. When it was lost with the store's data, the worker registers anew.
    pub registered: bool,
    /// The version of the schedules: see [`ScheduleRows`](crate::store::schedules::ScheduleRows).
    pub schedules: u64,
}

/// A task that was told of before, otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The task.
    pub task: String,
    /// Its manifest until now, one line of JSON.
    pub line: String,
}

impl WorkerCard {
    /// The names whose jobs it runs, former ones included, in order.
    pub(crate) fn task_names(&self) -> Vec<TaskName> {
        let mut names: Vec<TaskName> = Vec::with_capacity(self.tasks.len());
        for (task, line) in &self.tasks {
            let manifest: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let former = manifest["also"].as_array().into_iter().flatten().filter_map(|name| name.as_str());
            names.extend(former.chain([task.as_str()]).filter_map(|name| TaskName::new(name).ok()));
        }
        names.sort();
        names.dedup();
        names
    }
}

/// Counts of everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Ready jobs per queue (entries of its lists), queues in order, only those with any.
    pub ready: Vec<(QueueName, u64)>,
    /// Scheduled jobs.
    pub scheduled: u64,
    /// Parked jobs, and clients that wait for a lock among them.
    pub parked: u64,
    /// Active jobs.
    pub active: u64,
    /// Dead jobs.
    pub dead: u64,
    /// Jobs in all: bodies stored.
    pub jobs: u64,
    /// Live workers.
    pub workers: u64,
    /// Paused queues.
    pub paused: Vec<QueueName>,
}

impl Census {
    /// Jobs that have yet to end.
    pub fn pending(&self) -> u64 {
        self.jobs - self.dead
    }
}

/// One entry of the attempts log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptEntry {
    /// The running number of the attempt.
    pub number: u64,
    /// The attempt; `outcome` says `lease_lost` where its settle was refused.
    pub record: AttemptRecord,
}
