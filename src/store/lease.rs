//! Renewing and holding.

use std::time::Duration;

use crate::clock::LeaseInstant;
use crate::names::{Fence, JobId, LockKey, OwnerToken};
use crate::store::view::Progress;

/// A renewal of one claim: its deadline and every lock its attempts hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// The claim.
    pub token: OwnerToken,
    /// Its lease.
    pub lease: Duration,
    /// Every attempt of it that runs or has yet to be settled. An id of the claim that it owns and this does not name
    /// goes back to the head of its queue.
    pub attempts: Vec<RenewedAttempt>,
}

/// One attempt in a renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewedAttempt {
    /// The job.
    pub id: JobId,
    /// The task's locks, held under the claim's token.
    pub locks: Vec<LockKey>,
    /// Nested holds.
    pub nested: Vec<(LockKey, OwnerToken)>,
    /// How far it has come, where it says so.
    pub progress: Option<Progress>,
}

/// The answer to one renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewalAnswer {
    /// When the renewal was sent: what was renewed is valid from here.
    pub sent_at: LeaseInstant,
    /// For each attempt, in order.
    pub attempts: Vec<Renewed>,
}

/// What became of one attempt in a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewed {
    /// Renewed.
    Renewed,
    /// Renewed, and somebody asked for it to stop.
    Cancelled,
    /// The job or one of its locks is not this attempt's any more (or the deadline had passed): nothing was renewed.
    Lost,
}

/// The answer to an acquire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcquireAnswer {
    /// Taken now, or by an earlier sending of the same token.
    Acquired {
        /// The acquisition's fence.
        fence: Fence,
        /// When it was first sent: the hold is valid from here.
        sent_at: LeaseInstant,
    },
    /// Somebody else holds it, or waits for it.
    Busy,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseAnswer {
    /// It was held under the token and is free now.
    Released,
    /// It was not held under the token.
    NotHeld,
}

/// The answer to an acquisition that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkAnswer {
    /// Held: taken now, offered before and confirmed by this, or held by an earlier sending of the same token.
    Acquired {
        /// The acquisition's fence.
        fence: Fence,
        /// When this was first sent: the hold is valid from here.
        sent_at: LeaseInstant,
    },
    /// In line behind others. [`Push::Offered`](crate::store::view::Push::Offered) tells of its turn.
    Parked {
        /// When nothing was heard until then, ask again.
        ask_in: Duration,
    },
}

/// A renewal of a lock held by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRenewal {
    /// The lock.
    pub key: LockKey,
    /// The acquisition.
    pub token: OwnerToken,
    /// How long it is held from when this arrives.
    pub ttl: Duration,
}

/// The answer to renewals of locks held by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldsRenewed {
    /// When they were sent: what was renewed is valid from here.
    pub sent_at: LeaseInstant,
    /// For each, in order.
    pub holds: Vec<HoldRenewed>,
}

/// What became of one hold in a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldRenewed {
    /// Renewed.
    Renewed,
    /// Nobody holds it: its time had passed, or it was deleted.
    Expired,
    /// Somebody else holds it.
    Taken,
    /// An operator broke it.
    Broken,
}

/// The answer to a break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakAnswer {
    /// Taken from its holder.
    Broken {
        /// The claim or acquisition that held it.
        token: OwnerToken,
        /// Its fence.
        fence: Fence,
    },
    /// Nobody held it.
    Free,
    /// Something that is no lock stands under its key; nothing was done.
    Foreign,
}
