//! When a failed job runs again.

use std::time::Duration;

use crate::limits::{BACKOFF_CAP, BACKOFF_FIRST, BACKOFF_JITTER};

/// Exponential backoff with jitter: `first`, then twice as long per charged attempt up to `cap`, each ±25 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Delay after the first attempt.
    pub first: Duration,
    /// Longest delay before jitter.
    pub cap: Duration,
}

impl Backoff {
    /// 15 s doubling up to 1 h.
    pub const DEFAULT: Self = Self {
        first: BACKOFF_FIRST,
        cap: BACKOFF_CAP,
    };

    /// The delay after the charged attempt number `number` (1 for the first). `unit` is a random number in 0..1.
    pub fn delay(&self, number: u32, unit: f64) -> Duration {
        let doublings = number.saturating_sub(1).min(63);
        let plain = self.first.as_secs_f64() * 2f64.powi(doublings as i32);
        let capped = plain.min(self.cap.as_secs_f64());
        Duration::from_secs_f64(capped * (1.0 - BACKOFF_JITTER + 2.0 * BACKOFF_JITTER * unit))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_and_stay_under_the_cap_with_jitter() {
        let backoff = Backoff::DEFAULT;
        assert_eq!(backoff.delay(1, 0.5), Duration::from_secs(15));
        assert_eq!(backoff.delay(2, 0.5), Duration::from_secs(30));
        assert_eq!(backoff.delay(4_000_000, 0.5), Duration::from_secs(3600));
        assert_eq!(backoff.delay(1, 0.0), Duration::from_millis(11_250));
        assert!(backoff.delay(9, 1.0) <= Duration::from_secs(4500));
    }
}
