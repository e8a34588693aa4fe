//! Warns of times that the clock of a zone skips.

use linchpin_cron::{Expression, Field, Kind, Warning};

use super::calendar::Calendar;
use super::zone::{HOUR, Seconds, Zone, naive};

/// A year and some days: every rule comes up once.
const AHEAD: Seconds = 370 * 24 * HOUR;

/// The first named time within a year that lies in a gap.
pub(super) fn warning(line: &Expression, calendar: &Calendar, from: Seconds, zone: Zone) -> Option<Warning> {
    if line.kind() == Kind::Interval && line.hour.starts_with_star() {
        return None;
    }
    let mut at = from;
    while let Some(change) = zone.change(at, from + AHEAD) {
        at = change;
        let (before, after) = (change + zone.offset(change - 1), zone.wall(change));
        let Some(skipped) = calendar.next(line, before - 1).filter(|wall| *wall < after) else {
            continue;
        };
        let (skipped, after) = (naive(skipped), naive(after));
        let does = match line.kind() {
            Kind::Fixed => format!("it fires at {} instead", after.format("%H:%M")),
            Kind::Interval => "an interval skips it".to_owned(),
        };
        let text = format!(
            "{} does not exist on {} in {zone}: {does}",
            skipped.format("%H:%M"),
            skipped.format("%Y-%m-%d")
        );
        return Some(Warning { field: Field::Hour, text });
    }
    None
}
