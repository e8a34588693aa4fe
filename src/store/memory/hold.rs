//! Locks held by themselves: acquire and release.

use std::time::Duration;

use super::state::{Lock, State};
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::{AcquireAnswer, ReleaseAnswer};

impl State {
    pub fn acquire(&mut self, key: &LockKey, token: &OwnerToken, ttl: Duration, sent_at: LeaseInstant) -> Result<AcquireAnswer, Error> {
        match self.lock_of(key) {
            Some(Lock::Foreign) => Err(Error::Internal {
                what: format!("the key of lock `{key}` holds something that is no lock"),
            }),
            Some(Lock::Held { token: holder, fence, .. }) if holder == token => Ok(AcquireAnswer::Acquired { fence: *fence, sent_at }),
            Some(Lock::Held { .. }) => Ok(AcquireAnswer::Busy),
            None if self.parked.contains_key(key) || self.next.contains_key(key) => Ok(AcquireAnswer::Busy),
            None => {
                let fence = Fence(self.take_fences(1));
                let until = self.now.saturating_add(ttl);
                let token = token.clone();
                self.locks.insert(key.clone(), Lock::Held { token, fence, until });
                Ok(AcquireAnswer::Acquired { fence, sent_at })
            }
        }
    }

    pub fn release(&mut self, key: &LockKey, token: &OwnerToken) -> ReleaseAnswer {
        match self.free(key, token) {
            true => ReleaseAnswer::Released,
            false => ReleaseAnswer::NotHeld,
        }
    }
}
