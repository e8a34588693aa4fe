//! What a producer hands to the store.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use chrono::{DateTime, NaiveDateTime, Utc};

use crate::names::{JobId, LockKey, QueueName, ScheduleName, TaskName, UniqueKey};

/// A job on its way in: everything checked and rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Its identity.
    pub id: JobId,
    /// What scripts read.
    pub header: Header,
    /// What the worker reads.
    pub body: Body,
    /// When it becomes ready.
    pub due: Due,
    /// The user's own identity for it.
    pub unique: Option<Unique>,
}

impl NewJob {
    /// Whether it only joins its queue: nothing is asked or noted beside it.
    pub(crate) fn is_plain(&self) -> bool {
        self.due == Due::Now && self.unique.is_none() && self.header.expires_in.is_none()
    }
}

/// When a new job becomes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At once.
    Now,
    /// After this long on the server's clock.
    After(Duration),
    /// At an instant the user asked for (at once when it has passed).
    At(SystemTime),
}

/// The user's own identity for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unique {
    /// The key; also in the header.
    pub key: UniqueKey,
    /// Digest of task and canonical arguments: another digest under a held key is a conflict.
    pub digest: [u8; 16],
    /// Held for this long whatever happens to the job, instead of for the job's life.
    pub kept_for: Option<Duration>,
}

/// A queue's three priorities, claimed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before the others.
    High = 0,
    /// The default.
    #[default]
    Normal = 1,
    /// After the others.
    Low = 2,
}

impl Priority {
    /// The priority of a digit `0`, `1`, `2`.
    pub fn from_digit(digit: u8) -> Option<Self> {
        match digit {
            b'0' => Some(Self::High),
            b'1' => Some(Self::Normal),
            b'2' => Some(Self::Low),
            _ => None,
        }
    }

    /// `0`, `1`, `2`.
    pub fn digit(self) -> char {
        (b'0' + self as u8) as char
    }
}

/// What happens to a job whose lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBusy {
    /// It parks behind the lock and costs nothing until its turn.
    #[default]
    Wait,
    /// It ends as `skipped`.
    Skip,
    /// It is a charged attempt with outcome `busy`.
    Fail,
    /// It is scheduled again after this long, uncharged.
    Snooze(Duration),
}

/// The header of a job: what the store's transitions need. Line 1 of the stored job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its queue.
    pub queue: QueueName,
    /// Its priority.
    pub priority: Priority,
    /// The locks its attempts run under, sorted, without duplicates; empty for none.
    pub locks: Vec<LockKey>,
    /// What happens when one of them is held.
    pub on_busy: OnBusy,
    /// How long it may be parked before it counts as busy.
    pub wait_timeout: Option<Duration>,
    /// Its unique key, when the key is to be freed by the job's end (not when it is kept for a time).
    pub unique: Option<UniqueKey>,
    /// Crashes as a suspect after which it is buried; at least 1.
    pub crash_limit: u32,
    /// Not started after this long since it was accepted (the server turns it into an instant).
    pub expires_in: Option<Duration>,
}

/// The body of a job: what the worker needs. Opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The task that runs it.
    pub task: TaskName,
    /// Retries allowed for this job instead of the task's.
    pub retries: Option<u32>,
    /// Timeout of an attempt of this job instead of the task's.
    pub timeout: Option<Duration>,
    /// Once it is done, its locks stay held until they were held for this long.
    pub lock_at_least: Option<Duration>,
    /// The tick that it was enqueued for.
    pub tick: Option<TickOf>,
    /// The arguments, one JSON object.
    pub args: Bytes,
}

/// The tick of a schedule that a job was enqueued for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickOf {
    /// The schedule.
    pub schedule: ScheduleName,
    /// The instant of the tick, in whole seconds. With the schedule's name it is the tick's identity.
    pub at: DateTime<Utc>,
    /// The wall-clock time that the schedule names, in its zone; in a gap of the clock one that is never shown.
    pub nominal: NaiveDateTime,
    /// Ticks directly before it that were missed and fire no more.
    pub missed: u64,
}

/// The store's answer for one new job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It was accepted.
    New,
    /// Its unique key is held by this job, which has the same task and arguments: nothing was added.
    Existing(JobId),
    /// Its unique key is held by this job, which has others: nothing was added.
    Conflict(JobId),
}
