//! The share: how many jobs one turn carries.

use crate::limits::{CLAIM_MAX, SETTLES_MAX, TURN_BYTES};
use crate::store::turn::ClaimedJob;

/// Half of the slots' worth of jobs, so that two turns in flight keep a worker busy; fewer when the last claim's arguments were big: a store
/// answers nobody else while it hands out or frees them.
#[derive(Debug)]
pub(crate) struct Share {
    half: usize,
    now: usize,
}

impl Share {
    pub(super) fn new(concurrency: usize) -> Self {
        let half = concurrency.div_ceil(2).min(SETTLES_MAX).min(CLAIM_MAX);
        Self { half, now: half }
    }

    /// Settles and claims that a turn carries at most.
    pub(super) fn jobs(&self) -> usize {
        self.now
    }

    /// A claim says how big jobs are.
    pub(super) fn learn(&mut self, jobs: &[ClaimedJob]) {
        let bytes = |job: &ClaimedJob| job.envelope.as_ref().map_or(0, |envelope| envelope.body.args.len());
        self.fit(jobs.len(), jobs.iter().map(bytes).sum());
    }

    fn fit(&mut self, jobs: usize, bytes: usize) {
        let fit = (TURN_BYTES * jobs).checked_div(bytes).unwrap_or(self.half);
        self.now = fit.clamp(1, self.half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_carries_half_of_the_slots() {
        assert_eq!(Share::new(100).jobs(), 50);
        assert_eq!(Share::new(1).jobs(), 1);
        assert_eq!(Share::new(10_000).jobs(), 100);
    }

    #[test]
    fn a_turn_carries_fewer_big_jobs_and_more_again_when_they_are_small() {
        let mut share = Share::new(100);
        share.fit(50, 50 * (64 << 10));
        assert_eq!(share.jobs(), 16);
        share.fit(1, 2 * TURN_BYTES);
        assert_eq!(share.jobs(), 1, "a job that is too big goes alone, and goes");
        share.fit(1, 30);
        assert_eq!(share.jobs(), 50);
        share.fit(3, 0);
        assert_eq!(share.jobs(), 50, "what cannot be read has no size");
    }
}
