//! A crontab line that knows its ticks.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use linchpin_cron::{CronError, Expression, Field, Kind, Warning};

use super::calendar::Calendar;
use super::tick::{End, Tick};
use super::zone::{HOUR, Seconds, Zone, naive};
use super::{gaps, passes};

/// After this instant (two days into 2101) no clock shows a year of schedules.
const AFTER_ALL: Seconds = 4_134_153_600;

/// Before this instant no clock shows a year of schedules.
const BEFORE_ALL: Seconds = -48 * HOUR;

/// A crontab line: when a schedule fires, in any zone. Cheap to clone.
///
/// The dialect: 5, 6 (a second first) or 7 fields (a year last), names of months and weekdays, Sunday as 0 or 7, lists, ranges, steps,
/// `L`, `L-3`, `LW`, `15W`, `5L`, `5#2`, `@daily` and its like. When neither day field starts with `*` or `?`, a day counts when either
/// matches.
///
/// A line whose second, minute or hour starts with `*` is an *interval*: it follows the time that passes, so what the clock skips is
/// skipped and what it shows twice fires twice. Every other is *fixed*: each named time fires once a day, in a gap at the first instant
/// after it (several become one), in an overlap on the first pass.
#[derive(Clone)]
pub struct Cron {
    line: Arc<(Expression, Calendar)>,
}

impl Cron {
    /// Reads a line. With a literal, [`cron!`](crate::cron) does it while compiling.
    ///
    /// # Errors
    /// The first mistake: its field, column, reason, and what to write instead.
    pub fn parse(line: &str) -> Result<Self, CronError> {
        let expression = Expression::parse(line)?;
        let calendar = Calendar::new(&expression).ok_or_else(|| CronError {
            field: Field::Line,
            column: 1,
            reason: "the calendar refuses a line that was read: a defect of Linchpin".to_owned(),
            mend: "please report it".to_owned(),
        })?;
        let line = Arc::new((expression, calendar));
        Ok(Self { line })
    }

    /// The first tick strictly after an instant.
    ///
    /// # Errors
    /// [`End`] when there is none up to the end of the year 2100.
    pub fn next_after(&self, after: DateTime<Utc>, zone: Zone) -> Result<Tick, End> {
        let (line, calendar) = &*self.line;
        let after = after.timestamp().max(BEFORE_ALL);
        if after > AFTER_ALL {
            return Err(End);
        }
        let next = |wall| calendar.next(line, wall);
        let found = match line.kind() {
            Kind::Fixed => passes::fixed(zone, after, next),
            Kind::Interval => passes::interval(zone, after, next),
        };
        let (at, wall, pass) = found.ok_or(End)?;
        let at = DateTime::from_timestamp(at, 0).ok_or(End)?;
        let nominal = naive(wall);
        Ok(Tick { at, nominal, pass })
    }

    /// The ticks after an instant, one by one; it ends with the year 2100.
    pub fn ticks(&self, after: DateTime<Utc>, zone: Zone) -> Ticks {
        Ticks {
            cron: self.clone(),
            zone,
            after,
        }
    }

    /// Fixed or interval: how it goes through changes of the clock.
    pub fn kind(&self) -> Kind {
        self.expression().kind()
    }

    /// Says in words when it fires.
    pub fn words(&self) -> String {
        self.expression().words()
    }

    /// What people rarely mean: by the line alone, and in the year after an instant by the clock of the zone.
    pub fn warnings(&self, from: DateTime<Utc>, zone: Zone) -> Vec<Warning> {
        let (line, calendar) = &*self.line;
        let mut found = line.warnings();
        let from = from.timestamp().clamp(BEFORE_ALL, AFTER_ALL);
        found.extend(gaps::warning(line, calendar, from, zone));
        found
    }

    /// The line's fields.
    pub fn expression(&self) -> &Expression {
        &self.line.0
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(line: &str) -> Result<Self, CronError> {
        Self::parse(line)
    }
}

/// Equal when they mean the same.
impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.expression() == other.expression()
    }
}

impl Eq for Cron {}

impl fmt::Display for Cron {
    /// Writes the canonical line: lines that mean the same are the same text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression().fmt(f)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({})", self.expression())
    }
}

/// The ticks of a line, from [`Cron::ticks`].
#[derive(Debug, Clone)]
pub struct Ticks {
    cron: Cron,
    zone: Zone,
    after: DateTime<Utc>,
}

impl Iterator for Ticks {
    type Item = Tick;

    fn next(&mut self) -> Option<Tick> {
        let tick = self.cron.next_after(self.after, self.zone).ok()?;
        self.after = tick.at;
        Some(tick)
    }
}
