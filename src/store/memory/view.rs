//! The read model: a job, the census, the keys.

use std::collections::{BTreeMap, VecDeque};

use super::state::{Lock, Place, State, Waiter};
use crate::names::{JobId, QueueName};
use crate::store::view::{Census, JobView, Progress, State as JobState};

impl State {
    pub fn job_view(&self, id: JobId) -> Option<JobView> {
        let job = self.jobs.get(&id)?;
        let tries = self.tries_of(id);
        Some(JobView {
            id,
            state: self.job_state(id),
            envelope: job.envelope.clone(),
            tries: tries.view(self.now),
            errors: tries.errors,
            progress: self.progress_of(id),
        })
    }

    fn progress_of(&self, id: JobId) -> Option<Progress> {
        let claim = self.claims.get(self.owners.get(&id)?)?;
        let (until, progress) = claim.progress.get(&id)?;
        (*until > self.now).then(|| progress.clone())
    }

    fn job_state(&self, id: JobId) -> JobState {
        if let Some(token) = self.owners.get(&id) {
            return JobState::Active {
                token: token.clone(),
                cancel_requested: self.cancels.contains_key(&id),
            };
        }
        match self.places.get(&id) {
            None => JobState::Ready,
            Some(Place::Scheduled { due }) => JobState::Scheduled {
                due_in: due.saturating_sub(self.now),
            },
            Some(Place::Parked { behind }) => JobState::Parked {
                behind: behind.clone(),
                waited: self
                    .waits
                    .get(&id)
                    .map(|wait| self.now.saturating_sub(wait.since))
                    .unwrap_or_default(),
            },
            Some(Place::Dead { death, reason, .. }) => JobState::Dead {
                death: *death,
                reason: reason.clone(),
            },
        }
    }

    pub fn census(&self) -> Census {
        let mut ready: Vec<(QueueName, u64)> = Vec::new();
        for ((queue, _), entries) in self.queues.iter().filter(|(_, entries)| !entries.is_empty()) {
            match ready.last_mut().filter(|(last, _)| last == queue) {
                Some((_, count)) => *count += entries.len() as u64,
                None => ready.push((queue.clone(), entries.len() as u64)),
            }
        }
        Census {
            ready,
            scheduled: self.scheduled.len() as u64,
            parked: self.parked.values().map(|list| list.len() as u64).sum(),
            active: self.owners.len() as u64,
            dead: self.dead.order.len() as u64,
            jobs: self.jobs.len() as u64,
            workers: self.live_workers() as u64,
            paused: self.paused.iter().cloned().collect(),
        }
    }

    /// Every list with its entries, head first, and whose turn it is.
    pub fn lists(&self) -> BTreeMap<String, Vec<JobId>> {
        let queues = self
            .queues
            .iter()
            .map(|((queue, priority), entries)| (format!("queue:{queue}:{}", priority.digit()), entries));
        let queues = queues.map(|(name, ids)| (name, ids.iter().copied().collect()));
        let jobs = |line: &VecDeque<Waiter>| line.iter().filter_map(Waiter::job).collect();
        let parked = self.parked.iter().map(|(key, line)| (format!("parked:{}", key.wire()), jobs(line)));
        let lists = queues.chain(parked);
        let next = self.next.iter().map(|(key, next)| (format!("next:{}", key.wire()), vec![next.job]));
        lists.chain(next).collect()
    }

    /// The keys that the Redis engine would have now, with sizes that only tell small from large.
    pub fn keys(&self) -> Vec<(String, u64)> {
        let mut keys: Vec<(String, u64)> = ["schema", "state", "owners"].map(|key| (key.into(), 64)).into();
        let mut add = |key: String, rows: usize| {
            if rows > 0 {
                keys.push((key, 64 * rows as u64));
            }
        };
        add("jobs".into(), self.jobs.len());
        for ((queue, priority), entries) in &self.queues {
            add(format!("queue:{queue}:{}", priority.digit()), entries.len());
        }
        add("scheduled".into(), self.scheduled.len());
        add("places".into(), self.places.len());
        add("active".into(), self.claims.len());
        add("claims".into(), self.claims.len());
        add("tries".into(), self.tries.len());
        for (key, lock) in &self.locks {
            let stands = matches!(lock, Lock::Foreign) || self.lock_of(key).is_some();
            add(format!("lock:{}", key.wire()), usize::from(stands));
        }
        for (key, list) in &self.parked {
            add(format!("parked:{}", key.wire()), list.len());
        }
        add("lock_checks".into(), self.lock_checks().len());
        add("next".into(), self.next.len());
        add("waits".into(), self.waits.len());
        add("waiting".into(), self.waiting.len());
        add("broken".into(), self.broken.len());
        for key in self.uniques.keys() {
            add(format!("unique:{}", key.wire()), usize::from(self.unique_row(key).is_some()));
        }
        add("watched".into(), self.watched.len());
        add("tasks".into(), self.tasks.len());
        add("schedules".into(), self.schedules.len());
        add("workers".into(), self.workers.len());
        add("paused".into(), self.paused.len());
        for id in self.results.keys().filter(|id| self.result(**id).is_some()) {
            add(format!("result:{id}"), 1);
        }
        add("cancels".into(), self.cancels.len());
        add("dead".into(), self.dead.order.len());
        add("attempts".into(), self.log.len());
        for queue in &self.marks {
            add(format!("wake:{queue}"), 1);
        }
        keys
    }
}
