//! Locks held by themselves: acquire, renew, release, break.

use std::time::Duration;

use super::state::{Lock, State};
use crate::clock::LeaseInstant;
use crate::limits::{BROKEN_KEPT, BROKEN_KEPT_MAX};
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::{AcquireAnswer, BreakAnswer, HoldRenewal, HoldRenewed, ReleaseAnswer};
use crate::store::view::Push;

impl State {
    pub fn acquire(&mut self, key: &LockKey, token: &OwnerToken, ttl: Duration, sent_at: LeaseInstant) -> AcquireAnswer {
        match self.lock_of(key) {
            Some(Lock::Held { token: holder, fence, .. }) if holder == token => {
                let fence = *fence;
                self.hold(key, token, fence, ttl);
                AcquireAnswer::Acquired { fence, sent_at }
            }
            Some(_) => AcquireAnswer::Busy,
            None if self.parked.contains_key(key) || self.next.contains_key(key) => AcquireAnswer::Busy,
            None => {
                let fence = Fence(self.take_fences(1));
                self.hold(key, token, fence, ttl);
                AcquireAnswer::Acquired { fence, sent_at }
            }
        }
    }

    pub fn hold(&mut self, key: &LockKey, token: &OwnerToken, fence: Fence, ttl: Duration) {
        let until = self.now.saturating_add(ttl);
        let token = token.clone();
        self.locks.insert(key.clone(), Lock::Held { token, fence, until });
    }

    pub fn renew_hold(&mut self, hold: &HoldRenewal) -> HoldRenewed {
        match self.lock_of(&hold.key) {
            Some(Lock::Held { token, fence, .. }) if *token == hold.token => {
                let fence = *fence;
                self.hold(&hold.key, &hold.token, fence, hold.ttl);
                HoldRenewed::Renewed
            }
            _ if self.broken.iter().any(|(_, key, token)| *key == hold.key && *token == hold.token) => HoldRenewed::Broken,
            Some(_) => HoldRenewed::Taken,
            None => HoldRenewed::Expired,
        }
    }

    pub fn break_lock(&mut self, key: &LockKey) -> BreakAnswer {
        let (token, fence) = match self.lock_of(key) {
            Some(Lock::Held { token, fence, .. }) => (token.clone(), *fence),
            Some(Lock::Foreign) => return BreakAnswer::Foreign,
            None => return BreakAnswer::Free,
        };
        let now = self.now;
        self.broken.retain(|(at, ..)| *at + BROKEN_KEPT >= now);
        if self.broken.len() >= BROKEN_KEPT_MAX {
            self.broken.pop_front();
        }
        self.broken.push_back((now, key.clone(), token.clone()));
        self.free(key, &token);
        self.pushes.send_to_owner(&token, Push::Broken(key.clone(), token.clone()));
        BreakAnswer::Broken { token, fence }
    }

    pub fn keep(&mut self, key: &LockKey, token: &OwnerToken, time: Duration) -> ReleaseAnswer {
        match self.lock_of(key) {
            Some(Lock::Held { token: holder, fence, .. }) if holder == token => {
                let fence = *fence;
                self.hold(key, token, fence, time);
                ReleaseAnswer::Released
            }
            _ => ReleaseAnswer::NotHeld,
        }
    }

    pub fn release(&mut self, key: &LockKey, token: &OwnerToken) -> ReleaseAnswer {
        match self.free(key, token) {
            true => ReleaseAnswer::Released,
            false => ReleaseAnswer::NotHeld,
        }
    }
}
