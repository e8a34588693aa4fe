//! Lanes: how a resend is recognised. A process numbers its batches per lane and has one in flight a lane; the server keeps the last number.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::names::ProcessId;

/// A lane and the number of its last applied batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) lane: u32,
    pub(super) number: u64,
}

/// The lanes of this store's processes. A lane's name is never used twice in a run.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    next: AtomicU32,
    /// Of workers: the lane of each slot.
    slots: Mutex<HashMap<(ProcessId, usize), Lane>>,
    /// Of producers: lanes with nothing in flight.
    idle: Mutex<HashMap<ProcessId, Vec<Lane>>>,
}

impl Lanes {
    pub(super) fn fresh(&self) -> Lane {
        Lane {
            lane: self.next.fetch_add(1, Ordering::Relaxed),
            number: 0,
        }
    }

    pub(super) fn slot(&self, worker: &ProcessId, slot: usize) -> Lane {
        let mut slots = lock(&self.slots);
        *slots.entry((worker.clone(), slot)).or_insert_with(|| self.fresh())
    }

    pub(super) fn keep_slot(&self, worker: &ProcessId, slot: usize, lane: Lane) {
        lock(&self.slots).insert((worker.clone(), slot), lane);
    }

    pub(super) fn forget_slots(&self, worker: &ProcessId) {
        lock(&self.slots).retain(|(w, _), _| w != worker);
    }

    /// Takes a lane for one batch; whoever took it gives it back, or drops it when the batch's outcome is unknown.
    pub(super) fn take(&self, process: &ProcessId) -> Lane {
        lock(&self.idle).get_mut(process).and_then(Vec::pop).unwrap_or_else(|| self.fresh())
    }

    pub(super) fn give_back(&self, process: &ProcessId, lane: Lane) {
        lock(&self.idle).entry(process.clone()).or_default().push(lane);
    }

    pub(super) fn forget(&self, process: &ProcessId) {
        lock(&self.idle).remove(process);
    }
}

/// Nobody panics while holding these.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
