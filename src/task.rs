//! What a worker needs to know of a task: how to run its jobs, and a handler's fate as a value.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::attempt::{Attempt, DataMap, DataNeed};
use crate::job::Job;
use crate::limits::{RETRIES, TIMEOUT};
use crate::retry::Backoff;

/// Code that runs jobs of one kind. `#[task]` writes the implementation.
pub trait Task: Send + Sync + 'static {
    /// The jobs it runs.
    type Job: Job + DeserializeOwned;

    /// What is the same for every attempt.
    const SPEC: &'static TaskSpec;

    /// The `Data<T>` parameters of the handler; checked when a worker is built.
    fn data_needs() -> Vec<DataNeed>;

    /// Runs one attempt.
    fn run(job: Self::Job, attempt: Attempt, data: DataMap) -> impl Future<Output = TaskResult> + Send;
}

/// What is the same for every attempt of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskSpec {
    /// Former names whose jobs it still runs.
    pub also: &'static [&'static str],
    /// Charged retries after the first attempt. Default 10.
    pub retries: u32,
    /// Delays between charged attempts. Default 15 s, doubling, capped at 1 h, 25 % jitter either way.
    pub backoff: Backoff,
    /// How long an attempt may take. Default 30 min.
    pub timeout: Duration,
    /// Its own schedule, under the task's name. Default none.
    pub schedule: Option<TaskSchedule>,
    /// Whether the handler is a sync function on the blocking pool: dropping its future does not stop it, so that an
    /// attempt ends only when [`Task::run`] returns. Default no.
    pub blocking: bool,
}

impl TaskSpec {
    /// Every setting at its default.
    pub const DEFAULT: Self = Self {
        also: &[],
        retries: RETRIES,
        backoff: Backoff::DEFAULT,
        timeout: TIMEOUT,
        schedule: None,
        blocking: false,
    };
}

/// When a task that is its own schedule ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSchedule {
    /// By a crontab line.
    Cron {
        /// The line.
        line: &'static str,
        /// The zone whose clock it reads.
        tz: &'static str,
    },
    /// By a period.
    Every(&'static str),
}

/// What a handler returns.
pub type TaskResult<T = ()> = Result<T, TaskError>;

/// Why a handler did not finish, and what is to become of the job.
///
/// Anything that becomes a boxed error (`std` errors, `anyhow`, text) becomes one by `?` and means *retry with backoff*.
/// Hence it is not itself an [`std::error::Error`].
pub struct TaskError(pub(crate) Fate);

pub(crate) enum Fate {
    Retry {
        error: Box<dyn StdError + Send + Sync>,
        after: Option<Duration>,
    },
    Snooze(Duration),
    Discard(String),
}

impl TaskError {
    /// Retries after `delay` instead of the task's backoff; charged.
    pub fn retry_in(delay: Duration, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(Fate::Retry {
            error: error.into(),
            after: Some(delay),
        })
    }

    /// Runs again after `delay`, uncharged: the handler found that it is too early.
    pub fn snooze(delay: Duration) -> Self {
        Self(Fate::Snooze(delay))
    }

    /// Buries the job with a reason: no retry can help.
    pub fn discard(reason: impl Into<String>) -> Self {
        Self(Fate::Discard(reason.into()))
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self(Fate::Retry {
            error: error.into(),
            after: None,
        })
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fate::Retry { error, .. } => error.fmt(f),
            Fate::Snooze(delay) => write!(f, "snoozed for {delay:?}"),
            Fate::Discard(reason) => f.write_str(reason),
        }
    }
}
