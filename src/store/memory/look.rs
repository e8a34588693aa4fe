//! Look: what time alone brings about. Promotes what is due, reaps, then checks locks
//! with waiters, then waits that last too long.

use super::state::{Lock, Place, State};
use crate::limits::{BROKEN_KEPT, PROMOTE_MAX, WAITING_GONE};
use crate::names::LockKey;

impl State {
    pub fn look(&mut self, log: bool) {
        let promoted = self.promote();
        let more_lapsed = self.reap(log);
        for key in self.lock_checks() {
            self.check_lock(&key);
        }
        self.give_up();
        self.trim_dead();
        self.sweep();
        self.forget();
        // It was not the last of them: the next turn goes on rather than half a second later.
        if promoted < PROMOTE_MAX && !more_lapsed {
            self.last_look = self.now;
        }
    }

    /// Moves what is due to the tail of its queue, the earliest first; answers how many.
    fn promote(&mut self) -> usize {
        let due: Vec<_> = self
            .scheduled
            .iter()
            .take_while(|(due, _)| *due <= self.now)
            .take(PROMOTE_MAX)
            .copied()
            .collect();
        for (at, id) in &due {
            self.scheduled.remove(&(*at, *id));
            self.places.remove(id);
            self.push_tail(*id);
        }
        due.len()
    }

    /// The locks that somebody waits for or has the turn for, in order.
    pub fn lock_checks(&self) -> Vec<LockKey> {
        let mut keys: Vec<LockKey> = self.parked.keys().chain(self.next.keys()).cloned().collect();
        keys.sort();
        keys.dedup();
        keys
    }

    pub fn check_lock(&mut self, key: &LockKey) {
        match self.next.get(key) {
            Some(next) if next.until <= self.now => self.pass_over(key, next.job),
            Some(_) => {}
            None if self.left_alone.get(key).is_some_and(|until| *until > self.now) => {}
            // A lock that ended by its time, or whose waiters were all paused.
            None => self.hand_over(key),
        }
    }

    /// Drops locks and unique keys whose time has passed.
    fn forget(&mut self) {
        let now = self.now;
        self.locks
            .retain(|_, lock| !matches!(lock, Lock::Held { until, .. } if *until <= now));
        self.waiting.retain(|_, asked| *asked + WAITING_GONE >= now);
        self.broken.retain(|(at, ..)| *at + BROKEN_KEPT >= now);
        self.uniques.retain(|_, row| row.until.is_none_or(|until| until > now));
    }

    /// Takes jobs that have been parked for their `wait_timeout` to the head of their queue, to be delivered as given up.
    fn give_up(&mut self) {
        let mut over: Vec<_> = self
            .waits
            .iter()
            .filter_map(|(id, wait)| Some((wait.gives_up.filter(|at| *at <= self.now)?, *id)))
            .filter(|(_, id)| matches!(self.places.get(id), Some(Place::Parked { .. })))
            .collect();
        over.sort();
        for (_, id) in over.into_iter().take(PROMOTE_MAX) {
            if let Some(Place::Parked { behind }) = self.places.remove(&id) {
                self.leave_list(id, &behind);
            }
            if let Some(wait) = self.waits.get_mut(&id) {
                wait.gave_up = true;
            }
            self.push_head(id);
        }
    }
}
