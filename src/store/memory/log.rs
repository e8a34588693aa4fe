//! The attempts log: one entry an attempt, the oldest dropped.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, Weak};

use tokio::sync::{mpsc, watch};

use super::state::{State, StoredJob};
use crate::limits::ATTEMPTS_KEPT;
use crate::names::{Fence, JobId, LockKey, OwnerToken};
use crate::store::settle::{AttemptRecord, LockWord, Outcome, SettleAnswer};
use crate::store::view::AttemptEntry;

/// Entries that a follower reads at once, and may leave unread.
const FOLLOWED_MAX: usize = 100;

#[derive(Default)]
pub(super) struct Log {
    entries: VecDeque<AttemptEntry>,
    last: u64,
}

impl Log {
    /// Adds an ended attempt; one whose settle was refused has lost its lease, whatever it says.
    pub fn settled(&mut self, mut record: AttemptRecord, answer: &SettleAnswer) {
        record.answered(answer);
        self.add(record);
    }

    /// Adds an attempt that was reaped.
    pub fn crashed(&mut self, id: JobId, job: &StoredJob, number: u32, token: &OwnerToken, fence: Fence) {
        let worker = token.as_str().split('.').next().unwrap_or_default().to_owned();
        let mut record = blank(id, job, number, Outcome::Crashed);
        record.worker = worker;
        record.fence = fence;
        record.error = "its worker ended or could not renew".into();
        self.add(record);
    }

    fn add(&mut self, record: AttemptRecord) {
        self.last += 1;
        self.entries.push_back(AttemptEntry { number: self.last, record });
        if self.entries.len() as u64 > ATTEMPTS_KEPT {
            self.entries.pop_front();
        }
    }

    pub fn after(&self, after: u64, limit: usize) -> Vec<AttemptEntry> {
        self.entries
            .iter()
            .filter(|entry| entry.number > after)
            .take(limit)
            .cloned()
            .collect()
    }

    /// The number of the last entry ever written.
    pub fn last_number(&self) -> u64 {
        self.last
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Hands on what is logged after number `after`, until nobody receives or the store is gone.
pub(super) fn follow(state: Weak<Mutex<State>>, mut logged: watch::Receiver<u64>, mut after: u64) -> mpsc::Receiver<AttemptEntry> {
    let (sender, receiver) = mpsc::channel(FOLLOWED_MAX);
    tokio::spawn(async move {
        loop {
            // Seen before the read, so that what is logged in between wakes again.
            logged.borrow_and_update();
            let Some(state) = state.upgrade() else { return };
            let entries = state.lock().unwrap_or_else(PoisonError::into_inner).log.after(after, FOLLOWED_MAX);
            drop(state);
            let caught_up = entries.is_empty();
            for entry in entries {
                after = entry.number;
                if sender.send(entry).await.is_err() {
                    return;
                }
            }
            if caught_up {
                tokio::select! {
                    () = sender.closed() => return,
                    changed = logged.changed() => if changed.is_err() { return },
                }
            }
        }
    });
    receiver
}

/// A record of what the store knows by itself.
fn blank(id: JobId, job: &StoredJob, number: u32, outcome: Outcome) -> AttemptRecord {
    let locks = job.locks();
    let task = job.envelope.as_ref().map(|envelope| envelope.body.task.to_string());
    AttemptRecord {
        job: id.to_string(),
        task: task.unwrap_or_default(),
        number,
        worker: String::new(),
        lock_keys: locks.iter().map(LockKey::as_str).collect::<Vec<_>>().join(","),
        fence: Fence(0),
        lock: LockWord::None,
        waited_ms: 0,
        ran_ms: 0,
        outcome,
        error: String::new(),
        nested: Vec::new(),
        nested_omitted: 0,
    }
}

impl State {
    /// Logs the cancelling of a job that no attempt runs.
    pub fn log_cancelled(&mut self, id: JobId) {
        let number = self.tries_of(id).charged + 1;
        if let Some(job) = self.jobs.get(&id) {
            self.log.add(blank(id, job, number, Outcome::Cancelled));
        }
    }
}
