//! What a sandbox asks: whether a worker would still find something to do.

use std::collections::BTreeSet;
use std::time::Duration;

use super::MemoryStore;
use super::state::{Place, State};
use crate::names::JobId;
use crate::store::turn::Envelope;

impl State {
    /// Whether a worker of its queue would act on this job now, or is at it.
    fn is_runnable(&self, id: JobId) -> bool {
        if self.owners.contains_key(&id) {
            return true;
        }
        match self.places.get(&id) {
            None => self.jobs.contains_key(&id),
            Some(Place::Scheduled { due }) => *due <= self.now,
            Some(Place::Parked { .. }) => {
                let gives_up = self.waits.get(&id).and_then(|wait| wait.gives_up);
                gives_up.is_some_and(|at| at <= self.now)
            }
            Some(Place::Dead { .. }) => false,
        }
    }
}

impl MemoryStore {
    /// Queues with something to do, paused ones aside.
    pub(crate) fn busy_queues(&self) -> BTreeSet<String> {
        let state = self.state();
        let busy = state.jobs.iter().filter(|(id, _)| state.is_runnable(**id));
        let queues = busy.map(|(_, job)| &job.list.0).filter(|queue| !state.paused.contains(*queue));
        queues.map(ToString::to_string).collect()
    }

    /// Whether a worker of its queue would act on this job now, or is at it.
    pub(crate) fn is_runnable(&self, id: JobId) -> bool {
        self.state().is_runnable(id)
    }

    /// Every job that has not ended, by id, those that can be read.
    pub(crate) fn pending_envelopes(&self) -> Vec<(JobId, Envelope)> {
        let state = self.state();
        let pending = state
            .jobs
            .iter()
            .filter(|(id, _)| !matches!(state.places.get(id), Some(Place::Dead { .. })));
        let mut envelopes: Vec<_> = pending.filter_map(|(id, job)| Some((*id, job.envelope.clone().ok()?))).collect();
        envelopes.sort_by_key(|(id, _)| *id);
        envelopes
    }

    /// Attempts logged since the store was opened.
    pub(crate) fn attempts_made(&self) -> u64 {
        self.state().log.last_number()
    }

    /// Lets the next turn look, however short the time since the last.
    pub(crate) fn look_again(&self) {
        self.state().last_look = Duration::ZERO;
    }
}
