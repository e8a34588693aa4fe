//! One tick of a schedule, and the end of all.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, Utc};

/// One tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// When it fires, in whole seconds.
    pub at: DateTime<Utc>,
    /// The wall-clock time that the line names. In a gap it is one that the clock does not show.
    pub nominal: NaiveDateTime,
    /// What the clock of the zone does there, if anything.
    pub pass: Option<Pass>,
}

/// What the clock of the zone does around a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The named time is skipped by the clock: the tick is at the first instant after the gap.
    AfterGap,
    /// The clock shows the time twice: this is the first.
    First,
    /// The clock shows the time twice: this is the second.
    Second,
}

impl Pass {
    /// `after gap`, `first pass` or `second pass`.
    pub fn name(self) -> &'static str {
        match self {
            Pass::AfterGap => "after gap",
            Pass::First => "first pass",
            Pass::Second => "second pass",
        }
    }
}

/// No further tick: schedules end with the year 2100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End;

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the schedule has no further tick up to the end of {}",
            linchpin_cron::YEARS.end()
        )
    }
}

impl std::error::Error for End {}
