//! Durations as they stand in options: a whole number and a unit.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;

use crate::limits::DURATION_MAX_DAYS;

/// The units, with their milliseconds.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads `500ms`, `30s`, `5m`, `2h`, `7d`.
///
/// # Errors
/// A message for people when it is none, zero, or longer than 3660 days.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let (Some(scale), false) = (scale, number.is_empty()) else {
        return Err(format!(
            "`{text}` is not a duration: write a whole number and a unit, such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"7d\""
        ));
    };
    let most = DURATION_MAX_DAYS * 86_400_000;
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale)) {
        Some(0) => Err("the duration must be longer than zero".into()),
        Some(ms) if ms <= most => Ok(Duration::from_millis(ms)),
        _ => Err(format!("`{text}` is too long: at most {DURATION_MAX_DAYS} days")),
    }
}

/// Writes a duration as code.
pub(crate) fn expand(duration: Duration) -> TokenStream {
    let (secs, ms) = (duration.as_secs(), duration.as_millis() as u64);
    if secs * 1000 == ms {
        return quote!(::linchpin::__private::Duration::from_secs(#secs));
    }
    quote!(::linchpin::__private::Duration::from_millis(#ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_read() {
        let secs = Duration::from_secs;
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("30s"), Ok(secs(30)));
        assert_eq!(parse("5m"), Ok(secs(300)));
        assert_eq!(parse("2h"), Ok(secs(7200)));
        assert_eq!(parse("7d"), Ok(secs(7 * 86_400)));
        assert_eq!(parse("3660d"), Ok(secs(3660 * 86_400)));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in ["", "30", "s", "30 s", "1.5h", "-1s", "30sec", "1h30m", "٣s"] {
            let message = parse(bad).expect_err(bad);
            assert!(message.contains("is not a duration"), "{bad:?}: {message}");
        }
        assert_eq!(parse("0s"), Err("the duration must be longer than zero".into()));
        for long in ["3661d", "18446744073709551615d", "99999999999999999999s"] {
            assert!(parse(long).expect_err(long).contains("too long"), "{long}");
        }
    }
}
