//! What stands around a job, queues and workers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::state::{Lock, Place, State, Waiter};
use crate::limits::{LANE_KEPT, PAGE_MAX, POSITION_MAX, WORKERS_LISTED_MAX};
use crate::names::{Fence, JobId, LockKey, OwnerToken, QueueName};
use crate::store::circumstances::{Circumstances, Holder, LockLine, LockPage, LockView, QueueView, WaiterView, WorkerView, since};

impl State {
    pub fn circumstances(&self, id: JobId) -> Option<Circumstances> {
        let job = self.job_view(id)?;
        let claim = self.owners.get(&id).and_then(|token| self.claims.get(token));
        let lock = match self.places.get(&id) {
            Some(Place::Parked { behind }) => Some(behind),
            None if self.is_ready(id) => self.next.iter().find(|(_, next)| next.job == id).map(|(key, _)| key),
            _ => None,
        };
        let gives_up = self.waits.get(&id).filter(|wait| !wait.gave_up).and_then(|wait| wait.gives_up);
        let gives_up = gives_up.filter(|_| matches!(self.places.get(&id), Some(Place::Parked { .. })));
        Some(Circumstances {
            job,
            paused: self.is_paused(id),
            active_for: claim.and_then(|claim| claim.jobs.first()).map(|(_, fence)| self.since(*fence)),
            lease_left: claim.map(|claim| claim.deadline.saturating_sub(self.now)),
            dead_for: self.dead_for(id),
            lock: lock.map(|key| self.lock_view(key)),
            gives_up_in: gives_up.map(|at| at.saturating_sub(self.now)),
            ahead: self.ahead(id),
        })
    }

    pub fn dead_for(&self, id: JobId) -> Option<Duration> {
        match self.places.get(&id) {
            Some(Place::Dead { at, .. }) => Some(self.now.saturating_sub(*at)),
            _ => None,
        }
    }

    fn since(&self, fence: Fence) -> Duration {
        since(fence.0, self.now.as_micros() as u64)
    }

    fn lock_view(&self, key: &LockKey) -> LockView {
        let holder = match self.lock_of(key) {
            Some(Lock::Held { token, fence, until }) => Some(Holder {
                token: token.clone(),
                fence: *fence,
                job: self.holder_of(key, token),
                held_for: self.since(*fence),
                left: until.saturating_sub(self.now),
            }),
            Some(Lock::Foreign) | None => None,
        };
        LockView {
            key: key.clone(),
            holder,
            waiters: self.parked.get(key).map_or(0, |list| list.len() as u64),
        }
    }

    pub fn lock_page(&self, after: Option<&LockKey>, limit: usize) -> LockPage {
        let known = self.locks.keys().chain(self.parked.keys()).chain(self.next.keys());
        let keys: BTreeSet<&LockKey> = known.filter(|key| after.is_none_or(|after| *key > after)).collect();
        let mut locks: Vec<LockView> = keys
            .into_iter()
            .filter_map(|key| self.lock_line(key))
            .map(|line| line.lock)
            .take(limit + 1)
            .collect();
        let more = locks.len() > limit;
        locks.truncate(limit);
        let next = locks.last().filter(|_| more).map(|lock| lock.key.clone());
        LockPage { locks, next }
    }

    pub fn lock_line(&self, key: &LockKey) -> Option<LockLine> {
        let lock = self.lock_view(key);
        let next = self.next.get(key).map(|next| next.job);
        if lock.holder.is_none() && lock.waiters == 0 && next.is_none() {
            return None;
        }
        let line = self.parked.get(key).into_iter().flatten().take(PAGE_MAX);
        let waiters = line.map(|waiter| match waiter {
            Waiter::Job(id) => WaiterView::Job(*id),
            Waiter::Client(token) => WaiterView::Client(token.clone()),
        });
        Some(LockLine {
            lock,
            next,
            waiters: waiters.collect(),
        })
    }

    /// The job of a claim whose lock this is.
    fn holder_of(&self, key: &LockKey, token: &OwnerToken) -> Option<JobId> {
        let mut ids = self.claims.get(token)?.jobs.iter().map(|(id, _)| *id);
        ids.find(|id| self.jobs.get(id).is_some_and(|job| job.locks().contains(key)))
    }

    fn ahead(&self, id: JobId) -> Option<u64> {
        if let Some(Place::Parked { behind }) = self.places.get(&id) {
            let waiting = self.parked.get(behind)?.iter().take(POSITION_MAX);
            return waiting.into_iter().position(|waiter| waiter.job() == Some(id)).map(|at| at as u64);
        }
        let list = self.list_of(id).filter(|_| self.is_ready(id))?;
        let at = self.queues.get(&list)?.iter().take(POSITION_MAX).position(|entry| *entry == id)?;
        let higher = self
            .queues
            .iter()
            .filter(|((queue, priority), _)| *queue == list.0 && *priority < list.1);
        Some(at as u64 + higher.map(|(_, entries)| entries.len() as u64).sum::<u64>())
    }

    pub fn worker_views(&self) -> Vec<WorkerView> {
        let kept = self.workers.values().filter(|(_, seen)| self.now < *seen + LANE_KEPT);
        let mut views: Vec<WorkerView> = kept
            .map(|(card, seen)| WorkerView {
                worker: card.worker.clone(),
                labels: card.labels.clone(),
                queues: card.queues.clone(),
                tasks: card.task_names(),
                concurrency: card.concurrency,
                running: card.running,
                silent_for: self.now.saturating_sub(*seen),
            })
            .collect();
        views.sort_by(|a, b| (a.silent_for, &b.worker).cmp(&(b.silent_for, &a.worker)));
        views.truncate(WORKERS_LISTED_MAX);
        views
    }

    pub fn queue_views(&self) -> Vec<QueueView> {
        let workers = self.worker_views();
        let mut serving: BTreeMap<&QueueName, u64> = BTreeMap::new();
        for queue in workers.iter().filter(|worker| worker.is_live()).flat_map(|worker| &worker.queues) {
            *serving.entry(queue).or_default() += 1;
        }
        let held = self
            .queues
            .iter()
            .filter(|(_, entries)| !entries.is_empty())
            .map(|((queue, _), _)| queue);
        let names: BTreeSet<&QueueName> = held.chain(&self.paused).chain(serving.keys().copied()).collect();
        let view = |queue: &QueueName| {
            let lists = || {
                self.queues
                    .iter()
                    .filter(|((name, _), _)| name == queue)
                    .map(|(_, entries)| entries)
            };
            let heads = lists().filter_map(|entries| entries.iter().copied().find(|id| self.is_ready(*id)));
            QueueView {
                queue: queue.clone(),
                ready: lists().map(|entries| entries.len() as u64).sum(),
                paused: self.paused.contains(queue),
                oldest: heads.min(),
                workers: serving.get(queue).copied().unwrap_or_default(),
            }
        };
        names.into_iter().map(view).collect()
    }
}
