//! The appetite: whether a turn would find something to claim, and which suspects it may take.

use std::time::Duration;

use tokio::time::Instant;

use crate::names::JobId;
use crate::store::turn::{More, Suspects};
use crate::worker::slots::Slots;

/// How long to wait when there are only struck suspects that may not be claimed now.
const AGAIN: Duration = Duration::from_millis(100);
/// A busy worker takes struck suspects at least this often.
const EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// There is more, as far as is known.
    More,
    /// The queues were seen empty.
    Nothing,
    /// Struck suspects only.
    Suspects,
}

/// What is known of the queues.
#[derive(Debug)]
pub(crate) struct Appetite {
    found: Found,
    /// When struck suspects may be tried for again.
    again: Instant,
    /// When a turn last might claim a struck suspect, and one that has to run alone.
    suspects_at: Instant,
    alone_at: Instant,
    last_alone: bool,
    lone: Option<Lone>,
}

/// A job at its last strike that a turn could not claim, because it has to run alone.
#[derive(Debug)]
struct Lone {
    id: JobId,
    /// When this worker stops claiming others until it is empty and may run it.
    due: Instant,
}

impl Appetite {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            found: Found::More,
            again: now,
            suspects_at: now,
            alone_at: now,
            last_alone: false,
            lone: None,
        }
    }

    /// A turn met a job that has to run alone; after `patience` this worker makes room for it.
    pub(super) fn put_off(&mut self, id: JobId, patience: Duration, now: Instant) {
        self.lone.get_or_insert(Lone { id, due: now + patience });
    }

    /// Whether nothing may be claimed until the worker is empty, for the sake of one job.
    pub(super) fn makes_room(&self, now: Instant) -> bool {
        self.lone.as_ref().is_some_and(|lone| now >= lone.due)
    }

    /// The store has answered for the job that this worker made room for: it runs now, or somebody else had it.
    pub(super) fn room_was_made(&mut self) {
        self.lone = None;
    }

    /// Whether a claim would find something.
    pub(super) fn is_hungry(&self, slots: &Slots, now: Instant) -> bool {
        match self.found {
            _ if self.makes_room(now) => true,
            Found::More => true,
            Found::Nothing => false,
            Found::Suspects => now >= self.again || (slots.are_quiet() && !self.last_alone),
        }
    }

    /// Whether the queues were seen empty.
    pub(super) fn is_sated(&self) -> bool {
        self.found == Found::Nothing
    }

    /// When to try again, if there were only struck suspects.
    pub(super) fn again(&self) -> Option<Instant> {
        (self.found == Found::Suspects).then_some(self.again)
    }

    /// Whether struck suspects have waited long enough for the next turn to be the only one in flight.
    pub(super) fn suspects_wait(&self, slots: &Slots, now: Instant) -> bool {
        !slots.have_struck() && now.duration_since(self.suspects_at) >= EVERY
    }

    /// Which struck suspects the next turn may claim; only the only turn in flight may claim any.
    pub(super) fn suspects(&mut self, only: bool, slots: &Slots, now: Instant) -> Suspects {
        self.last_alone = false;
        if !only || slots.have_struck() {
            return Suspects::None;
        }
        self.suspects_at = now;
        if let Some(lone) = self.lone.as_ref().filter(|lone| now >= lone.due && slots.are_quiet()) {
            return Suspects::Only(lone.id);
        }
        let due = self.found == Found::Suspects || now.duration_since(self.alone_at) >= EVERY;
        if !due || !slots.are_quiet() {
            return Suspects::One;
        }
        self.alone_at = now;
        self.last_alone = true;
        Suspects::OneAlone
    }

    /// A turn says what there is.
    pub(super) fn learn(&mut self, more: More, now: Instant) {
        match more {
            More::Yes => self.found = Found::More,
            More::No => self.found = Found::Nothing,
            More::OnlySuspects => {
                self.found = Found::Suspects;
                self.again = now + AGAIN;
            }
            More::Unknown => {}
        }
    }

    /// A queue was marked: there is something.
    pub(super) fn awaken(&mut self) {
        self.found = Found::More;
    }

    /// An attempt has ended: what might not be claimed beside it may be now.
    pub(super) fn slot_left(&mut self, now: Instant) {
        self.again = self.again.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_with_only_suspects_to_claim_takes_one_alone_once_and_then_waits() {
        let now = Instant::now();
        let slots = Slots::new(2);
        let mut appetite = Appetite::new(now);
        assert_eq!(appetite.suspects(true, &slots, now), Suspects::One);
        appetite.learn(More::OnlySuspects, now);
        assert!(appetite.is_hungry(&slots, now));
        assert_eq!(appetite.suspects(true, &slots, now), Suspects::OneAlone);
        appetite.learn(More::OnlySuspects, now);
        assert!(!appetite.is_hungry(&slots, now), "no busy loop");
        assert!(appetite.is_hungry(&slots, now + AGAIN));
        assert_eq!(appetite.suspects(false, &slots, now), Suspects::None);
    }

    #[test]
    fn a_job_that_has_to_run_alone_is_made_room_for_after_a_time() {
        let now = Instant::now();
        let slots = Slots::new(2);
        let mut appetite = Appetite::new(now);
        let id = JobId::random();
        appetite.put_off(id, EVERY, now);
        appetite.put_off(JobId::random(), Duration::ZERO, now);
        assert!(!appetite.makes_room(now));
        assert!(appetite.makes_room(now + EVERY));
        assert_eq!(
            appetite.suspects(true, &slots, now + EVERY),
            Suspects::Only(id),
            "the first it heard of"
        );
        appetite.room_was_made();
        assert!(!appetite.makes_room(now + EVERY));
    }

    #[test]
    fn a_busy_worker_takes_suspects_now_and_then() {
        let now = Instant::now();
        let slots = Slots::new(2);
        let mut appetite = Appetite::new(now);
        assert!(!appetite.suspects_wait(&slots, now));
        assert!(appetite.suspects_wait(&slots, now + EVERY));
        assert_eq!(appetite.suspects(true, &slots, now + EVERY), Suspects::OneAlone);
        assert!(!appetite.suspects_wait(&slots, now + EVERY));
    }
}
