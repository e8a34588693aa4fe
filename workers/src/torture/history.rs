//! What happened: the lines that workers write to their standard output, each in one write, so that a killed one leaves no half.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::bench::monotonic_ns;

/// One event of one attempt. Times are nanoseconds of the machine's monotonic clock, which all its processes share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    pub at: u64,
    pub what: What,
    pub job: String,
    pub order: u64,
    /// Its lock's; [`NO_LOCK`] without one.
    pub sku: u64,
    pub fence: u64,
}

/// The SKU of a job without a lock.
pub const NO_LOCK: u64 = u64::MAX;

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Its handler began.
    Started,
    /// It handed over its effects and returned.
    HandedOver,
    /// It failed on purpose.
    Failed,
    /// It was dropped under way: told to stop.
    Dropped,
}

impl Event {
    /// Writes the event.
    pub fn tell(mut self, what: What) {
        self.at = monotonic_ns();
        self.what = what;
        let Ok(mut line) = serde_json::to_vec(&self) else { return };
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        // when nobody reads any more the conductor is gone, and this process ends with its input
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// An event with who told it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The process, counted from 1 over the whole run.
    pub process: usize,
    pub event: Event,
}
