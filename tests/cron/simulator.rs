//! What a schedule does, found by watching a clock minute by minute.
//!
//! It asks the zone only what the clock shows at an instant, and knows nothing of the library's ways.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

/// A field: what it selects, and whether it starts with a star.
#[derive(Debug, Clone, Default)]
pub struct Field {
    pub star: bool,
    pub set: BTreeSet<u32>,
}

/// A line as the simulator understands it.
#[derive(Debug, Clone, Default)]
pub struct Line {
    pub minute: Field,
    pub hour: Field,
    pub day_of_month: Field,
    pub month: Field,
    pub day_of_week: Field,
    /// `L` among the days of the month.
    pub last_day: bool,
    /// `n#k` among the days of the week; `n#0` is the last.
    pub nth: Option<(u32, u32)>,
}

impl Line {
    fn is_interval(&self) -> bool {
        self.minute.star || self.hour.star
    }

    fn names(&self, wall: NaiveDateTime) -> bool {
        if !self.minute.set.contains(&wall.minute()) || !self.hour.set.contains(&wall.hour()) || !self.month.set.contains(&wall.month()) {
            return false;
        }
        let in_a_week = wall + TimeDelta::days(7);
        let tomorrow = wall + TimeDelta::days(1);
        let weekday = wall.weekday().num_days_from_sunday();
        let by_month = self.day_of_month.set.contains(&wall.day()) || self.last_day && tomorrow.month() != wall.month();
        let by_week = self.day_of_week.set.contains(&weekday)
            || self.nth.is_some_and(|(day, nth)| {
                day == weekday
                    && match nth {
                        0 => in_a_week.month() != wall.month(),
                        nth => wall.day().div_ceil(7) == nth,
                    }
            });
        match self.day_of_month.star || self.day_of_week.star {
            true => by_month && by_week,
            false => by_month || by_week,
        }
    }

    /// The first fire after `start` and up to `end`, both full minutes.
    pub fn next(&self, zone: Tz, start: DateTime<Utc>, end: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let minute = TimeDelta::minutes(1);
        let wall = |at: DateTime<Utc>| zone.from_utc_datetime(&at.naive_utc()).naive_local();
        // A fixed time is past once the clock has shown it or something later; watch a while before the start to know.
        let mut at = start - TimeDelta::hours(27);
        let mut latest = wall(at);
        if self.is_interval() {
            at = start;
        }
        while at < end {
            at += minute;
            let now = wall(at);
            if self.is_interval() {
                if self.names(now) {
                    return Some(at);
                }
                continue;
            }
            let mut fires = false;
            while latest < now {
                latest += minute;
                fires |= self.names(latest);
            }
            if fires && at > start {
                return Some(at);
            }
        }
        None
    }
}
