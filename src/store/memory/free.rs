//! Free: a lock loses its holder, and the first waiter that may run is next.

use super::settle::Freed;
use super::state::{Lock, Next, Place, State, Wait, Waiter};
use crate::limits::{NEXT_KEPT, PAUSED_CHECK};
use crate::names::{JobId, LockKey, OwnerToken};

impl State {
    /// Whatever stands under the lock's key; nothing once its time has passed.
    pub fn lock_of(&self, key: &LockKey) -> Option<&Lock> {
        self.locks.get(key).filter(|lock| match lock {
            Lock::Held { until, .. } => *until > self.now,
            Lock::Foreign => true,
        })
    }

    /// Removes every token, then gives the turns in the order of the keys given.
    pub fn free_all(&mut self, freed: Freed) {
        for (key, token) in &freed.0 {
            self.drop_token(key, token);
        }
        for (key, _) in &freed.0 {
            self.hand_over(key);
        }
    }

    /// Removes the token from the lock; if the lock is free then, gives the turn to its first waiter. Answers whether the
    /// token stood.
    pub fn free(&mut self, key: &LockKey, token: &OwnerToken) -> bool {
        let held = self.drop_token(key, token);
        self.hand_over(key);
        held
    }

    fn drop_token(&mut self, key: &LockKey, token: &OwnerToken) -> bool {
        let held = matches!(self.lock_of(key), Some(Lock::Held { token: holder, .. }) if holder == token);
        if held {
            self.locks.remove(key);
        }
        held
    }

    /// Makes the first waiter whose queue is not paused next, if the lock is free and nobody is next yet.
    pub fn hand_over(&mut self, key: &LockKey) {
        if self.lock_of(key).is_some() || self.next.contains_key(key) {
            return;
        }
        match self.first_waiter(key) {
            Some(waiter) => self.give_turn(key, waiter),
            None if self.parked.contains_key(key) => drop(self.left_alone.insert(key.clone(), self.now + PAUSED_CHECK)),
            None => {}
        }
    }

    fn give_turn(&mut self, key: &LockKey, waiter: Waiter) {
        match waiter {
            Waiter::Job(id) => {
                self.make_next(key, id);
                self.push_head(id);
            }
            Waiter::Client(token) => self.offer(key, token),
        }
    }

    fn make_next(&mut self, key: &LockKey, id: JobId) {
        self.leave_list(id, key);
        self.left_alone.remove(key);
        self.places.remove(&id);
        let until = self.now + NEXT_KEPT;
        self.next.insert(key.clone(), Next { job: id, until });
    }

    /// The job did not come in its turn: the following waiter is next, and the late one goes before the others again, its entry
    /// taken back. Nobody else there: the turn is offered to it anew.
    pub fn pass_over(&mut self, key: &LockKey, late: JobId) {
        self.next.remove(key);
        let following = self.first_waiter(key);
        if self.is_ready(late) {
            self.park(late, key, true);
            self.drop_entry(late);
        }
        match following.filter(|_| self.lock_of(key).is_none()) {
            Some(waiter) => self.give_turn(key, waiter),
            None => self.hand_over(key),
        }
    }

    /// Removes the first entry of a job from its list.
    fn drop_entry(&mut self, id: JobId) {
        let Some(list) = self.list_of(id) else { return };
        if let Some(entries) = self.queues.get_mut(&list)
            && let Some(at) = entries.iter().position(|entry| *entry == id)
        {
            entries.remove(at);
            if entries.is_empty() {
                self.queues.remove(&list);
            }
        }
    }

    /// The first waiter of a lock that may have it: a job whose queue is not paused, a client that can be told.
    pub fn first_waiter(&mut self, key: &LockKey) -> Option<Waiter> {
        self.drop_gone(key);
        let mut line = self.parked.get(key)?.iter();
        line.find(|waiter| match waiter {
            Waiter::Job(id) => !self.is_paused(*id),
            Waiter::Client(token) => self.is_told(token),
        })
        .cloned()
    }

    pub fn is_paused(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| self.paused.contains(&job.list.0))
    }

    /// Parks a job behind a lock: at the head of its list if it has waited for a turn already, else at the tail.
    pub fn park(&mut self, id: JobId, key: &LockKey, at_head: bool) {
        let wait_timeout = self
            .jobs
            .get(&id)
            .and_then(|job| job.header())
            .and_then(|header| header.wait_timeout);
        let now = self.now;
        self.waits.entry(id).or_insert_with(|| Wait {
            since: now,
            gives_up: wait_timeout.map(|timeout| now.saturating_add(timeout)),
            gave_up: false,
        });
        self.places.insert(id, Place::Parked { behind: key.clone() });
        let list = self.parked.entry(key.clone()).or_default();
        match at_head {
            true => list.push_front(Waiter::Job(id)),
            false => list.push_back(Waiter::Job(id)),
        }
    }

    /// Takes a parked job off its lock's list.
    pub fn leave_list(&mut self, id: JobId, key: &LockKey) {
        self.leave_line(&Waiter::Job(id), key);
    }

    pub fn leave_line(&mut self, leaving: &Waiter, key: &LockKey) {
        if let Some(list) = self.parked.get_mut(key) {
            match list.front() == Some(leaving) {
                true => drop(list.pop_front()),
                false => list.retain(|waiter| waiter != leaving),
            }
            if list.is_empty() {
                self.parked.remove(key);
                self.left_alone.remove(key);
            }
        }
    }

    /// The locks for which it is this job's turn; it is not any more.
    pub fn give_up_turns(&mut self, id: JobId) -> Vec<LockKey> {
        let keys: Vec<LockKey> = self
            .next
            .iter()
            .filter(|(_, next)| next.job == id)
            .map(|(key, _)| key.clone())
            .collect();
        for key in &keys {
            self.next.remove(key);
        }
        keys
    }
}
