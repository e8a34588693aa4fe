//! Several locks, all or none.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::select_all;
use tokio::time::Instant;

use super::guard::Guard;
use super::hold::{Lease, Loss};
use super::process::Locks;
use super::request::Lock;
use crate::error::{Error, Invalid};
use crate::limits::LOCK_KEYS_MAX;
use crate::names::{Fence, LockKey};
use crate::store::lease::ReleaseAnswer;

/// Several locks that may be taken, all or none, in the order of their keys.
///
/// Nothing is held while it waits: who finds one busy gives the others back, waits in line for that one, and then tries the rest. So two callers
/// whose keys cross do not wait for each other for ever.
#[must_use = "no lock is taken before `acquire` or `try_acquire` is awaited"]
#[derive(Clone)]
pub struct LockAll {
    locks: Arc<Locks>,
    keys: Vec<String>,
    set: Lock,
    wait: Option<Duration>,
}

impl LockAll {
    pub(crate) fn new(locks: Arc<Locks>, mut keys: Vec<String>) -> Self {
        keys.sort();
        keys.dedup();
        let set = Lock::new(locks.clone(), "");
        let wait = None;
        Self { locks, keys, set, wait }
    }

    /// Sets how long [`LockAll::acquire`] waits in all before it answers [`Error::Busy`]. Default: for as long as it takes.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// As [`Lock::lease`], for each.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.set = self.set.lease(lease);
        self
    }

    /// As [`Lock::renewed`], for each.
    pub fn renewed(mut self, lease: Duration) -> Self {
        self.set = self.set.renewed(lease);
        self
    }

    /// Takes all of them, if nobody holds one or waits for one.
    ///
    /// # Errors
    /// [`Error::Busy`] with the first that is not to be had; [`Error::Invalid`] for no key, more than 8, or what [`Lock::try_acquire`] refuses; else as that.
    ///
    /// # Cancel safety
    /// Cancel safe: what was taken is released.
    ///
    /// # Redis
    /// One round trip a key, and one for each that was taken before one is busy.
    pub async fn try_acquire(self) -> Result<Guards, Error> {
        self.check()?;
        self.take(None).await.map_err(|(_, error)| error)
    }

    /// Takes all of them, waiting in line for one that is busy while it holds none.
    ///
    /// # Errors
    /// [`Error::Busy`] when [`LockAll::wait`] has passed, with the one that was waited for; else as [`LockAll::try_acquire`].
    ///
    /// # Cancel safety
    /// Cancel safe: it leaves the line, and what was taken is released.
    ///
    /// # Redis
    /// As [`LockAll::try_acquire`], and as [`Lock::acquire`] for each key that it waits for.
    pub async fn acquire(self) -> Result<Guards, Error> {
        self.check()?;
        let until = self.wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut first: Option<usize> = None;
        loop {
            let waited = match first {
                None => None,
                Some(at) => {
                    let mut lock = self.one(at);
                    if let Some(until) = until {
                        lock = lock.wait(until.saturating_duration_since(Instant::now()));
                    }
                    Some((at, lock.acquire().await?))
                }
            };
            match self.take(waited).await {
                Ok(guards) => return Ok(guards),
                Err((at, Error::Busy { .. })) => first = Some(at),
                Err((_, error)) => return Err(error),
            }
        }
    }

    fn one(&self, at: usize) -> Lock {
        self.set.clone().named(&self.keys[at])
    }

    /// Takes all but the one that is held already; with one that is not to be had, none.
    async fn take(&self, held: Option<(usize, Guard)>) -> Result<Guards, (usize, Error)> {
        let (mut waited, mut held) = held.unzip();
        let mut guards = Vec::with_capacity(self.keys.len());
        for at in 0..self.keys.len() {
            if waited == Some(at) {
                waited = None;
                guards.extend(held.take());
                continue;
            }
            match self.one(at).try_acquire().await {
                Ok(guard) => guards.push(guard),
                Err(error) => {
                    // given back before anything is waited for
                    for guard in guards.iter().chain(&held) {
                        let _ = guard.release().await;
                    }
                    return Err((at, error));
                }
            }
        }
        Ok(Guards(guards))
    }

    fn check(&self) -> Result<(), Error> {
        let mut problems = Vec::new();
        if !(1..=LOCK_KEYS_MAX).contains(&self.keys.len()) {
            problems.push(Invalid::new(
                "locks",
                self.keys.len(),
                format!("1 to {LOCK_KEYS_MAX} different keys"),
            ));
        }
        for key in &self.keys {
            if let Err(Error::Invalid(more)) = LockKey::new(key) {
                problems.extend(more);
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid(problems))
        }
    }
}

impl fmt::Debug for LockAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockAll")
            .field("keys", &self.keys)
            .field("wait", &self.wait)
            .field("process", self.locks.process())
            .finish_non_exhaustive()
    }
}

/// Holds several locks. Dropping it releases all.
#[derive(Debug)]
#[must_use = "the locks are released when this is dropped"]
pub struct Guards(Vec<Guard>);

impl Guards {
    /// What is known of each, in the order of their keys.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.0.iter().map(Guard::lease)
    }

    /// The fence of one; `None` when its key is none of them.
    pub fn fence(&self, key: &str) -> Option<Fence> {
        self.leases().find(|lease| lease.key().as_str() == key).map(Lease::fence)
    }

    /// Whether all are held, as far as this process can tell.
    pub fn is_valid(&self) -> bool {
        self.leases().all(Lease::is_valid)
    }

    /// Waits until one is lost, and says which and why.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn lost(&self) -> (LockKey, Loss) {
        let losses = self.leases().map(|lease| lease.lost().into_future());
        let (loss, at, _) = select_all(losses).await;
        (self.0[at].key().clone(), loss)
    }

    /// Releases all: `Released`, or `NotHeld` when one was lost before. After an error it may be called again.
    ///
    /// # Errors
    /// The first that was met; the others were released all the same.
    ///
    /// # Cancel safety
    /// Cancel safe: call it again, or drop the guards, which goes on.
    ///
    /// # Redis
    /// One round trip a lock.
    pub async fn release(&self) -> Result<ReleaseAnswer, Error> {
        let mut answer = Ok(ReleaseAnswer::Released);
        for guard in &self.0 {
            match guard.release().await {
                Ok(ReleaseAnswer::Released) => {}
                Ok(ReleaseAnswer::NotHeld) => answer = answer.and(Ok(ReleaseAnswer::NotHeld)),
                Err(error) => answer = answer.and(Err(error)),
            }
        }
        answer
    }
}
