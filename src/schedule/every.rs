//! An even period, counted from the epoch.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::tick::{End, Tick};
use crate::error::Invalid;

/// Units of a period, in seconds, the largest first.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Longest period: ten years.
const PERIOD_MAX: u64 = 3_660 * 86_400;

/// 2101-01-01T00:00:00Z: schedules end before it.
const END: i64 = 4_133_980_800;

/// An even period: `15m` fires at every quarter of an hour since the epoch, whatever clocks of zones do and however often a process
/// starts anew. It does not drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Every {
    seconds: u64,
}

impl Every {
    /// Reads a whole number and a unit: `30s`, `15m`, `6h`, `1d`.
    ///
    /// # Errors
    /// [`Invalid`] when it is no period from 1 s to 3660 d.
    ///
    /// ```
    /// use linchpin::schedule::Every;
    ///
    /// let every = Every::parse("90m").expect("a period");
    /// let tick = every.next_after("2026-01-01T00:10:00Z".parse().expect("an instant")).expect("before 2101");
    /// assert_eq!(tick.at.to_rfc3339(), "2026-01-01T01:30:00+00:00");
    /// ```
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let wrong = || {
            Invalid::new(
                "period",
                text,
                "write a whole number and a unit, from `1s` to `3660d`: s, m, h or d",
            )
        };
        let unit = text.chars().next_back().ok_or_else(wrong)?;
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number = &text[..text.len() - 1];
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let seconds = number.checked_mul(*seconds).filter(|seconds| (1..=PERIOD_MAX).contains(seconds));
        Ok(Self {
            seconds: seconds.ok_or_else(wrong)?,
        })
    }

    /// The period.
    pub fn period(self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// The first tick strictly after an instant.
    ///
    /// # Errors
    /// [`End`] when there is none up to the end of the year 2100.
    pub fn next_after(self, after: DateTime<Utc>) -> Result<Tick, End> {
        let period = i64::try_from(self.seconds).map_err(|_| End)?;
        let after = after.timestamp().max(-1);
        let at = (after.div_euclid(period) + 1)
            .checked_mul(period)
            .filter(|at| *at < END)
            .ok_or(End)?;
        let at = DateTime::from_timestamp(at, 0).ok_or(End)?;
        Ok(Tick {
            at,
            nominal: at.naive_utc(),
            pass: None,
        })
    }
}

impl FromStr for Every {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl fmt::Display for Every {
    /// Writes it in the largest unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, seconds) = UNITS
            .into_iter()
            .find(|(_, seconds)| self.seconds.is_multiple_of(*seconds))
            .unwrap_or(('s', 1));
        write!(f, "{}{unit}", self.seconds / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("an instant")
    }

    #[test]
    fn periods_are_anchored_to_the_epoch() {
        let every = Every::parse("7d").expect("a period");
        let tick = every.next_after(at("1970-01-01T00:00:00Z")).expect("a tick");
        assert_eq!(tick.at, at("1970-01-08T00:00:00Z"));
        assert_eq!(every.next_after(tick.at - Duration::from_millis(1)), Ok(tick));
        assert_eq!(
            every.next_after(at("1900-01-01T00:00:00Z")).expect("a tick").at,
            at("1970-01-01T00:00:00Z")
        );
        assert_eq!(every.next_after(at("2100-12-31T00:00:00Z")), Err(End));
        assert_eq!(every.next_after(DateTime::<Utc>::MAX_UTC), Err(End));
    }

    #[test]
    fn periods_are_read_and_written() {
        for (text, canonical) in [("60s", "1m"), ("90m", "90m"), ("24h", "1d"), ("3660d", "3660d"), ("007s", "7s")] {
            assert_eq!(Every::parse(text).expect(text).to_string(), canonical);
        }
        for text in [
            "",
            "s",
            "15",
            "0s",
            "1.5h",
            "-1m",
            "500ms",
            "3661d",
            "99999999999999999999d",
            "1 h",
            "5µ",
        ] {
            let error = Every::parse(text).expect_err(text).to_string();
            assert!(error.contains("from `1s` to `3660d`"), "{error}");
        }
    }
}
