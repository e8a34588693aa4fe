//! What the store's clock shows, between its answers: measured on a clock that counts suspend.

use std::time::Duration;

use crate::clock::LeaseInstant;

/// The store's clock, from its answers.
pub(super) struct StoreClock {
    told: Duration,
    at: LeaseInstant,
}

impl StoreClock {
    /// The store has just said what it is.
    pub(super) fn set(&mut self, told: Duration) {
        (self.told, self.at) = (told, LeaseInstant::now());
    }

    /// Milliseconds since 1970 by now.
    pub(super) fn now_ms(&self) -> u64 {
        let since = LeaseInstant::now().as_nanos().saturating_sub(self.at.as_nanos());
        (self.told + Duration::from_nanos(since)).as_millis() as u64
    }
}

impl Default for StoreClock {
    /// 1970, until the store has said something.
    fn default() -> Self {
        Self {
            told: Duration::ZERO,
            at: LeaseInstant::now(),
        }
    }
}
