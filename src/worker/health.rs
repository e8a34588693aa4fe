//! How a worker is: for probes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::clock::LeaseInstant;

/// A claim loop that has not stepped for this long is dead. It steps at least every second.
const STEP_MAX: Duration = Duration::from_secs(10);
/// A turn without an answer for this long makes a worker unready.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// How a worker is, also while it runs.
#[derive(Clone, Debug)]
pub struct Health(Arc<Vitals>);

impl Health {
    pub(super) fn new(vitals: Arc<Vitals>) -> Self {
        Self(vitals)
    }

    /// Whether the claim loop steps, also while it reconnects. False before and after the run.
    pub fn live(&self) -> bool {
        since(&self.0.stepped).is_some_and(|since| since < STEP_MAX)
    }

    /// Whether turns succeed and nothing is stuck.
    pub fn ready(&self) -> bool {
        let answered = self.0.sent.iter().all(|sent| since(sent).is_none_or(|since| since < ANSWER_MAX));
        self.live() && answered && self.0.turned.load(Ordering::Relaxed) && self.0.heard.load(Ordering::Relaxed) && self.stuck() == 0
    }

    /// Handlers that went on long after they were told to stop.
    pub fn stuck(&self) -> usize {
        self.0.stuck.load(Ordering::Relaxed)
    }

    /// Attempts that run now, without the stuck ones.
    pub fn running(&self) -> usize {
        self.0.running.load(Ordering::Relaxed)
    }
}

fn since(at: &AtomicU64) -> Option<Duration> {
    match at.load(Ordering::Relaxed) {
        0 => None,
        at => Some(Duration::from_nanos(LeaseInstant::now().as_nanos().saturating_sub(at))),
    }
}

/// What the actors note for [`Health`].
#[derive(Debug, Default)]
pub(crate) struct Vitals {
    stepped: AtomicU64,
    sent: [AtomicU64; 2],
    turned: AtomicBool,
    heard: AtomicBool,
    stuck: AtomicUsize,
    running: AtomicUsize,
}

impl Vitals {
    /// The claim loop stepped.
    pub(super) fn step(&self, running: usize, stuck: usize) {
        self.stepped.store(LeaseInstant::now().as_nanos(), Ordering::Relaxed);
        self.running.store(running, Ordering::Relaxed);
        self.stuck.store(stuck, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.stepped.store(0, Ordering::Relaxed);
        self.running.store(0, Ordering::Relaxed);
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn turn_sent(&self, slot: usize) {
        self.sent[slot].store(LeaseInstant::now().as_nanos(), Ordering::Relaxed);
    }

    pub(super) fn turn_landed(&self, slot: usize, well: bool) {
        self.sent[slot].store(0, Ordering::Relaxed);
        self.turned.store(well, Ordering::Relaxed);
    }

    /// A heartbeat was answered, or not.
    pub(super) fn heard(&self, well: bool) {
        self.heard.store(well, Ordering::Relaxed);
    }
}
