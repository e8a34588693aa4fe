//! The fields of a line: their names, bounds, and the names of their values.

use std::fmt;

use crate::YEARS;

/// A field of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The whole line, where no single field is meant.
    Line,
    /// 0 to 59, the first of 6 or 7 fields.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or names.
    Month,
    /// 0 to 7, or names; 0 and 7 are Sunday.
    DayOfWeek,
    /// 1970 to 2100, the last of 7 fields.
    Year,
}

/// Months in full; their first three letters are names as well.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Days of the week in full, from Sunday; their first three letters are names as well.
pub(crate) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Field {
    /// Every field of a line with seven.
    pub const ALL: [Field; 7] = [
        Field::Second,
        Field::Minute,
        Field::Hour,
        Field::DayOfMonth,
        Field::Month,
        Field::DayOfWeek,
        Field::Year,
    ];

    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Field::Line => "line",
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
            Field::Year => "year",
        }
    }

    /// Its least value.
    pub fn min(self) -> u16 {
        match self {
            Field::DayOfMonth | Field::Month => 1,
            Field::Year => *YEARS.start(),
            _ => 0,
        }
    }

    /// Its greatest value; Sunday's second number is not one.
    pub fn max(self) -> u16 {
        match self {
            Field::Line => 0,
            Field::Second | Field::Minute => 59,
            Field::Hour => 23,
            Field::DayOfMonth => 31,
            Field::Month => 12,
            Field::DayOfWeek => 6,
            Field::Year => *YEARS.end(),
        }
    }

    /// The greatest number that may be written.
    pub(crate) fn max_written(self) -> u16 {
        if self == Field::DayOfWeek { 7 } else { self.max() }
    }

    pub(crate) fn is_day(self) -> bool {
        matches!(self, Field::DayOfMonth | Field::DayOfWeek)
    }

    /// The names of its values in full, from the least value on.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Field::Month => &MONTHS,
            Field::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }

    /// The value of a name, in three letters or in full, in any case.
    pub(crate) fn value_of(self, name: &str) -> Option<u16> {
        let same = |full: &&str| full.eq_ignore_ascii_case(name) || full[..3].eq_ignore_ascii_case(name);
        let at = self.names().iter().position(same)?;
        Some(at as u16 + self.min())
    }

    /// What may be written, for messages.
    pub(crate) fn allowed(self) -> &'static str {
        match self {
            Field::Line => "5, 6 or 7 fields",
            Field::Second | Field::Minute => "0 to 59",
            Field::Hour => "0 to 23",
            Field::DayOfMonth => "1 to 31, L, L-n, LW or nW",
            Field::Month => "1 to 12 or jan to dec",
            Field::DayOfWeek => "0 to 7 (0 and 7 are Sunday), sun to sat, nL or n#k",
            Field::Year => "1970 to 2100",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
