//! The appetite: whether a turn would find something to claim, and which suspects it may take.

use std::time::Duration;

use tokio::time::Instant;

use crate::store::turn::{More, Suspects};
use crate::worker::slots::Slots;

/// How long to wait when there are only suspects that may not be claimed now.
const AGAIN: Duration = Duration::from_millis(100);
/// A busy worker takes suspects at least this often.
const EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// There is more, as far as is known.
    More,
    /// The queues were seen empty.
    Nothing,
    /// Suspects only.
    Suspects,
}

/// What is known of the queues.
#[derive(Debug)]
pub(crate) struct Appetite {
    found: Found,
    /// When suspects may be tried for again.
    again: Instant,
    /// When a turn last might claim a suspect, and one that has to run alone.
    suspects_at: Instant,
    alone_at: Instant,
    last_alone: bool,
}

impl Appetite {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            found: Found::More,
            again: now,
            suspects_at: now,
            alone_at: now,
            last_alone: false,
        }
    }

    /// Whether a claim would find something.
    pub(super) fn is_hungry(&self, slots: &Slots, now: Instant) -> bool {
        match self.found {
            Found::More => true,
            Found::Nothing => false,
            Found::Suspects => now >= self.again || (slots.are_quiet() && !self.last_alone),
        }
    }

    /// Whether the queues were seen empty.
    pub(super) fn is_sated(&self) -> bool {
        self.found == Found::Nothing
    }

    /// When to try again, if there were only suspects.
    pub(super) fn again(&self) -> Option<Instant> {
        (self.found == Found::Suspects).then_some(self.again)
    }

    /// Whether suspects have waited long enough for the next turn to be the only one in flight.
    pub(super) fn suspects_wait(&self, slots: &Slots, now: Instant) -> bool {
        !slots.have_suspect() && now.duration_since(self.suspects_at) >= EVERY
    }

    /// Which suspects the next turn may claim; only the only turn in flight may claim any.
    pub(super) fn suspects(&mut self, only: bool, slots: &Slots, now: Instant) -> Suspects {
        self.last_alone = false;
        if !only || slots.have_suspect() {
            return Suspects::None;
        }
        self.suspects_at = now;
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
