//! A lock by its name, and how it is to be taken.

use std::sync::Arc;
use std::time::Duration;

use super::guard::Guard;
use super::hold::{Hold, Lease, Span};
use super::owner::Entries;
use super::process::{Locks, Wait, busy};
use crate::error::{Error, Invalid};
use crate::limits::{DELAY_MAX, LEASE, LEASE_MAX, LEASE_MIN, NESTED_WAIT};
use crate::names::LockKey;

/// The shortest fixed lease.
const FIXED_MIN: Duration = Duration::from_millis(10);

/// A lock that may be taken. Nothing is sent before [`Lock::acquire`], [`Lock::try_acquire`] or [`Lock::run`].
#[must_use = "a lock is not taken before `acquire`, `try_acquire` or `run` is awaited"]
#[derive(Clone)]
pub struct Lock {
    locks: Arc<Locks>,
    key: String,
    owner: Option<Arc<Entries>>,
    wait: Option<Duration>,
    span: Span,
}

impl Lock {
    pub(crate) fn new(locks: Arc<Locks>, key: &str) -> Self {
        Self {
            locks,
            key: key.to_owned(),
            owner: None,
            wait: None,
            span: Span {
                lease: LEASE,
                fixed: false,
                most: None,
                least: None,
            },
        }
    }

    pub(super) fn named(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    pub(super) fn of(mut self, owner: Arc<Entries>) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Sets how long [`Lock::acquire`] waits before it answers [`Error::Busy`]. Default: for as long as it takes; 5 s for an
    /// [`Owner`](super::Owner) that holds another lock.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Takes it for this time, without renewing: 10 ms to 1 h. Default: it is renewed until it is released.
    pub fn lease(mut self, lease: Duration) -> Self {
        (self.span.lease, self.span.fixed) = (lease, true);
        self
    }

    /// Renews it every third of this time, after which it ends should this process die: 1 s to 1 h. Default 15 s.
    pub fn renewed(mut self, lease: Duration) -> Self {
        (self.span.lease, self.span.fixed) = (lease, false);
        self
    }

    /// Holds it for this long at most, however long its body takes: it is not renewed beyond, and its loss says so. Default: without a limit.
    pub fn max_hold(mut self, most: Duration) -> Self {
        self.span.most = Some(most);
        self
    }

    /// Keeps it for this long at least from its acquisition, also when it is released or dropped before: it then ends by itself. For work that is
    /// over sooner than the clocks of those who start it agree. Should this process die, it ends with its lease. Up to 1 h, default none.
    pub fn lock_at_least(mut self, least: Duration) -> Self {
        self.span.least = Some(least);
        self
    }

    /// Takes the lock if nobody holds it or waits for it.
    ///
    /// # Errors
    /// [`Error::Busy`] when somebody does; [`Error::Invalid`] when the key is empty or over 512 bytes, or a time not allowed; [`Error::Unreachable`],
    /// [`Error::Refused`]; [`Error::Unknown`] when no answer came: then it is released as soon as one does.
    ///
    /// # Cancel safety
    /// Cancel safe: what was taken is released.
    ///
    /// # Redis
    /// One round trip, one script, O(1).
    pub async fn try_acquire(self) -> Result<Guard, Error> {
        self.take(Wait::Not).await
    }

    /// Takes the lock, waiting in line for it: first come, first served, parked jobs and clients alike. Whoever holds it hands it over; nothing polls.
    ///
    /// # Errors
    /// [`Error::Busy`] when [`Lock::wait`] has passed; [`Error::Lost`] when its time was over before its answer came; else as
    /// [`Lock::try_acquire`].
    ///
    /// # Cancel safety
    /// Cancel safe: it leaves the line, and what was taken is released.
    ///
    /// # Redis
    /// One round trip when it is free. Else one to stand in line and one to confirm its turn, and one a second for each process and lock; one
    /// subscription a client, made by its first wait.
    pub async fn acquire(self) -> Result<Guard, Error> {
        let wait = self.wait.map_or(Wait::Forever, Wait::AtMost);
        self.take(wait).await
    }

    /// Holds the lock for as long as `body` runs: acquires, runs, releases. When the lock is lost meanwhile the body is dropped at its next await.
    ///
    /// What the body returned is returned even when its release finds the lock lost or gets no answer; that is logged as a warning.
    ///
    /// # Errors
    /// [`Error::Lost`] when the body was dropped, with the cause; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// Dropping it drops the body and releases.
    pub async fn run<F, Fut, T>(self, body: F) -> Result<T, Error>
    where
        F: FnOnce(Lease) -> Fut,
        Fut: Future<Output = T>,
    {
        let guard = self.acquire().await?;
        let lease = guard.lease().clone();
        let value = tokio::select! { biased;
            _ = lease.lost().into_future() => return Err(lease.error()),
            value = body(lease.clone()) => value,
        };
        match guard.release().await {
            Ok(super::ReleaseAnswer::Released) => {}
            Ok(super::ReleaseAnswer::NotHeld) => tracing::warn!(lock.key = %lease.key(), "lock was not held any more at its release"),
            Err(error) => tracing::warn!(lock.key = %lease.key(), %error, "release not answered, it is sent again"),
        }
        Ok(value)
    }

    async fn take(self, wait: Wait) -> Result<Guard, Error> {
        let key = self.checked()?;
        let Some(owner) = &self.owner else {
            return self.acquire_new(key, wait).await;
        };
        let owner = owner.clone();
        if let Some(hold) = owner.enter(&key) {
            return Ok(Guard::new(self.locks, hold, Some(owner)));
        }
        // one acquisition of an owner at a time, so that a key is never asked for twice
        let _gate = match wait {
            Wait::Not => owner.gate.try_lock().map_err(|_| busy(&key))?,
            _ => owner.gate.lock().await,
        };
        if let Some(hold) = owner.enter(&key) {
            return Ok(Guard::new(self.locks, hold, Some(owner.clone())));
        }
        let bounded = match wait {
            Wait::Forever if owner.holds_any() => Wait::AtMost(NESTED_WAIT),
            wait => wait,
        };
        let mut guard = self.acquire_new(key, bounded).await?;
        guard.belongs_to(owner.clone());
        Ok(guard)
    }

    async fn acquire_new(self, key: LockKey, wait: Wait) -> Result<Guard, Error> {
        let token = self.locks.token();
        let ttl = self.span.ttl();
        let taken = self.locks.acquire(&key, &token, ttl, wait).await?;
        let number = self.locks.number();
        let hold = Arc::new(Hold::new(key, token, taken.fence, taken.sent_at, self.span, number));
        let guard = Guard::new(self.locks.clone(), hold.clone(), None);
        if hold.valid_until().passed() {
            return Err(guard.lease().error());
        }
        self.locks.watch(&hold)?;
        Ok(guard)
    }

    /// The key, once everything that was asked for is allowed.
    fn checked(&self) -> Result<LockKey, Error> {
        let mut problems = Vec::new();
        let key = LockKey::new(&self.key).map_err(|error| match error {
            Error::Invalid(found) => problems.extend(found),
            other => problems.push(Invalid::new("lock key", other, "1 to 512 bytes")),
        });
        let Span { lease, fixed, most, least } = self.span;
        let (shortest, allowed) = match fixed {
            true => (FIXED_MIN, "10 ms to 1 h"),
            false => (LEASE_MIN, "1 s to 1 h for a lock that is renewed; `lease` takes shorter ones"),
        };
        if lease < shortest || lease > LEASE_MAX {
            problems.push(Invalid::new("lease", format!("{lease:?}"), allowed));
        }
        if let Some(most) = most.filter(|most| *most < FIXED_MIN || *most > DELAY_MAX) {
            problems.push(Invalid::new("max_hold", format!("{most:?}"), "10 ms to 3660 days"));
        }
        if let Some(least) = least.filter(|least| *least > LEASE_MAX) {
            problems.push(Invalid::new("lock_at_least", format!("{least:?}"), "up to 1 h"));
        }
        if let (true, Some(least)) = (fixed, least.filter(|least| *least > lease)) {
            let allowed = format!("at most the lease, {lease:?}, which is not renewed");
            problems.push(Invalid::new("lock_at_least", format!("{least:?}"), allowed));
        }
        match key {
            Ok(key) if problems.is_empty() => Ok(key),
            _ => Err(Error::Invalid(problems)),
        }
    }
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock")
            .field("key", &self.key)
            .field("wait", &self.wait)
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}
