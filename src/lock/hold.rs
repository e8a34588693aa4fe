//! One acquisition as its process knows it: how long it is valid, and why it was lost.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::{grace, margin};
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::ReleaseAnswer;

/// Why a lock is not held any more though nobody released it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// Its time was over: a fixed lease ended, or the store says that nobody holds it.
    Expired,
    /// Somebody else holds it: its time was over before.
    Taken,
    /// An operator broke it.
    Broken,
    /// No renewal was answered before its time was over, as far as this process can tell.
    Unanswered,
    /// It was held for as long as [`Lock::max_hold`](super::Lock::max_hold) allows, and was not renewed beyond.
    HeldTooLong,
}

impl Loss {
    fn from_code(code: u8) -> Option<Self> {
        [Loss::Expired, Loss::Taken, Loss::Broken, Loss::Unanswered, Loss::HeldTooLong]
            .into_iter()
            .find(|loss| *loss as u8 + 1 == code)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Expired => "its time was over",
            Loss::Taken => "somebody else holds it",
            Loss::Broken => "an operator broke it",
            Loss::Unanswered => "no renewal was answered in time",
            Loss::HeldTooLong => "it was held for as long as `max_hold` allows",
        })
    }
}

/// For how long a lock is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub lease: Duration,
    /// It is not renewed: it ends when its lease does.
    pub fixed: bool,
    /// It is not renewed beyond this.
    pub most: Option<Duration>,
    /// It is kept for this at least, also when it is released before.
    pub least: Option<Duration>,
}

impl Span {
    /// Its time to live in the store when it begins.
    pub(super) fn ttl(&self) -> Duration {
        self.most.map_or(self.lease, |most| most.min(self.lease)) + grace(self.lease)
    }
}

/// One acquisition.
pub(crate) struct Hold {
    pub(super) key: LockKey,
    pub(super) token: OwnerToken,
    fence: Fence,
    pub(super) lease: Duration,
    /// It is not renewed: it ends when its lease does.
    pub(super) fixed: bool,
    /// It is not renewed beyond this instant.
    ends: Option<LeaseInstant>,
    /// It is kept until this instant, also when it is released before.
    kept: Option<LeaseInstant>,
    valid_until: AtomicU64,
    loss: AtomicU8,
    changed: Notify,
    /// A release has begun: it is not renewed from here on.
    ended: AtomicBool,
    released: OnceLock<ReleaseAnswer>,
    /// Guards that have not left it: more than one only of an owner that entered again.
    guards: AtomicU32,
    /// When the watchdog looks at it next; changed only under its lock.
    pub(super) due: AtomicU64,
    pub(super) serial: u64,
}

impl Hold {
    pub(super) fn new(key: LockKey, token: OwnerToken, fence: Fence, sent_at: LeaseInstant, span: Span, serial: u64) -> Self {
        let Span { lease, fixed, .. } = span;
        let ends = span.most.map(|most| sent_at.plus(most));
        let until = sent_at.plus(lease - margin(lease));
        Self {
            key,
            token,
            fence,
            lease,
            fixed,
            ends,
            // from its answer on: the store gave it before
            kept: span.least.map(|least| LeaseInstant::now().plus(least)),
            valid_until: AtomicU64::new(ends.map_or(until, |ends| ends.min(until)).as_nanos()),
            loss: AtomicU8::new(0),
            changed: Notify::new(),
            ended: AtomicBool::new(false),
            released: OnceLock::new(),
            guards: AtomicU32::new(1),
            due: AtomicU64::new(0),
            serial,
        }
    }

    pub(super) fn valid_until(&self) -> LeaseInstant {
        LeaseInstant::from_nanos(self.valid_until.load(Ordering::Acquire))
    }

    /// A renewal sent then was acknowledged.
    pub(super) fn renewed(&self, sent_at: LeaseInstant) {
        let until = sent_at.plus(self.lease - margin(self.lease));
        let until = self.ends.map_or(until, |ends| ends.min(until));
        self.valid_until.fetch_max(until.as_nanos(), Ordering::AcqRel);
    }

    /// Its time to live in the store from now on.
    pub(super) fn ttl(&self) -> Duration {
        let left = self.ends.map_or(self.lease, |ends| ends.remaining().min(self.lease));
        left + grace(self.lease)
    }

    /// Whether it was held for as long as it may be.
    pub(super) fn is_over(&self) -> bool {
        self.ends.is_some_and(LeaseInstant::passed)
    }

    /// For how long it is kept when it is released now.
    pub(super) fn kept(&self) -> Duration {
        self.kept.map_or(Duration::ZERO, LeaseInstant::remaining)
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        Loss::from_code(self.loss.load(Ordering::Acquire))
    }

    /// It is lost, unless it was released or lost before.
    pub(super) fn lose(&self, loss: Loss) {
        if self.has_ended() {
            return;
        }
        let first = self.loss.compare_exchange(0, loss as u8 + 1, Ordering::AcqRel, Ordering::Acquire);
        if first.is_ok() {
            tracing::warn!(lock.key = %self.key, fence = %self.fence, cause = %loss, "lock lost");
            self.changed.notify_waiters();
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.loss().is_none() && !self.has_ended() && !self.valid_until().passed()
    }

    // ---- its end -----------------------------------------------------------------------------------------------------

    /// A further guard of the same owner; false when it is not to be had any more.
    pub(super) fn enter(&self) -> bool {
        let more = |guards: u32| (guards > 0 && self.is_valid()).then(|| guards + 1);
        self.guards.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// A guard leaves; true for the last one, with which the hold ends.
    pub(super) fn leave(&self) -> bool {
        let last = self.guards.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            self.ended.store(true, Ordering::Release);
        }
        last
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// What the store said to the release, once it did.
    pub(super) fn released(&self) -> Option<ReleaseAnswer> {
        self.released.get().copied()
    }

    /// The store answered the release; its first answer stands, for a later one only says that it was done before.
    pub(super) fn note_released(&self, answer: ReleaseAnswer) -> ReleaseAnswer {
        *self.released.get_or_init(|| answer)
    }
}

/// What is known of a lock that is held. Clones are the same hold; they do not keep it.
#[derive(Clone)]
pub struct Lease(pub(super) Arc<Hold>);

impl Lease {
    /// The lock's key.
    pub fn key(&self) -> &LockKey {
        &self.0.key
    }

    /// The fencing token of this acquisition: greater than that of every earlier holder of this lock. Pass it to whatever must refuse a late writer.
    pub fn fence(&self) -> Fence {
        self.0.fence
    }

    /// Until when this process counts as holder, unless it is renewed before.
    ///
    /// Not promised: that nobody else writes after it while this process is paused. Pass the fence on.
    pub fn valid_until(&self) -> LeaseInstant {
        self.0.valid_until()
    }

    /// Whether it is held, as far as this process can tell: not lost, not released, its time not over.
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// Tells of its loss: await it, or ask [`Lost::cause`].
    pub fn lost(&self) -> Lost {
        Lost(self.0.clone())
    }

    /// The error of whoever needs the lock to be valid.
    pub(super) fn error(&self) -> Error {
        let cause = self
            .0
            .loss()
            .map_or_else(|| "its time was over".to_owned(), |loss| loss.to_string());
        Error::Lost {
            action: format!("lock `{}` ({cause})", self.key()),
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("key", self.key())
            .field("fence", &self.fence())
            .field("loss", &self.0.loss())
            .finish_non_exhaustive()
    }
}

/// Tells of the loss of a lock: a token to ask and to keep, and, awaited, a future that ends with the cause. Never after a release.
#[derive(Clone)]
#[must_use = "await it, or ask for its cause"]
pub struct Lost(Arc<Hold>);

impl Lost {
    /// Why it was lost; `None` while it was not.
    pub fn cause(&self) -> Option<Loss> {
        self.0.loss()
    }

    async fn wait(self) -> Loss {
        loop {
            let changed = self.0.changed.notified();
            if let Some(loss) = self.0.loss() {
                return loss;
            }
            changed.await;
        }
    }
}

impl IntoFuture for Lost {
    type Output = Loss;
    type IntoFuture = Pin<Box<dyn Future<Output = Loss> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl fmt::Debug for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lost").field(&self.cause()).finish()
    }
}
