//! A line that was read.

use std::str::FromStr;

use crate::error::CronError;
use crate::{Field, MonthDays, Values, WeekDays};

/// A line that was read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// 0 alone in a line of five fields.
    pub second: Values,
    /// The minutes.
    pub minute: Values,
    /// The hours.
    pub hour: Values,
    /// The days of the month.
    pub day_of_month: MonthDays,
    /// The months.
    pub month: Values,
    /// The days of the week.
    pub day_of_week: WeekDays,
    /// Every year in a line of five or six fields.
    pub year: Values,
}

/// How a schedule goes through changes of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// At times of the wall clock: each fires once a day, also on days that lack it or have it twice.
    Fixed,
    /// By the real time that passes: what the clock skips is skipped, what it shows twice fires twice.
    Interval,
}

impl Kind {
    /// `fixed` or `interval`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fixed => "fixed",
            Kind::Interval => "interval",
        }
    }
}

impl Expression {
    /// Reads a line.
    ///
    /// # Errors
    /// The first mistake: its field, column, reason and what to write instead. A date that never comes is one.
    ///
    /// ```
    /// use linchpin_cron::Expression;
    ///
    /// let error = Expression::parse("0 22-4 * * *").expect_err("runs backwards");
    /// assert_eq!((error.field.name(), error.column), ("hour", 3));
    /// assert_eq!(error.mend, "write `22-23,0-4`");
    /// ```
    pub fn parse(line: &str) -> Result<Self, CronError> {
        crate::line::read(line)
    }

    /// An interval when the second, minute or hour starts with `*`, fixed otherwise.
    pub fn kind(&self) -> Kind {
        match [&self.second, &self.minute, &self.hour]
            .iter()
            .any(|field| field.starts_with_star())
        {
            true => Kind::Interval,
            false => Kind::Fixed,
        }
    }

    /// Whether a day counts when one of the day fields matches, because both choose.
    pub fn either_day(&self) -> bool {
        self.day_of_month.is_restricted() && self.day_of_week.is_restricted()
    }

    /// Whether both day fields together select this date.
    pub fn day_matches(&self, year: u16, month: u16, day: u16) -> bool {
        let by_month = self.day_of_month.matches(year, month, day);
        let by_week = self.day_of_week.matches(year, month, day);
        if self.either_day() {
            by_month || by_week
        } else {
            by_month && by_week
        }
    }

    /// The plain values of a field; `None` for the line as a whole.
    pub fn values(&self, field: Field) -> Option<&Values> {
        Some(match field {
            Field::Line => return None,
            Field::Second => &self.second,
            Field::Minute => &self.minute,
            Field::Hour => &self.hour,
            Field::DayOfMonth => &self.day_of_month.plain,
            Field::Month => &self.month,
            Field::DayOfWeek => &self.day_of_week.plain,
            Field::Year => &self.year,
        })
    }
}

impl FromStr for Expression {
    type Err = CronError;

    fn from_str(line: &str) -> Result<Self, CronError> {
        Self::parse(line)
    }
}
