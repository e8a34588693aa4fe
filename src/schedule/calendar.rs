//! The wall-clock times a line names, in order: the crate `cron` walks the civil calendar.
//!
//! That crate sees neither a crontab line nor a zone, only explicit lists of values and wall-clock times tagged as UTC: by itself it
//! counts Sunday as 1, wants both day fields to match, and steps backwards where a clock does. Days that depend on the month
//! go in as every day that they can be, and are checked when they come out.

use ::cron::Schedule;
use chrono::{DateTime, Datelike, Timelike};
use linchpin_cron::{Expression, Values};

use super::zone::Seconds;

/// A day has this many seconds on a calendar.
const DAY: Seconds = 86_400;

/// The last second before the first year of schedules.
const BEFORE_ALL: Seconds = -1;

/// The civil calendar of one line.
#[derive(Debug)]
pub(super) struct Calendar {
    /// One, or one for each day field where either is enough.
    branches: Vec<Branch>,
}

#[derive(Debug)]
struct Branch {
    schedule: Schedule,
    check: Check,
}

/// Which day fields a date is checked against when it comes out of the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Nothing,
    MonthDays,
    WeekDays,
    Both,
}

impl Calendar {
    /// `None` if the crate refuses a list of ours, which would be a defect.
    pub(super) fn new(line: &Expression) -> Option<Self> {
        let (by_month, by_week) = (&line.day_of_month, &line.day_of_week);
        let any_weekday = list(1..=7);
        // Where both must match, only the weeks of `5#2` and its like.
        let weeks = by_week.days_of_month();
        let days = || list(by_month.candidates().iter().filter(|day| line.either_day() || weeks.contains(day)));
        // The crate counts Sunday as 1.
        let weekdays = || list(by_week.candidates().iter().map(|day| day + 1));
        let special = !by_month.special.is_empty() || !by_week.special.is_empty();
        let branches = match line.either_day() {
            true => vec![
                Branch::new(line, &days(), &any_weekday, if special { Check::MonthDays } else { Check::Nothing }),
                Branch::new(
                    line,
                    &list(weeks.clone()),
                    &weekdays(),
                    if special { Check::WeekDays } else { Check::Nothing },
                ),
            ],
            false => vec![Branch::new(
                line,
                &days(),
                &weekdays(),
                if special { Check::Both } else { Check::Nothing },
            )],
        };
        let branches = branches.into_iter().collect::<Option<_>>()?;
        Some(Self { branches })
    }

    /// The first wall-clock time after this one.
    pub(super) fn next(&self, line: &Expression, after: Seconds) -> Option<Seconds> {
        let after = after.max(BEFORE_ALL);
        self.branches.iter().filter_map(|branch| branch.next(line, after)).min()
    }
}

impl Branch {
    fn new(line: &Expression, days: &str, weekdays: &str, check: Check) -> Option<Self> {
        let lists = format!(
            "{} {} {} {days} {} {weekdays} {}",
            values(&line.second),
            values(&line.minute),
            values(&line.hour),
            values(&line.month),
            values(&line.year),
        );
        let schedule = lists.parse().ok()?;
        Some(Self { schedule, check })
    }

    fn next(&self, line: &Expression, mut after: Seconds) -> Option<Seconds> {
        loop {
            let found = self.schedule.after(&DateTime::from_timestamp(after, 0)?).next()?;
            let (year, month, day) = (found.year() as u16, found.month() as u16, found.day() as u16);
            if self.fits(line, year, month, day) {
                return Some(found.timestamp());
            }
            // On to the month's next day that fits, or to its end.
            let last = u16::from(found.num_days_in_month());
            let days = (day + 1..=last).find(|day| self.fits(line, year, month, *day)).unwrap_or(last + 1) - day;
            let midnight = found.timestamp() - Seconds::from(found.num_seconds_from_midnight());
            after = midnight + Seconds::from(days) * DAY - 1;
        }
    }

    fn fits(&self, line: &Expression, year: u16, month: u16, day: u16) -> bool {
        match self.check {
            Check::Nothing => true,
            Check::MonthDays => line.day_of_month.matches(year, month, day),
            Check::WeekDays => line.day_of_week.matches(year, month, day),
            Check::Both => line.day_matches(year, month, day),
        }
    }
}

fn values(values: &Values) -> String {
    list(values.iter())
}

fn list(values: impl IntoIterator<Item = u16>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
