//! What all attempts of one worker share, and how an attempt's end is told to the fetcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::attempt::held::Holds;
use crate::attempt::{Claimed, DataMap};
use crate::limits::{LEASE_MAX, MISMATCH_WINDOW};
use crate::lock::Locks;
use crate::names::{JobId, LockKey, OwnerToken, ProcessId};
use crate::registry::Registry;
use crate::store::Store;
use crate::store::effects::Riding;
use crate::store::settle::{AttemptRecord, LockWord, Outcome, Settle, SettleAnswer, Verdict};
use crate::store::turn::LockOutcome;

/// What all attempts of one worker share.
pub(crate) struct Workshop {
    pub(crate) worker: ProcessId,
    /// `None` in an attempt made for a test.
    pub(crate) locks: Option<Arc<Locks>>,
    pub(crate) registry: Registry,
    pub(crate) data: DataMap,
    pub(crate) lease: Duration,
    pub(crate) mismatch_window: Duration,
    /// Where attempts say that they have ended: bounded by the worker's slots.
    pub(crate) ends: UnboundedSender<Ended>,
    nested: AtomicU64,
}

impl Workshop {
    pub(crate) fn new(
        worker: ProcessId,
        store: Arc<dyn Store>,
        registry: Registry,
        data: DataMap,
        lease: Duration,
        mismatch_window: Duration,
        ends: UnboundedSender<Ended>,
    ) -> Self {
        Self {
            locks: Some(Locks::new(store, worker.clone())),
            worker,
            registry,
            data,
            lease,
            mismatch_window,
            ends,
            nested: AtomicU64::new(0),
        }
    }

    pub(super) fn test(worker: ProcessId) -> Arc<Self> {
        Arc::new(Self {
            worker,
            locks: None,
            registry: Registry::default(),
            data: DataMap::default(),
            lease: LEASE_MAX,
            mismatch_window: MISMATCH_WINDOW,
            ends: unbounded_channel().0,
            nested: AtomicU64::new(0),
        })
    }

    /// Numbers the locks of an attempt made for a test.
    pub(super) fn next_nested(&self) -> u64 {
        self.nested.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// An attempt's message to the fetcher.
pub(crate) struct Ended {
    pub(crate) claim: Arc<Claimed>,
    pub(crate) index: usize,
    pub(crate) end: End,
}

/// What an attempt tells the fetcher.
pub(crate) enum End {
    /// It has ended and is to be settled.
    Settle(Ending),
    /// It was stuck, and the watchdog has settled it; its thread has yet to come back. `None`: no answer was to be had.
    Surrendered(Ending, Option<SettleAnswer>),
    /// A surrendered attempt has come back.
    Back,
    /// It ended in a way nobody foresaw: there is nothing to settle, the lease takes the job back.
    Vanished,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) verdict: Verdict,
    pub(crate) outcome: Outcome,
    pub(crate) ran: Duration,
    /// Cut.
    pub(crate) error: Box<str>,
    pub(crate) nested: Vec<(LockKey, OwnerToken)>,
    /// What is done with it.
    pub(crate) riding: Option<Arc<Riding>>,
}

impl Ending {
    pub(crate) fn new(verdict: Verdict, outcome: Outcome, error: impl Into<Box<str>>) -> Self {
        Self {
            verdict,
            outcome,
            ran: Duration::ZERO,
            error: error.into(),
            nested: Vec::new(),
            riding: None,
        }
    }

    /// The settle of attempt `index` of `claim` that ended like this.
    pub(crate) fn settle(&self, claim: &Claimed, index: usize) -> Settle {
        let state = claim.attempt(index);
        let envelope = state.job.envelope.as_ref().ok();
        let (nested, nested_omitted) = state.holds().map(Holds::recorded).unwrap_or_default();
        Settle {
            id: state.job.id,
            token: claim.token().clone(),
            locks: state.locks().to_vec(),
            keep: match self.verdict {
                Verdict::Done => envelope.and_then(|envelope| claim.left_of(envelope.body.lock_at_least?)),
                _ => None,
            },
            nested: self.nested.clone(),
            unique: envelope.and_then(|envelope| envelope.header.unique.clone()),
            verdict: self.verdict.clone(),
            riding: self.riding.clone(),
            record: AttemptRecord {
                job: job_text(state.job.id),
                task: envelope.map(|envelope| envelope.body.task.as_str().to_owned()).unwrap_or_default(),
                number: state.number(),
                worker: claim.shop().worker.as_str().to_owned(),
                lock_keys: envelope.map(|envelope| joined(&envelope.header.locks)).unwrap_or_default(),
                fence: state.job.fence,
                lock: lock_word(&state.job.how),
                waited_ms: waited(&state.job.how).as_millis() as u64,
                ran_ms: self.ran.as_millis() as u64,
                outcome: self.outcome,
                error: self.error.to_string(),
                nested,
                nested_omitted,
            },
        }
    }
}

fn job_text(id: JobId) -> String {
    let digits = id.encode();
    String::from_utf8_lossy(&digits).into_owned()
}

/// Lock keys as the log has them.
pub(crate) fn joined(keys: &[LockKey]) -> String {
    match keys {
        [] => String::new(),
        [key] => key.as_str().to_owned(),
        keys => keys.iter().map(LockKey::as_str).collect::<Vec<_>>().join(","),
    }
}

fn lock_word(how: &LockOutcome) -> LockWord {
    match how {
        LockOutcome::None => LockWord::None,
        LockOutcome::Acquired => LockWord::Acquired,
        LockOutcome::Waited(_) => LockWord::Waited,
        LockOutcome::Busy(_) | LockOutcome::Foreign(_) => LockWord::Busy,
        LockOutcome::GaveUp(_) => LockWord::GaveUp,
    }
}

/// How long a job was parked before this attempt.
pub(crate) fn waited(how: &LockOutcome) -> Duration {
    match how {
        LockOutcome::Waited(waited) | LockOutcome::GaveUp(waited) => *waited,
        _ => Duration::ZERO,
    }
}
