//! The looker: says when a worker that has nothing to send turns all the same, to promote, reap and check.
//!
//! The interval grows with the fleet, so that a whole fleet looks about twice a second, whoever of it dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::LOOK;

/// How many workers the last heartbeat found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleet(Arc<AtomicUsize>);

impl Fleet {
    pub(super) fn set(&self, workers: usize) {
        self.0.store(workers, Ordering::Relaxed);
    }

    fn size(&self) -> u32 {
        u32::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(u32::MAX).max(1)
    }
}

/// When to look next.
#[derive(Debug)]
pub(crate) struct Looker {
    fleet: Fleet,
    next: Instant,
}

impl Looker {
    pub(super) fn new(fleet: Fleet, now: Instant) -> Self {
        let mut looker = Self { fleet, next: now };
        looker.put_off(now);
        looker
    }

    /// A turn was sent: the next look is an interval away.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.next = now + interval(self.fleet.size(), rand::random());
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }
}

/// Uniform between a half and one and a half of the fleet's share; `unit` is a random number in 0..1.
fn interval(fleet: u32, unit: f64) -> Duration {
    LOOK.saturating_mul(fleet).mul_f64(0.5 + unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_looks_about_twice_a_second_in_all() {
        for fleet in [1, 2, 20] {
            let units = 1000;
            let total: Duration = (0..units).map(|i| interval(fleet, f64::from(i) / f64::from(units))).sum();
            let looks_per_s = f64::from(fleet) * f64::from(units) / total.as_secs_f64();
            assert!((1.9..2.1).contains(&looks_per_s), "{looks_per_s}");
        }
    }
}
