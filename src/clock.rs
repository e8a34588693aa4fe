//! The clock leases are measured on: it counts the time a machine is suspended, which `std::time::Instant` does not promise.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// An instant of the lease clock. It compares only with instants of the same boot of the same machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct LeaseInstant(u64);

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
/// The monotonic clock of macOS goes on while the machine sleeps.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

impl LeaseInstant {
    /// This instant.
    pub fn now() -> Self {
        let t = clock_gettime(CLOCK);
        Self(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
    }

    /// The instant `by` later.
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long until this instant; zero when it has passed.
    pub fn remaining(self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(Self::now().0))
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        Self::now() >= self
    }

    /// Nanoseconds since the clock's start, to keep in an atomic.
    pub fn as_nanos(self) -> u64 {
        self.0
    }

    /// The instant that [`LeaseInstant::as_nanos`] wrote.
    pub fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
}
