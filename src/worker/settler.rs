//! The settler: keeps what has ended until it is answered, and says when a claim is finished.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;

use crate::attempt::{Claimed, Ending};
use crate::limits::EFFECTS_TURN_MAX;
use crate::names::{JobId, OwnerToken};
use crate::store::settle::{Outcome, Refusal, Settle, SettleAnswer, Verdict};
use crate::worker::Summary;
use crate::worker::watchdog::Watched;

/// Counts ride along this often.
const COUNTS_EVERY: Duration = Duration::from_millis(500);

/// Claims to finish that make a turn say so, and how long fewer may wait.
const FINISHED_BATCH: usize = 16;
const FINISHED_EVERY: Duration = Duration::from_millis(500);
/// The most claims one turn finishes.
const FINISHED_MAX: usize = 1000;

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
    /// Claims that were answered for before.
    finished: Vec<OwnerToken>,
    counts: Vec<(&'static str, u64)>,
}

/// What has ended and is not answered for.
pub(crate) struct Settler {
    watched: Arc<Watched>,
    pending: VecDeque<Rider>,
    finished: Vec<OwnerToken>,
    finished_said: Instant,
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
            finished_said: now,
            counts: Vec::new(),
            counts_said: now,
            summary: Summary::default(),
        }
    }

    /// Ended attempts that ride in no turn yet.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Whether a turn is owed even if nothing ends: claims to finish. They are said together, for each costs as much as a job;
    /// until then nobody names them, so they would lapse by themselves.
    pub(super) fn owes(&self, now: Instant) -> bool {
        self.finished.len() >= FINISHED_BATCH || (!self.finished.is_empty() && now.duration_since(self.finished_said) >= FINISHED_EVERY)
    }

    /// Whether anything is left to be said before the worker may end.
    pub(super) fn owes_at_end(&self) -> bool {
        !self.finished.is_empty() || !self.pending.is_empty() || !self.counts.is_empty()
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
        match answer {
            SettleAnswer::Accepted => self.accepted(ending),
            SettleAnswer::Lost => self.lost(),
            SettleAnswer::Refused(refusal) | SettleAnswer::Broken(refusal) => self.refused(&refusal),
        }
        self.answered(claim);
    }

    /// Loads a turn.
    pub(super) fn load(&mut self, most: usize, ending: bool, now: Instant) -> Cargo {
        let mut effects = 0;
        let light = |rider: &&Rider| {
            effects += rider
                .ending
                .riding
                .as_ref()
                .map_or(0, |riding| riding.effects.len() + riding.jobs.len());
            effects <= EFFECTS_TURN_MAX
        };
        let count = self.pending.iter().take(most).take_while(light).count();
        let riders: Vec<Rider> = self.pending.drain(..count).collect();
        let mut finished = Vec::new();
        if ending || self.owes(now) {
            self.finished_said = now;
            let most = self.finished.len().min(FINISHED_MAX);
            finished = self.finished.drain(..most).collect();
        }
        let mut counts = Vec::new();
        if ending || now.duration_since(self.counts_said) >= COUNTS_EVERY {
            self.counts_said = now;
            counts = std::mem::take(&mut self.counts);
        }
        Cargo { riders, finished, counts }
    }

    /// A turn was answered.
    pub(super) fn unload(&mut self, cargo: Cargo, answers: &[SettleAnswer]) {
        for (rider, answer) in cargo.riders.iter().zip(answers) {
            rider.claim.attempt(rider.index).answered();
            match answer {
                SettleAnswer::Accepted => self.accepted(&rider.ending),
                SettleAnswer::Lost => {
                    self.lost();
                    let job = rider.claim.attempt(rider.index).job.id;
                    tracing::warn!(job.id = %job, outcome = rider.ending.outcome.as_str(), "settle refused: the job or its lock was lost");
                }
                SettleAnswer::Refused(refusal) => {
                    self.refused(refusal);
                    let job = rider.claim.attempt(rider.index).job.id;
                    tracing::warn!(job.id = %job, reason = refusal.reason, dead = refusal.dead, "effects refused: none of them was applied");
                }
                SettleAnswer::Broken(refusal) => {
                    self.refused(refusal);
                    let job = rider.claim.attempt(rider.index).job.id;
                    tracing::error!(job.id = %job, reason = refusal.reason, "effects stopped half way: the job is dead, see what it has done");
                }
            }
            self.answered(&rider.claim);
        }
        if answers.len() < cargo.riders.len() {
            tracing::error!(settles = cargo.riders.len(), answers = answers.len(), "settles without an answer");
        }
    }

    /// A turn was certainly not done: its settles ride again.
    pub(super) fn put_back(&mut self, cargo: Cargo) {
        for rider in cargo.riders.into_iter().rev() {
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
            self.finished.push(claim.token().clone());
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
        self.count(ending.outcome.as_str());
    }

    fn refused(&mut self, refusal: &Refusal) {
        if refusal.dead {
            self.summary.dead += 1;
            self.count(Outcome::Dead.as_str());
        } else {
            self.summary.failed += 1;
            self.count(Outcome::Retry.as_str());
        }
    }

    fn lost(&mut self) {
        self.summary.lost += 1;
        self.count(Outcome::LeaseLost.as_str());
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
        self.finished.clone()
    }

    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.clone()
    }

    /// The jobs it settles.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> {
        self.riders.iter().map(|rider| rider.claim.attempt(rider.index).job.id)
    }
}
