//! Clients in line for a lock: asked, told, offered to, given up.

use std::time::Duration;

use super::state::{Lock, State, Waiter};
use crate::clock::LeaseInstant;
use crate::limits::{ASK_EVERY, OFFER_KEPT, WAITING_GONE, WAITING_SILENT};
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::{AcquireAnswer, ParkAnswer, ReleaseAnswer};
use crate::store::view::Push;

impl State {
    pub fn acquire_or_park(&mut self, key: &LockKey, token: &OwnerToken, ttl: Duration, sent_at: LeaseInstant) -> ParkAnswer {
        if let AcquireAnswer::Acquired { fence, sent_at } = self.acquire(key, token, ttl, sent_at) {
            return ParkAnswer::Acquired { fence, sent_at };
        }
        self.waiting.insert(token.process(), self.now);
        let waiter = Waiter::Client(token.clone());
        let line = self.parked.entry(key.clone()).or_default();
        if !line.contains(&waiter) {
            line.push_back(waiter);
        }
        self.left_alone.remove(key);
        self.asking = Some(token.clone());
        self.check_lock(key);
        self.asking = None;
        let until = match self.lock_of(key) {
            Some(Lock::Held { token: holder, fence, .. }) if holder == token => {
                let fence = *fence;
                self.hold(key, token, fence, ttl);
                return ParkAnswer::Acquired { fence, sent_at };
            }
            Some(Lock::Held { until, .. }) => *until,
            _ => self.next.get(key).map_or(self.now + ASK_EVERY, |next| next.until),
        };
        let ask_in = until.saturating_sub(self.now) + Duration::from_millis(1);
        ParkAnswer::Parked {
            ask_in: ask_in.min(ASK_EVERY),
        }
    }

    pub fn give_up_waiting(&mut self, key: &LockKey, token: &OwnerToken) -> ReleaseAnswer {
        self.leave_line(&Waiter::Client(token.clone()), key);
        self.release(key, token)
    }

    /// Gives the lock to a client for as long as it may take to confirm.
    pub fn offer(&mut self, key: &LockKey, token: OwnerToken) {
        self.leave_line(&Waiter::Client(token.clone()), key);
        self.left_alone.remove(key);
        let fence = Fence(self.take_fences(1));
        self.hold(key, &token, fence, OFFER_KEPT);
        self.pushes.send(&token.process(), Push::Offered(token.clone()));
    }

    /// Whether a client can be told that it is its turn; who cannot keeps its place.
    pub fn is_told(&self, token: &OwnerToken) -> bool {
        let process = token.process();
        let asked = self.waiting.get(&process).copied().unwrap_or_default();
        self.asking.as_ref() == Some(token) || (asked + WAITING_SILENT >= self.now && self.pushes.is_heard(&process))
    }

    /// Takes clients whose process has not asked for long out of the line.
    pub fn drop_gone(&mut self, key: &LockKey) {
        let gone = |token: &OwnerToken, state: &State| {
            let asked = state.waiting.get(&token.process()).copied().unwrap_or_default();
            state.asking.as_ref() != Some(token) && asked + WAITING_GONE < state.now
        };
        let line = self.parked.get(key).into_iter().flatten();
        let leaving: Vec<Waiter> = line
            .filter(|waiter| matches!(waiter, Waiter::Client(token) if gone(token, self)))
            .cloned()
            .collect();
        for waiter in leaving {
            self.leave_line(&waiter, key);
        }
    }
}
