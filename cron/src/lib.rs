//! The schedule expressions of Linchpin: read, checked and put in words, without a clock or a zone.
//!
//! The library `linchpin` finds instants for an [`Expression`]; the macro `linchpin::cron!` only checks one while compiling.
//! Both need this parser, and a library cannot take functions from its own macros, nor a macro from the library that uses it.
//!
//! A line has 5 fields (minute, hour, day of month, month, day of week), 6 (a second first) or 7 (a year last), or is one of
//! `@hourly @daily @midnight @weekly @monthly @yearly @annually`.
//!
//! | written | means | where |
//! |---|---|---|
//! | `*` | every value | everywhere |
//! | `?` | the same, alone | days |
//! | `5`, `1,15`, `1-5` | a value, several, a range | everywhere |
//! | `*/10`, `8-18/2`, `5/20` | in steps: of all values, of a range, from a value on | everywhere |
//! | `jan`, `January`, `mon`, `Monday` | names, in three letters or in full | month, day of week |
//! | `0`, `7`, `sun` | Sunday | day of week |
//! | `L`, `L-3` | the last day of the month, the third before it | day of month |
//! | `LW`, `15W` | the last weekday, the weekday nearest to day 15 in the same month | day of month |
//! | `5L`, `5#2` | the last, the second Friday of the month | day of week |
//!
//! When neither day field starts with `*` or `?`, a day counts when *either* matches; otherwise when both do.

mod canonical;
mod date;
mod days;
mod error;
mod expression;
mod field;
mod item;
mod line;
mod nearest;
mod possible;
mod special;
mod values;
mod warnings;
mod words;

pub use days::{MonthDay, MonthDays, WeekDay, WeekDays};
pub use error::CronError;
pub use expression::{Expression, Kind};
pub use field::Field;
pub use nearest::nearest;
pub use values::Values;
pub use warnings::Warning;

/// First and last year a schedule fires in.
pub const YEARS: std::ops::RangeInclusive<u16> = 1970..=2100;

/// Longest line, in bytes.
pub const LINE_MAX: usize = 1024;
