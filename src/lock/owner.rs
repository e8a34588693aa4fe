//! Whom re-entrancy belongs to outside of handlers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::hold::Hold;
use super::process::Locks;
use super::request::Lock;
use crate::names::LockKey;

/// An owner of locks: what it holds it may take again. Pass it on explicitly; it never leaves its process, and neither a thread nor a task is one.
///
/// Every outermost acquisition has a token of its own and is counted here, never in the store. An owner that holds something waits only
/// with a bound, 5 s unless [`Lock::wait`] says otherwise, so that no deadlock is kept alive by renewals.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), linchpin::Error> {
/// let client = linchpin::Client::connect("memory://").await?;
/// let owner = client.owner();
/// let outer = owner.lock("inventory:A1").acquire().await?;
/// let inner = owner.lock("inventory:A1").acquire().await?;
/// assert_eq!(inner.fence(), outer.fence());
/// assert!(client.lock("inventory:A1").try_acquire().await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Owner {
    locks: Arc<Locks>,
    entries: Arc<Entries>,
}

/// What an owner holds.
#[derive(Default)]
pub(super) struct Entries {
    holds: Mutex<HashMap<LockKey, Arc<Hold>>>,
    /// One acquisition at a time.
    pub(super) gate: tokio::sync::Mutex<()>,
}

impl Owner {
    pub(crate) fn new(locks: Arc<Locks>) -> Self {
        Self {
            locks,
            entries: Arc::default(),
        }
    }

    /// Names a lock that this owner may take, or enter again when it holds it.
    pub fn lock(&self, key: impl AsRef<str>) -> Lock {
        Lock::new(self.locks.clone(), key.as_ref()).of(self.entries.clone())
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held: Vec<LockKey> = self.entries.holds().keys().cloned().collect();
        f.debug_struct("Owner").field("holds", &held).finish_non_exhaustive()
    }
}

impl Entries {
    fn holds(&self) -> MutexGuard<'_, HashMap<LockKey, Arc<Hold>>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a hold again, if it is valid.
    pub(super) fn enter(&self, key: &LockKey) -> Option<Arc<Hold>> {
        self.holds().get(key).filter(|hold| hold.enter()).cloned()
    }

    pub(super) fn holds_any(&self) -> bool {
        self.holds().values().any(|hold| hold.is_valid())
    }

    pub(super) fn add(&self, hold: &Arc<Hold>) {
        self.holds().insert(hold.key.clone(), hold.clone());
    }

    /// Takes a hold that has ended off, unless another of its key has come.
    pub(super) fn remove(&self, ended: &Arc<Hold>) {
        let mut holds = self.holds();
        if holds.get(&ended.key).is_some_and(|hold| Arc::ptr_eq(hold, ended)) {
            holds.remove(&ended.key);
        }
    }
}
