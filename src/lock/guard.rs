//! The guard of a lock that is held.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::hold::{Hold, Lease};
use super::owner::Entries;
use super::process::Locks;
use crate::error::Error;
use crate::limits::grace;
use crate::store::lease::ReleaseAnswer;

/// Holds a lock. [`Guard::release`] frees it and says what became of it; dropping the guard hands that over to a releaser.
///
/// What is known of the hold stands in [`Lease`], which a guard derefs to: its key, fence, end and loss.
#[must_use = "the lock is released when the guard is dropped"]
pub struct Guard {
    locks: Arc<Locks>,
    lease: Lease,
    owner: Option<Arc<Entries>>,
    /// It counts no more.
    left: AtomicBool,
    /// It was the last of its hold: it releases.
    last: AtomicBool,
}

impl Guard {
    pub(super) fn new(locks: Arc<Locks>, hold: Arc<Hold>, owner: Option<Arc<Entries>>) -> Self {
        Self {
            locks,
            lease: Lease(hold),
            owner,
            left: AtomicBool::new(false),
            last: AtomicBool::new(false),
        }
    }

    pub(super) fn belongs_to(&mut self, owner: Arc<Entries>) {
        owner.add(&self.lease.0);
        self.owner = Some(owner);
    }

    /// What is known of the hold; clones of it do not keep it.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Releases the lock: `Released`, or `NotHeld` when it was lost before. It is not renewed from here on. After an error it may be called
    /// again, until there is a definite answer, which then stands. Of an [`Owner`](super::Owner) that entered again only the last guard frees it;
    /// the others answer `Released`.
    ///
    /// # Errors
    /// [`Error::Unreachable`] and [`Error::Unknown`] when no answer came within 5 s. Dropping the guard then goes on asking.
    ///
    /// # Cancel safety
    /// Cancel safe: call it again, or drop the guard, which goes on.
    ///
    /// # Redis
    /// One round trip, one script; it also hands the lock to the next waiter.
    pub async fn release(&self) -> Result<ReleaseAnswer, Error> {
        if !self.leave() {
            return Ok(ReleaseAnswer::Released);
        }
        let hold = &self.lease.0;
        if let Some(answer) = hold.released() {
            return Ok(answer);
        }
        let store = self.locks.store();
        let answer = match hold.kept() {
            Duration::ZERO => store.release(&hold.key, &hold.token).await?,
            kept => store.keep(&hold.key, &hold.token, kept).await?,
        };
        Ok(hold.note_released(answer))
    }

    /// Leaves the hold, once; whether this is the guard that releases it.
    fn leave(&self) -> bool {
        if !self.left.swap(true, Ordering::AcqRel) && self.lease.0.leave() {
            if let Some(owner) = &self.owner {
                owner.remove(&self.lease.0);
            }
            self.locks.watchdog.forget(&self.lease.0);
            self.last.store(true, Ordering::Release);
        }
        self.last.load(Ordering::Acquire)
    }
}

impl Deref for Guard {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let hold = &self.lease.0;
        if self.leave() && hold.released().is_none() {
            let ttl = hold.lease + grace(hold.lease);
            match hold.kept() {
                Duration::ZERO => self.locks.hand_over(&hold.key, &hold.token, ttl),
                kept => self.locks.keep(&hold.key, &hold.token, kept, ttl),
            }
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.lease).finish()
    }
}
