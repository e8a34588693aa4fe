//! A zone of the IANA database: what its clock shows, and when that changes.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use linchpin_cron::nearest;

use crate::error::Invalid;

/// Seconds since the epoch, of an instant or (counted as if it were UTC) of a wall clock.
pub(super) type Seconds = i64;

pub(super) const HOUR: Seconds = 3600;

/// Changes are looked for at such distances; two that undo each other have never been nearer.
const PROBE: Seconds = 12 * HOUR;

/// A wall clock may be off from UTC by less than this.
pub(super) const OFFSET_MAX: Seconds = 15 * HOUR;

/// A change may move a wall clock by less than this: Apia skipped a whole day.
const SHIFT_MAX: Seconds = 26 * HOUR;

/// A zone by its IANA name, with its rules: never a fixed offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(Tz);

/// The instants at which a wall clock shows a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Once(Seconds),
    /// Skipped; the first instant after the gap.
    Never(Seconds),
    Twice(Seconds, Seconds),
}

impl Zone {
    /// The default.
    pub const UTC: Zone = Zone(Tz::UTC);

    /// The zone of this name.
    ///
    /// # Errors
    /// [`Invalid`] names the nearest zones.
    ///
    /// ```
    /// use linchpin::schedule::Zone;
    ///
    /// let error = Zone::parse("Europe/Berln").expect_err("a slip");
    /// assert!(error.to_string().contains("Europe/Berlin"));
    /// ```
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        if let Ok(zone) = name.parse() {
            return Ok(Self(zone));
        }
        let offset = name.starts_with(['+', '-']) || name.to_ascii_uppercase().starts_with("UTC");
        let near = nearest(name, TZ_VARIANTS.iter().map(|zone| zone.name()), 3);
        let allowed = match near.as_slice() {
            _ if offset => "a fixed offset does not follow the clock: name a place, such as `Europe/Berlin`, or `UTC`".to_owned(),
            [] => "no such zone: write an IANA name, such as `Europe/Berlin`, or `UTC`".to_owned(),
            names => format!("no such zone: did you mean `{}`?", names.join("`, `")),
        };
        Err(Invalid::new("zone", name, allowed))
    }

    /// Its IANA name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The instant as its clock shows it, with the offset.
    pub fn show(self, at: DateTime<chrono::Utc>) -> DateTime<chrono::FixedOffset> {
        let local = at.with_timezone(&self.0);
        local.with_timezone(&local.offset().fix())
    }

    /// Its clock's distance from UTC at an instant.
    pub(super) fn offset(self, at: Seconds) -> Seconds {
        self.0.offset_from_utc_datetime(&naive(at)).fix().local_minus_utc().into()
    }

    /// What its clock shows at an instant.
    pub(super) fn wall(self, at: Seconds) -> Seconds {
        at + self.offset(at)
    }

    /// The first instant after `from` and up to `to` at which its clock jumps.
    pub(super) fn change(self, from: Seconds, to: Seconds) -> Option<Seconds> {
        let (mut near, before) = (from, self.offset(from));
        while near < to {
            let mut far = (near + PROBE).min(to);
            if self.offset(far) != before {
                while far - near > 1 {
                    let middle = near + (far - near) / 2;
                    if self.offset(middle) == before {
                        near = middle
                    } else {
                        far = middle
                    }
                }
                return Some(far);
            }
            near = far;
        }
        None
    }

    /// When its clock shows a time.
    pub(super) fn shown(self, wall: Seconds) -> Shown {
        let earliest = wall - OFFSET_MAX;
        let instant = |offset: &chrono_tz::TzOffset| wall - Seconds::from(offset.fix().local_minus_utc());
        match self.0.offset_from_local_datetime(&naive(wall)) {
            chrono::LocalResult::Single(offset) => Shown::Once(instant(&offset)),
            chrono::LocalResult::Ambiguous(a, b) => {
                let (a, b) = (instant(&a), instant(&b));
                Shown::Twice(a.min(b), a.max(b))
            }
            chrono::LocalResult::None => {
                let mut from = earliest - SHIFT_MAX;
                while let Some(change) = self.change(from, wall + OFFSET_MAX + SHIFT_MAX) {
                    if self.wall(change) > wall {
                        return Shown::Never(change);
                    }
                    from = change;
                }
                Shown::Once(wall - self.offset(earliest))
            }
        }
    }
}

/// A count of seconds as a date and time; callers stay within the years of schedules.
pub(super) fn naive(seconds: Seconds) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0).unwrap_or_default().naive_utc()
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for Zone {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::parse(name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}
