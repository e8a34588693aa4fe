//! The slots: who is in each of the places for attempts.

use crate::store::turn::ClaimedJob;

/// A worker's places for attempts. Free ones, those a turn in flight may fill, running and stuck ones are all there are.
#[derive(Debug)]
pub(crate) struct Slots {
    free: usize,
    running: usize,
    /// A thread may come back before its surrender is told.
    stuck: isize,
    struck: usize,
    alone: bool,
}

impl Slots {
    pub(super) fn new(concurrency: usize) -> Self {
        Self {
            free: concurrency,
            running: 0,
            stuck: 0,
            struck: 0,
            alone: false,
        }
    }

    /// Slots that a turn may fill: none beside a job that has to run alone.
    pub(super) fn room(&self) -> usize {
        if self.alone { 0 } else { self.free }
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn stuck(&self) -> usize {
        self.stuck.max(0).unsigned_abs()
    }

    /// Whether no handler runs, not even a stuck one.
    pub(super) fn are_quiet(&self) -> bool {
        self.running == 0 && self.stuck == 0
    }

    /// Whether a struck suspect runs.
    pub(super) fn have_struck(&self) -> bool {
        self.struck > 0
    }

    /// A turn is sent that may fill this many.
    pub(super) fn promise(&mut self, want: usize) {
        self.free -= want;
    }

    /// It was answered and left these empty.
    pub(super) fn give_back(&mut self, count: usize) {
        self.free += count;
    }

    /// A promised slot is filled.
    pub(super) fn fill(&mut self, job: &ClaimedJob) {
        self.running += 1;
        self.struck += usize::from(job.is_struck());
        self.alone |= job.alone;
    }

    /// An attempt has ended.
    pub(super) fn leave(&mut self, job: &ClaimedJob) {
        self.running -= 1;
        self.empty(job);
    }

    /// A stuck attempt was surrendered; it keeps its slot.
    pub(super) fn stick(&mut self) {
        self.running -= 1;
        self.stuck += 1;
    }

    /// A surrendered attempt has come back.
    pub(super) fn come_back(&mut self, job: &ClaimedJob) {
        self.stuck -= 1;
        self.empty(job);
    }

    fn empty(&mut self, job: &ClaimedJob) {
        self.free += 1;
        self.struck -= usize::from(job.is_struck());
        if job.alone {
            self.alone = false;
        }
    }
}
