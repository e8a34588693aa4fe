//! The settler: keeps what has ended until it is answered, and says when a claim is finished.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;

use crate::attempt::{Claimed, Ending};
use crate::names::{JobId, OwnerToken};
use crate::store::settle::{Outcome, Settle, SettleAnswer, Verdict};
use crate::telemetry::outcome_word;
use crate::worker::Summary;
use crate::worker::watchdog::Watched;

/// Counts ride along this often.
const COUNTS_EVERY: Duration = Duration::from_millis(500);

/// An ended attempt on its way to be settled.
pub(crate) struct Rider {
    claim: Arc<Claimed>,
    index: usize,
    ending: Ending,
}

/// What one turn carries, kept until it is answered.
#[derive(Default)]
pub(crate) struct Cargo {
    riders: Vec<Rider>,
    /// Claims that this turn says are finished because their last settle rides in it.
    closed: Vec<Arc<Claimed>>,
    /// Claims that were finished before.
    finished: Vec<OwnerToken>,
    counts: Vec<(&'static str, u64)>,
}

/// What has ended and is not answered for.
pub(crate) struct Settler {
    watched: Arc<Watched>,
    pending: VecDeque<Rider>,
    finished: Vec<OwnerToken>,
    counts: Vec<(&'static str, u64)>,
    counts_said: Instant,
    summary: Summary,
}

impl Settler {
    pub(super) fn new(watched: Arc<Watched>, now: Instant) -> Self {
        Self {
            watched,
            pending: VecDeque::new(),
            finished: Vec::new(),
            counts: Vec::new(),
            counts_said: now,
            summary: Summary::default(),
        }
    }

    /// Ended attempts that ride in no turn yet.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Whether a turn is owed even if nothing ends: claims to finish.
    pub(super) fn owes(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Whether anything is left to be said before the worker may end.
    pub(super) fn owes_at_end(&self) -> bool {
        self.owes() || !self.pending.is_empty() || !self.counts.is_empty()
    }

    pub(super) fn summary(&self) -> Summary {
        self.summary
    }

    /// Takes an ended attempt.
    pub(super) fn take(&mut self, claim: Arc<Claimed>, index: usize, ending: Ending) {
        self.pending.push_back(Rider { claim, index, ending });
    }

    /// The watchdog has settled a stuck attempt. Without an answer the claim is left to lapse.
    pub(super) fn surrendered(&mut self, claim: &Arc<Claimed>, ending: &Ending, answer: Option<SettleAnswer>) {
        let Some(answer) = answer else { return };
        claim.unsent.fetch_sub(1, Relaxed);
        match answer {
            SettleAnswer::Accepted => self.accepted(ending),
            SettleAnswer::Lost => self.lost(),
        }
        self.answered(claim);
    }

    /// Loads the turn of a slot.
    pub(super) fn load(&mut self, slot: usize, most: usize, ending: bool, now: Instant) -> Cargo {
        let count = self.pending.len().min(most);
        let riders: Vec<Rider> = self.pending.drain(..count).collect();
        for rider in &riders {
            rider.claim.unsent.fetch_sub(1, Relaxed);
            rider.claim.riding[slot].fetch_add(1, Relaxed);
        }
        let mut closed = Vec::new();
        for Rider { claim, .. } in &riders {
            let last = claim.unsent.load(Relaxed) == 0 && claim.riding[1 - slot].load(Relaxed) == 0;
            if last && !claim.finished.swap(true, Relaxed) {
                closed.push(claim.clone());
            }
        }
        let mut counts = Vec::new();
        if ending || now.duration_since(self.counts_said) >= COUNTS_EVERY {
            self.counts_said = now;
            counts = std::mem::take(&mut self.counts);
        }
        Cargo {
            riders,
            closed,
            finished: std::mem::take(&mut self.finished),
            counts,
        }
    }

    /// A turn was answered.
    pub(super) fn unload(&mut self, slot: usize, cargo: Cargo, answers: &[SettleAnswer]) {
        for (rider, answer) in cargo.riders.iter().zip(answers) {
            rider.claim.riding[slot].fetch_sub(1, Relaxed);
            rider.claim.attempt(rider.index).answered();
            match answer {
                SettleAnswer::Accepted => self.accepted(&rider.ending),
                SettleAnswer::Lost => {
                    self.lost();
                    let job = rider.claim.attempt(rider.index).job.id;
                    tracing::warn!(job.id = %job, outcome = outcome_word(rider.ending.outcome), "settle refused: the job or its lock was lost");
                }
            }
            self.answered(&rider.claim);
        }
        if answers.len() < cargo.riders.len() {
            tracing::error!(settles = cargo.riders.len(), answers = answers.len(), "settles without an answer");
        }
    }

    /// A turn was certainly not done: its settles ride again.
    pub(super) fn put_back(&mut self, slot: usize, cargo: Cargo) {
        for claim in &cargo.closed {
            claim.finished.store(false, Relaxed);
        }
        for rider in cargo.riders.into_iter().rev() {
            rider.claim.unsent.fetch_add(1, Relaxed);
            rider.claim.riding[slot].fetch_sub(1, Relaxed);
            self.pending.push_front(rider);
        }
        self.finished.extend(cargo.finished);
        for (word, count) in cargo.counts {
            self.add(word, count);
        }
    }

    /// Jobs whose settle has no answer, among those that ride in no turn.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = JobId> {
        self.pending.iter().map(|rider| rider.claim.attempt(rider.index).job.id)
    }

    fn answered(&mut self, claim: &Arc<Claimed>) {
        if claim.unanswered.fetch_sub(1, Relaxed) == 1 {
            self.watched.forget(claim);
            if !claim.finished.swap(true, Relaxed) {
                self.finished.push(claim.token().clone());
            }
        }
    }

    fn accepted(&mut self, ending: &Ending) {
        let summary = &mut self.summary;
        match (&ending.verdict, ending.outcome) {
            (Verdict::Done, _) => summary.done += 1,
            (Verdict::Bury { .. }, _) => summary.dead += 1,
            (_, Outcome::Snoozed) => summary.snoozed += 1,
            (_, Outcome::Returned) | (Verdict::Return | Verdict::Rekey(_), _) => summary.returned += 1,
            (Verdict::Schedule { .. }, _) => summary.failed += 1,
        }
        self.count(outcome_word(ending.outcome));
    }

    fn lost(&mut self) {
        self.summary.lost += 1;
        self.count(outcome_word(Outcome::LeaseLost));
    }

    fn count(&mut self, word: &'static str) {
        self.add(word, 1);
    }

    fn add(&mut self, word: &'static str, by: u64) {
        match self.counts.iter_mut().find(|(counted, _)| *counted == word) {
            Some((_, count)) => *count += by,
            None => self.counts.push((word, by)),
        }
    }
}

impl Cargo {
    /// The settles, as the store takes them.
    pub(super) fn settles(&self) -> Vec<Settle> {
        self.riders
            .iter()
            .map(|rider| rider.ending.settle(&rider.claim, rider.index))
            .collect()
    }

    /// The claims that are finished with this turn.
    pub(super) fn finished(&self) -> Vec<OwnerToken> {
        let closed = self.closed.iter().map(|claim| claim.token().clone());
        self.finished.iter().cloned().chain(closed).collect()
    }

    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.clone()
    }

    /// The jobs it settles.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> {
        self.riders.iter().map(|rider| rider.claim.attempt(rider.index).job.id)
    }
}
