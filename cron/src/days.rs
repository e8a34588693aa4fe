//! The day fields: plain values, and days that depend on the month.

use std::ops::RangeInclusive;

use crate::date::{month_len, weekday};
use crate::{Field, Values};

/// A day of the month that depends on the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MonthDay {
    /// `L`, `L-n`: so many days before the last.
    Last {
        /// 0 is the last day itself.
        before: u16,
    },
    /// `LW`: the last day from Monday to Friday.
    LastWeekday,
    /// `nW`: the day from Monday to Friday nearest to this day, in the same month.
    Nearest(u16),
}

/// A day of the week that depends on the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeekDay {
    /// `5L`: the last of the month.
    Last(u16),
    /// `5#2`: the nth of the month, counted from 1.
    Nth(u16, u16),
}

/// What the day-of-month field selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthDays {
    /// Days by number.
    pub plain: Values,
    /// Days by the month.
    pub special: Vec<MonthDay>,
}

/// What the day-of-week field selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeekDays {
    /// Days by number.
    pub plain: Values,
    /// Days by the month.
    pub special: Vec<WeekDay>,
}

impl MonthDay {
    /// The day of that month, if it has one.
    pub fn of(self, year: u16, month: u16) -> Option<u16> {
        let last = month_len(year, month);
        match self {
            MonthDay::Last { before } => last.checked_sub(before).filter(|day| *day > 0),
            MonthDay::LastWeekday => Some(nearest_weekday(year, month, last)),
            MonthDay::Nearest(day) if day <= last => Some(nearest_weekday(year, month, day)),
            MonthDay::Nearest(_) => None,
        }
    }

    /// First and last day that it can be in any month.
    fn bounds(self) -> (u16, u16) {
        match self {
            MonthDay::Last { before } => (28u16.saturating_sub(before).max(1), 31 - before),
            MonthDay::LastWeekday => (26, 31),
            MonthDay::Nearest(day) => (day.saturating_sub(2).max(1), (day + 2).min(31)),
        }
    }
}

/// The day from Monday to Friday nearest to a day, in the same month.
fn nearest_weekday(year: u16, month: u16, day: u16) -> u16 {
    match weekday(year, month, day) {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == month_len(year, month) => day - 2,
        0 => day + 1,
        _ => day,
    }
}

impl WeekDay {
    /// The day of the week, 0 for Sunday.
    pub fn day(self) -> u16 {
        match self {
            WeekDay::Last(day) | WeekDay::Nth(day, _) => day,
        }
    }

    /// First and last day of the month that it can be.
    fn bounds(self) -> (u16, u16) {
        match self {
            WeekDay::Last(_) => (22, 31),
            WeekDay::Nth(_, nth) => (7 * nth - 6, (7 * nth).min(31)),
        }
    }

    fn matches(self, year: u16, month: u16, day: u16) -> bool {
        weekday(year, month, day) == self.day()
            && match self {
                WeekDay::Last(_) => day + 7 > month_len(year, month),
                WeekDay::Nth(_, nth) => (day - 1) / 7 + 1 == nth,
            }
    }
}

impl MonthDays {
    /// Whether it is a real choice: it does not start with `*` or `?`.
    pub fn is_restricted(&self) -> bool {
        !self.plain.starts_with_star()
    }

    /// Whether it selects this date.
    pub fn matches(&self, year: u16, month: u16, day: u16) -> bool {
        self.plain.contains(day) || self.special.iter().any(|special| special.of(year, month) == Some(day))
    }

    /// Every day number that it selects in some month.
    pub fn candidates(&self) -> Values {
        let mut all = self.plain.clone();
        for (first, last) in self.special.iter().map(|special| special.bounds()) {
            all.add(first, last, 1);
        }
        all
    }
}

impl WeekDays {
    /// Whether it is a real choice: it does not start with `*` or `?`.
    pub fn is_restricted(&self) -> bool {
        !self.plain.starts_with_star()
    }

    /// Whether it selects this date.
    pub fn matches(&self, year: u16, month: u16, day: u16) -> bool {
        self.plain.contains(weekday(year, month, day)) || self.special.iter().any(|special| special.matches(year, month, day))
    }

    /// Every day of the week that it selects in some month.
    pub fn candidates(&self) -> Values {
        let mut all = self.plain.clone();
        for special in &self.special {
            all.add(special.day(), special.day(), 1);
        }
        all
    }
}

impl WeekDays {
    /// First and last day of the month that it can select: all of them, unless each of its days depends on the month.
    pub fn days_of_month(&self) -> RangeInclusive<u16> {
        let bounds = || self.special.iter().map(|special| special.bounds());
        match (bounds().map(|(first, _)| first).min(), bounds().map(|(_, last)| last).max()) {
            (Some(first), Some(last)) if self.plain.is_empty() => first..=last,
            _ => Field::DayOfMonth.min()..=Field::DayOfMonth.max(),
        }
    }
}

impl From<Values> for MonthDays {
    fn from(plain: Values) -> Self {
        debug_assert_eq!(plain.field(), Field::DayOfMonth);
        Self {
            plain,
            special: Vec::new(),
        }
    }
}

impl From<Values> for WeekDays {
    fn from(plain: Values) -> Self {
        debug_assert_eq!(plain.field(), Field::DayOfWeek);
        Self {
            plain,
            special: Vec::new(),
        }
    }
}
