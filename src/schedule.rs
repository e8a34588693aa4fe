//! When jobs come due by themselves: crontab lines in a zone, and even periods.
//!
//! Nothing here asks a clock or a store: an instant goes in, the ticks after it come out, the same on every replica.
//!
//! ```
//! use chrono::{DateTime, Utc};
//! use linchpin::schedule::{Cron, Zone};
//!
//! let cron = Cron::parse("30 2 * * *").expect("a schedule");
//! let zone = Zone::parse("America/New_York").expect("a zone");
//! let after: DateTime<Utc> = "2026-03-08T00:00:00Z".parse().expect("an instant");
//! let tick = cron.next_after(after, zone).expect("before the year 2100");
//! // 02:30 does not exist on that day: the first instant after the gap.
//! assert_eq!(tick.at.to_rfc3339(), "2026-03-08T07:00:00+00:00");
//! assert_eq!(tick.nominal.to_string(), "2026-03-08 02:30:00");
//! ```

mod calendar;
mod cron;
mod definition;
mod every;
mod gaps;
mod passes;
mod row;
mod tick;
mod timing;
mod zone;

pub use cron::{Cron, Ticks};
pub(crate) use definition::{Definition, When};
pub use definition::{Missed, Overlap, Schedule};
pub use every::Every;
pub use linchpin_cron::{CronError, Expression, Field, Kind, Warning};
pub(crate) use row::{Change, Due, Plan, Row};
pub use row::{Counts, Fate, Outcome};
pub use tick::{End, Pass, Tick};
pub(crate) use timing::Timing;
pub use zone::Zone;
