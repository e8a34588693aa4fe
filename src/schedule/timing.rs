//! When a schedule ticks, by a crontab line or a period.

use chrono::{DateTime, Utc};

use super::{Cron, End, Every, Tick, Zone};

/// How a schedule ticks.
#[derive(Debug, Clone)]
pub(crate) enum Timing {
    Cron(Cron, Zone),
    Every(Every),
}

impl Timing {
    pub(crate) fn next_after(&self, after: DateTime<Utc>) -> Result<Tick, End> {
        match self {
            Timing::Cron(cron, zone) => cron.next_after(after, *zone),
            Timing::Every(every) => every.next_after(after),
        }
    }

    /// The first tick strictly after a second.
    pub(crate) fn after(&self, second: i64) -> Option<i64> {
        let after = DateTime::from_timestamp(second, 0)?;
        self.next_after(after).ok().map(|tick| tick.at.timestamp())
    }

    /// The wall-clock time that a tick is of.
    pub(crate) fn nominal(&self, tick: i64) -> Option<chrono::NaiveDateTime> {
        let before = DateTime::from_timestamp(tick.checked_sub(1)?, 0)?;
        self.next_after(before)
            .ok()
            .filter(|found| found.at.timestamp() == tick)
            .map(|found| found.nominal)
    }
}
