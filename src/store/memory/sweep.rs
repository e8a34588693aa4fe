//! The sweep: jobs that are in no list go back to their queue, rows that belong to no job go.
//!
//! No transition leaves such rows behind; a panic in the middle of one might.

use std::collections::HashSet;

use super::settle::Freed;
use super::state::{Place, State, Waiter};
use crate::limits::SWEEP;
use crate::names::{JobId, OwnerToken};

impl State {
    /// Sweeps all tables when the last time is long ago.
    pub fn sweep(&mut self) {
        if self.now < self.last_sweep + SWEEP && self.last_sweep <= self.now {
            return;
        }
        self.last_sweep = self.now;
        self.drop_expired();
        self.send_orphans_back();
        self.list_the_unlisted();
        let jobs = &self.jobs;
        self.places.retain(|id, _| jobs.contains_key(id));
        self.tries.retain(|id, _| jobs.contains_key(id));
        self.cancels.retain(|id, _| jobs.contains_key(id));
        self.waits.retain(|id, _| jobs.contains_key(id));
        self.watched.retain(|id, _| jobs.contains_key(id));
    }

    /// Jobs owned by a claim that has no row.
    fn send_orphans_back(&mut self) {
        let mut orphans: Vec<(JobId, OwnerToken)> = self
            .owners
            .iter()
            .filter(|(_, token)| !self.claims.contains_key(*token))
            .map(|(id, token)| (*id, token.clone()))
            .collect();
        orphans.sort();
        let mut freed = Freed::default();
        for (id, token) in orphans {
            self.send_back(id, &token, &mut freed);
        }
        self.free_all(freed);
    }

    /// Takes an active job from its claim, uncharged, to the head of its queue.
    pub fn send_back(&mut self, id: JobId, token: &OwnerToken, freed: &mut Freed) {
        self.owners.remove(&id);
        let mark = self.cancels.remove(&id);
        if let Some(job) = self.jobs.get(&id) {
            freed.add(&job.locks(), token);
        }
        self.change_tries(id, |tries| tries.alone = false);
        self.go_back(id, mark);
    }

    /// Jobs that are ready, scheduled or parked and in no list that says so.
    fn list_the_unlisted(&mut self) {
        let queued: HashSet<JobId> = self.queues.values().flatten().copied().collect();
        let parked: HashSet<JobId> = self.parked.values().flatten().filter_map(Waiter::job).collect();
        let is_listed = |id: &JobId| match self.places.get(id) {
            None => queued.contains(id) || self.owners.contains_key(id),
            Some(Place::Scheduled { due }) => self.scheduled.contains(&(*due, *id)),
            Some(Place::Parked { .. }) => parked.contains(id),
            Some(Place::Dead { .. }) => true,
        };
        let mut unlisted: Vec<JobId> = self.jobs.keys().copied().filter(|id| !is_listed(id)).collect();
        unlisted.sort();
        for id in unlisted {
            self.places.remove(&id);
            self.waits.remove(&id);
            self.push_tail(id);
        }
    }
}
