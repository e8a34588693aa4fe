//! What operators and applications do to jobs and queues, and how workers say that they are there.

use super::state::{Mark, Place, State};
use crate::limits::{LANE_KEPT, WORKER_LIVE};
use crate::names::{JobId, ProcessId, QueueName};
use crate::store::settle::Death;
use crate::store::view::{Beat, CancelAnswer, DeleteAnswer, Ended, Push, Replaced, RetryAnswer, WatchAnswer, WorkerCard};

impl State {
    pub fn cancel(&mut self, id: JobId) -> CancelAnswer {
        if !self.jobs.contains_key(&id) || matches!(self.places.get(&id), Some(Place::Dead { .. })) {
            return CancelAnswer::TooLate;
        }
        if self.ask_to_stop(id, Mark::Cancel) {
            return CancelAnswer::Requested;
        }
        self.log_cancelled(id);
        self.withdraw(id);
        self.bury(id, Death::Cancelled, "cancelled");
        self.pass_turns_on(id);
        CancelAnswer::Cancelled
    }

    pub fn delete(&mut self, id: JobId) -> DeleteAnswer {
        if !self.jobs.contains_key(&id) {
            return DeleteAnswer::TooLate;
        }
        if self.ask_to_stop(id, Mark::Delete) {
            return DeleteAnswer::Requested;
        }
        self.withdraw(id);
        self.end(id, Ended::Deleted);
        self.pass_turns_on(id);
        DeleteAnswer::Deleted
    }

    /// Marks an active job and tells its worker; answers whether it is active. A delete outdoes a cancel.
    fn ask_to_stop(&mut self, id: JobId, mark: Mark) -> bool {
        let Some(owner) = self.owners.get(&id) else { return false };
        if self.cancels.get(&id) != Some(&Mark::Delete) {
            self.cancels.insert(id, mark);
        }
        self.pushes.send_to_owner(owner, Push::Cancel(id));
        true
    }

    /// Takes a job that is scheduled or parked off its list. An entry in a queue stays behind as a stale one.
    fn withdraw(&mut self, id: JobId) {
        match self.places.get(&id) {
            Some(Place::Scheduled { due }) => {
                self.scheduled.remove(&(*due, id));
                self.places.remove(&id);
            }
            Some(Place::Parked { behind }) => {
                let behind = behind.clone();
                self.places.remove(&id);
                self.leave_list(id, &behind);
            }
            Some(Place::Dead { .. }) | None => {}
        }
    }

    /// A job that ended in its turn leaves it to the next waiter.
    fn pass_turns_on(&mut self, id: JobId) {
        for key in self.give_up_turns(id) {
            self.hand_over(&key);
        }
    }

    pub fn retry(&mut self, id: JobId) -> RetryAnswer {
        if !self.jobs.contains_key(&id) {
            return RetryAnswer::TooLate;
        }
        match self.places.get(&id) {
            Some(Place::Parked { .. }) | None => return RetryAnswer::NotNeeded,
            // There is nowhere to put it.
            Some(_) if !self.is_readable(id) => return RetryAnswer::TooLate,
            Some(Place::Scheduled { .. }) => self.withdraw(id),
            Some(Place::Dead { .. }) => {
                if let Some(holder) = self.take_unique_again(id) {
                    return RetryAnswer::Conflict(holder);
                }
                self.exhume(id);
                self.change_tries(id, |tries| {
                    let errors = std::mem::take(&mut tries.errors);
                    *tries = Default::default();
                    tries.errors = errors;
                });
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.expires_at = None;
                }
            }
        }
        self.push_tail(id);
        RetryAnswer::Ready
    }

    /// Takes the key that the job's death freed; answers who else holds it by now.
    fn take_unique_again(&mut self, id: JobId) -> Option<JobId> {
        let job = self.jobs.get(&id)?;
        let key = job.header()?.unique.clone()?;
        let digest = job.digest?;
        match self.unique_row(&key).map(|row| row.holder) {
            Some(holder) if holder != id => return Some(holder),
            _ => self.hold_unique(key, id, digest, None),
        }
        None
    }

    pub fn watch(&mut self, id: JobId, process: &ProcessId) -> WatchAnswer {
        match self.places.get(&id) {
            Some(Place::Dead { death, .. }) => WatchAnswer::Dead(*death),
            _ if self.jobs.contains_key(&id) => {
                self.watched.entry(id).or_default().insert(process.clone());
                WatchAnswer::Watching
            }
            _ => WatchAnswer::Gone,
        }
    }

    pub fn unwatch(&mut self, id: JobId, process: &ProcessId) {
        if let Some(processes) = self.watched.get_mut(&id) {
            processes.remove(process);
            if processes.is_empty() {
                self.watched.remove(&id);
            }
        }
    }

    pub fn resume(&mut self, queue: &QueueName) {
        if self.paused.remove(queue) {
            self.arm(queue);
        }
    }

    pub fn register(&mut self, card: &WorkerCard) -> Vec<Replaced> {
        let mut replaced = Vec::new();
        for (task, line) in &card.tasks {
            if let Some(former) = self.tasks.insert(task.clone(), line.clone())
                && former != *line
            {
                let task = task.clone();
                replaced.push(Replaced { task, line: former });
            }
        }
        self.heartbeat(card);
        replaced
    }

    pub fn heartbeat(&mut self, card: &WorkerCard) -> Beat {
        let now = self.now;
        self.workers.insert(card.worker.clone(), (card.clone(), now));
        self.workers.retain(|_, (_, seen)| now < *seen + LANE_KEPT);
        Beat {
            workers: self.live_workers(),
            registered: card.tasks.iter().all(|(task, _)| self.tasks.contains_key(task)),
            schedules: self.schedules_version,
        }
    }

    pub fn live_workers(&self) -> usize {
        self.workers.values().filter(|(_, seen)| self.now <= *seen + WORKER_LIVE).count()
    }
}
