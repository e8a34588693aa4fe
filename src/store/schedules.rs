//! Rows of schedules, as the store keeps them: text that only `schedule` reads, changed by comparing and setting.
//!
//! A row is the id of the job of its latest tick, or as many dashes, and then what `schedule` writes. The store reads the id alone: whether that
//! job lives is asked in the step that must know it.

use std::time::Duration;

use crate::names::{JobId, ScheduleName};
use crate::store::new_job::{Accepted, NewJob};

/// What stands where the job's id would, while there is none.
pub const NO_JOB: &str = "----------------------";

/// All rows, read at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRows {
    /// The store's clock: time since 1970.
    pub now: Duration,
    /// Grows when a row comes, goes, or is changed in what others must know before its next tick.
    pub version: u64,
    /// Name, row, and whether the job of its latest tick lives: it is neither dead nor gone.
    pub rows: Vec<(ScheduleName, String, bool)>,
}

/// Changes one row, if all is as whoever decided it assumed, and accepts the jobs that come of it. All in one step, or nothing.
#[derive(Debug, Clone)]
pub struct ScheduleStep {
    /// Which.
    pub name: ScheduleName,
    /// The row as it must be; `None` where there must be none.
    pub expected: Option<String>,
    /// The row as it will be; `None` removes it. It differs from every row before it.
    pub new: Option<String>,
    /// The store's clock must have reached this.
    pub from: Option<Duration>,
    /// The store's clock must not have reached this.
    pub before: Option<Duration>,
    /// The job of the latest tick must live, or not.
    pub previous_lives: Option<bool>,
    /// Others must know of it before the next tick: raises the version.
    pub tell: bool,
    /// Jobs to accept.
    pub jobs: Vec<NewJob>,
}

/// The store's answer to a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepAnswer {
    /// Done, and what became of each job.
    Done(Vec<Accepted>),
    /// The row is another; nothing was done.
    Lost(Option<String>),
    /// The clock has not reached `from`; nothing was done.
    Early,
    /// The clock has reached `before`; nothing was done.
    Past,
    /// The job of the latest tick lives, or does not, otherwise than assumed; nothing was done.
    Previous(bool),
}

/// The answer, and when it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped {
    /// The store's clock: time since 1970.
    pub now: Duration,
    /// What was done.
    pub answer: StepAnswer,
}

/// The job of the latest tick that a row names.
pub fn job_of(row: &str) -> Option<JobId> {
    JobId::decode(row.as_bytes().get(..JobId::LEN)?)
}
