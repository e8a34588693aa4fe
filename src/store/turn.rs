//! The turn: a worker's one round trip per batch.

use std::time::Duration;

use crate::clock::LeaseInstant;
use crate::names::{Fence, JobId, LockKey, OwnerToken, QueueName};
use crate::store::new_job::{Body, Header};
use crate::store::settle::{Settle, SettleAnswer};

/// What a worker sends.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// Attempts that ended, at most [`SETTLES_MAX`](crate::limits::SETTLES_MAX).
    pub settles: Vec<Settle>,
    /// Claims whose every attempt has been answered for, or is settled in this turn with no other turn in flight.
    pub finished: Vec<OwnerToken>,
    /// Jobs to claim at most; 0 to claim none (a settle, or a look).
    pub want: usize,
    /// Queues to claim from, in strict order.
    pub queues: Vec<QueueName>,
    /// Queues whose mark this worker took and has not turned for since.
    pub took: Vec<QueueName>,
    /// The lease of the claim.
    pub lease: Duration,
    /// Whether a struck suspect may be claimed, and whether it would run alone.
    pub suspects: Suspects,
    /// Whether the attempts log is written.
    pub log: bool,
    /// Counts since the last turn that said them, about twice a second.
    pub counts: Vec<(&'static str, u64)>,
}

/// Which *struck* suspects a turn may claim: jobs whose last attempt ended with its worker, and not for the first time, or whose next such end would be the
/// last. Other suspects are claimed like any job: they cannot be buried for their neighbours, and after a kill they would wait for the whole queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Suspects {
    /// None: this worker runs one, or another turn is in flight.
    #[default]
    None,
    /// One that is not at its last strike.
    One,
    /// One, also at its last strike: nothing else runs in this worker. It is then the only job of the claim.
    OneAlone,
    /// This one, at its last strike, and no other job: nothing runs in this worker, which has waited for that.
    Only(JobId),
}

/// What the store answers.
#[derive(Debug, Clone)]
pub struct TurnReply {
    /// For each settle, in order.
    pub settled: Vec<SettleAnswer>,
    /// What was claimed.
    pub claim: Option<Claim>,
    /// Whether another turn would find more.
    pub more: More,
    /// The first suspect at its last strike that this turn met and might not claim. A worker that hears this for long enough
    /// empties itself and asks for that one ([`Suspects::Only`]), or it would wait for ever under constant load.
    pub put_off: Option<JobId>,
}

/// Whether there is more to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Every queue was seen empty (or paused).
    No,
    /// There is more.
    Yes,
    /// Not looked.
    Unknown,
    /// Only suspects, which this turn might not claim: try again when one may, or in a while.
    OnlySuspects,
}

/// What one turn took.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its name; the owner token of each of its attempts and their locks.
    pub token: OwnerToken,
    /// When the turn was first sent: its attempts are valid from here for lease less margin.
    pub sent_at: LeaseInstant,
    /// The jobs, at least one.
    pub jobs: Vec<ClaimedJob>,
}

/// A claimed job.
#[derive(Debug, Clone)]
pub struct ClaimedJob {
    /// Its id.
    pub id: JobId,
    /// Greater than any fence of this job or of its locks before.
    pub fence: Fence,
    /// What it is; `Err` holds the raw bytes of what could not be read (to be buried alone).
    pub envelope: Result<Envelope, Undecodable>,
    /// How its locks were got.
    pub how: LockOutcome,
    /// What went before.
    pub tries: Tries,
    /// It passed its expiry before this claim: settle as dead without running.
    pub expired: bool,
    /// It is a suspect at its last strike and has the worker for itself: claim nothing until it ends.
    pub alone: bool,
}

impl ClaimedJob {
    /// Whether it is a suspect of which a worker runs one at a time: it has a strike already, or the next one is its last.
    pub fn is_struck(&self) -> bool {
        self.alone || (self.tries.suspect && self.tries.strikes > 0)
    }
}

/// A job as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Line 1. `expires_in` is not filled: the store says `expired`.
    pub header: Header,
    /// The rest.
    pub body: Body,
}

/// A stored job that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// What is wrong with it.
    pub reason: String,
}

/// How the locks of a claimed job were got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockOutcome {
    /// It has none.
    None,
    /// They were free.
    Acquired,
    /// It was parked behind one for this long.
    Waited(Duration),
    /// This one is held; the job's `on_busy` is not `wait`, so it comes without locks, to be settled accordingly.
    Busy(LockKey),
    /// It was parked for its `wait_timeout`: it comes without locks, to be settled as busy.
    GaveUp(Duration),
    /// The key of this lock holds something that is no lock: it comes without locks, to be buried.
    Foreign(LockKey),
}

/// What went before with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// Charged attempts so far.
    pub charged: u32,
    /// Crashes as a suspect so far.
    pub strikes: u32,
    /// Its last attempt ended with its worker.
    pub suspect: bool,
    /// Uncharged returns in a row for a mismatch (unknown task, undecodable arguments).
    pub mismatches: u32,
    /// For how long they go on, on the server's clock.
    pub mismatched_for: Duration,
}
