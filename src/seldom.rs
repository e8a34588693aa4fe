//! Words for the log that would come many times a second while something is down.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the same is not said again.
const SILENCE: Duration = Duration::from_secs(5);

/// Whether to say it now: the first time, and then not before [`SILENCE`] has passed.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    /// Whether it may be said; if so, it counts as said.
    pub(crate) fn now(&self) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = said.is_some_and(|at| at.elapsed() < SILENCE);
        if !quiet {
            *said = Some(Instant::now());
        }
        !quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once_and_again_after_the_silence() {
        let seldom = Seldom::default();
        assert!(seldom.now());
        assert!(!seldom.now());
        if let Some(before) = Instant::now().checked_sub(SILENCE) {
            *seldom.0.lock().unwrap() = Some(before);
            assert!(seldom.now());
        }
    }
}
