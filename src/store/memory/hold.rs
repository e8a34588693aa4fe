//! Locks held by themselves: acquire and release.

use std::time::Duration;

use super::state::{Lock, State};
use crate::clock::LeaseInstant;
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::{AcquireAnswer, ReleaseAnswer};

impl State {
    pub fn acquire(&mut self, key: &LockKey, token: &OwnerToken, ttl: Duration, sent_at: LeaseInstant) -> AcquireAnswer {
        match self.lock_of(key) {
            Some(Lock::Held { token: holder, fence, .. }) if holder == token => AcquireAnswer::Acquired { fence: *fence, sent_at },
            Some(_) => AcquireAnswer::Busy,
            None if self.parked.contains_key(key) || self.next.contains_key(key) => AcquireAnswer::Busy,
            None => {
                let fence = Fence(self.take_fences(1));
                let until = self.now.saturating_add(ttl);
                let token = token.clone();
                self.locks.insert(key.clone(), Lock::Held { token, fence, until });
                AcquireAnswer::Acquired { fence, sent_at }
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
