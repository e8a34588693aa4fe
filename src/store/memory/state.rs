//! The tables, named like the keys of the Redis engine, and the smallest moves on them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use super::keyspace::Keyspace;
use super::log::Log;
use super::push::Pushes;
use crate::names::{Fence, JobId, LockKey, OwnerToken, ProcessId, QueueName, ScheduleName, UniqueKey};
use crate::store::new_job::{Header, Priority};
use crate::store::settle::Death;
use crate::store::turn::{Envelope, Tries, Undecodable};
use crate::store::view::{Progress, WorkerCard};

/// An instant of the store's clock: time since 1970.
pub(super) type Time = Duration;

/// A queue's list: the queue and one of its priorities.
pub(super) type List = (QueueName, Priority);

#[derive(Default)]
pub(super) struct State {
    /// The store's clock in this transition.
    pub now: Time,
    pub jobs: HashMap<JobId, StoredJob>,
    /// Hints of what is ready; an entry whose job is not ready is dropped when a claim meets it.
    pub queues: BTreeMap<List, VecDeque<JobId>>,
    /// When scheduled jobs are due; the same as their places, sorted.
    pub scheduled: BTreeSet<(Time, JobId)>,
    /// Where every job is that is neither ready nor active.
    pub places: HashMap<JobId, Place>,
    pub owners: HashMap<JobId, OwnerToken>,
    pub claims: BTreeMap<OwnerToken, ClaimRow>,
    /// Only of jobs with which something went wrong.
    pub tries: HashMap<JobId, TriesRow>,
    pub locks: BTreeMap<LockKey, Lock>,
    pub parked: BTreeMap<LockKey, VecDeque<Waiter>>,
    /// Until when the looks leave a free lock alone, because all who wait for it are in paused queues.
    pub left_alone: BTreeMap<LockKey, Time>,
    /// The job whose turn it is, until it is claimed.
    pub next: BTreeMap<LockKey, Next>,
    /// Since when a job waits for its locks, through every park and offer until it is claimed.
    pub waits: HashMap<JobId, Wait>,
    pub uniques: BTreeMap<UniqueKey, UniqueRow>,
    pub watched: HashMap<JobId, BTreeSet<ProcessId>>,
    pub paused: BTreeSet<QueueName>,
    /// Active jobs that somebody wants ended.
    pub cancels: HashMap<JobId, Mark>,
    pub dead: Dead,
    pub log: Log,
    pub workers: BTreeMap<ProcessId, (WorkerCard, Time)>,
    pub tasks: BTreeMap<String, String>,
    pub schedules: BTreeMap<ScheduleName, String>,
    /// Grows when others must know of a change of `schedules`.
    pub schedules_version: u64,
    pub last_fence: u64,
    pub last_look: Time,
    pub last_sweep: Time,
    /// Numbers claims; it grows per worker and slot since it grows at all.
    pub last_claim: u64,
    /// Queues that may have something to claim and whose mark nobody has taken.
    pub marks: BTreeSet<QueueName>,
    /// A mark was armed in this transition.
    pub armed: bool,
    pub pushes: Pushes,
    /// When each process that waits for locks asked last.
    pub waiting: BTreeMap<ProcessId, Time>,
    /// The acquisition that asks in this transition: no push is needed to reach it.
    pub asking: Option<OwnerToken>,
    /// Keys of the user's.
    pub keyspace: Keyspace,
    /// Results of jobs, and until when they are kept.
    pub results: HashMap<JobId, (Vec<u8>, Time)>,
    /// Holds that an operator broke, and when.
    pub broken: VecDeque<(Time, LockKey, OwnerToken)>,
}

/// Who stands in line for a lock.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Waiter {
    Job(JobId),
    /// An acquisition of a client.
    Client(OwnerToken),
}

impl Waiter {
    pub fn job(&self) -> Option<JobId> {
        match self {
            Waiter::Job(id) => Some(*id),
            Waiter::Client(_) => None,
        }
    }
}

pub(super) struct StoredJob {
    /// Its list; also readable where the job is not.
    pub list: List,
    pub envelope: Result<Envelope, Undecodable>,
    /// The instant of the header's `expires_in`.
    pub expires_at: Option<Time>,
    /// Digest under the unique key, to take it again by a retry.
    pub digest: Option<[u8; 16]>,
}

pub(super) enum Place {
    Scheduled {
        due: Time,
    },
    Parked {
        behind: LockKey,
    },
    Dead {
        at: Time,
        death: Death,
        reason: String,
        bytes: u64,
    },
}

pub(super) struct ClaimRow {
    pub deadline: Time,
    pub jobs: Vec<(JobId, Fence)>,
    /// What its attempts said, and until when it counts.
    pub progress: HashMap<JobId, (Time, Progress)>,
}

#[derive(Default, Clone, PartialEq)]
pub(super) struct TriesRow {
    pub charged: u32,
    pub strikes: u32,
    pub suspect: bool,
    /// The attempt that runs is one at the last strike and has its worker for itself.
    pub alone: bool,
    pub mismatches: u32,
    pub mismatched_since: Option<Time>,
    /// The claim that the last reap took it from, and whether that gave a strike.
    pub reaped_from: Option<(OwnerToken, bool)>,
    pub errors: Vec<String>,
}

pub(super) enum Lock {
    Held {
        token: OwnerToken,
        fence: Fence,
        until: Time,
    },
    /// Something that is no lock stands under the lock's key.
    Foreign,
}

pub(super) struct Next {
    pub job: JobId,
    pub until: Time,
}

pub(super) struct Wait {
    pub since: Time,
    pub gives_up: Option<Time>,
    /// It was taken off its lock's list because `gives_up` had passed.
    pub gave_up: bool,
}

pub(super) struct UniqueRow {
    pub holder: JobId,
    pub digest: [u8; 16],
    pub until: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Cancel,
    Delete,
}

/// Dead jobs in the order of their deaths.
#[derive(Default)]
pub(super) struct Dead {
    pub order: BTreeSet<(Time, JobId)>,
    pub bytes: u64,
}

impl StoredJob {
    pub fn header(&self) -> Option<&Header> {
        self.envelope.as_ref().ok().map(|envelope| &envelope.header)
    }

    /// Its locks; none where it cannot be read.
    pub fn locks(&self) -> Vec<LockKey> {
        self.header().map(|header| header.locks.clone()).unwrap_or_default()
    }
}

impl TriesRow {
    pub fn view(&self, now: Time) -> Tries {
        Tries {
            charged: self.charged,
            strikes: self.strikes,
            suspect: self.suspect,
            mismatches: self.mismatches,
            mismatched_for: self.mismatched_since.map(|since| now.saturating_sub(since)).unwrap_or_default(),
        }
    }
}

impl State {
    pub fn new() -> Self {
        Self::default()
    }

    /// A job is ready when it has a body and neither an owner nor a place.
    pub fn is_ready(&self, id: JobId) -> bool {
        self.jobs.contains_key(&id) && !self.owners.contains_key(&id) && !self.places.contains_key(&id)
    }

    /// Whether a stored job can be read; what is not there needs no reading.
    pub fn is_readable(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_none_or(|job| job.envelope.is_ok())
    }

    pub fn list_of(&self, id: JobId) -> Option<List> {
        self.jobs.get(&id).map(|job| job.list.clone())
    }

    /// Adds an entry at the head of the job's list and arms its queue's mark.
    pub fn push_head(&mut self, id: JobId) {
        if let Some(list) = self.list_of(id) {
            self.arm(&list.0);
            self.queues.entry(list).or_default().push_front(id);
        }
    }

    /// Adds an entry at the tail of the job's list and arms its queue's mark.
    pub fn push_tail(&mut self, id: JobId) {
        if let Some(list) = self.list_of(id) {
            self.arm(&list.0);
            self.queues.entry(list).or_default().push_back(id);
        }
    }

    /// Takes every entry of a job off the lists.
    pub fn lose_entries(&mut self, id: JobId) {
        for list in self.queues.values_mut() {
            list.retain(|entry| *entry != id);
        }
        for line in self.parked.values_mut() {
            line.retain(|waiter| waiter.job() != Some(id));
        }
        self.queues.retain(|_, list| !list.is_empty());
        self.parked.retain(|_, list| !list.is_empty());
    }

    /// Says that the queue may have something to claim.
    pub fn arm(&mut self, queue: &QueueName) {
        self.marks.insert(queue.clone());
        self.armed = true;
    }

    /// Changes what is known of a job's tries, and drops the row when nothing is left to know.
    pub fn change_tries(&mut self, id: JobId, change: impl FnOnce(&mut TriesRow)) {
        let row = self.tries.entry(id).or_default();
        change(row);
        if *row == TriesRow::default() {
            self.tries.remove(&id);
        }
    }

    pub fn tries_of(&self, id: JobId) -> TriesRow {
        self.tries.get(&id).cloned().unwrap_or_default()
    }

    /// Takes `count` fences, one above the other; answers the first.
    pub fn take_fences(&mut self, count: u64) -> u64 {
        let base = (self.last_fence + 1).max(self.now.as_micros() as u64);
        self.last_fence = base + count - 1;
        base
    }
}
