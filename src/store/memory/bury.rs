//! The ends of a job: gone, or dead and kept for a while.

use super::state::{Place, State};
use crate::limits::{DEAD_KEPT, DEAD_KEPT_BYTES, DEAD_KEPT_FOR};
use crate::names::JobId;
use crate::store::settle::Death;
use crate::store::view::{Ended, Push};

impl State {
    /// Removes a job and everything kept of it, frees its unique key and tells who watches.
    pub fn end(&mut self, id: JobId, ended: Ended) {
        self.free_unique(id);
        self.tell(id, ended);
        self.remove(id);
    }

    /// Makes a job dead, frees its unique key and tells who watches.
    pub fn bury(&mut self, id: JobId, death: Death, reason: &str) {
        self.free_unique(id);
        self.tell(id, Ended::Dead(death));
        let bytes = self.bytes_of(id) + reason.len() as u64;
        let reason = reason.to_owned();
        let at = self.now;
        self.waits.remove(&id);
        self.places.insert(id, Place::Dead { at, death, reason, bytes });
        self.dead.order.insert((at, id));
        self.dead.bytes += bytes;
        self.trim_dead();
    }

    /// Removes the oldest dead jobs above any of the bounds.
    pub fn trim_dead(&mut self) {
        while let Some((at, id)) = self.dead.order.first().copied() {
            let old = self.now >= at + DEAD_KEPT_FOR;
            if !old && self.dead.order.len() as u64 <= DEAD_KEPT && self.dead.bytes <= DEAD_KEPT_BYTES {
                return;
            }
            self.remove(id);
        }
    }

    /// Takes a job out of the dead ones.
    pub fn exhume(&mut self, id: JobId) {
        if let Some(Place::Dead { at, bytes, .. }) = self.places.get(&id) {
            self.dead.order.remove(&(*at, id));
            self.dead.bytes -= bytes;
            self.places.remove(&id);
        }
    }

    fn remove(&mut self, id: JobId) {
        self.exhume(id);
        self.places.remove(&id);
        self.waits.remove(&id);
        self.tries.remove(&id);
        self.jobs.remove(&id);
    }

    fn bytes_of(&self, id: JobId) -> u64 {
        let args = self
            .jobs
            .get(&id)
            .and_then(|job| job.envelope.as_ref().ok())
            .map(|envelope| envelope.body.args.len());
        args.unwrap_or_default() as u64
    }

    /// Frees the job's unique key if it still names the job and is not kept for a time.
    fn free_unique(&mut self, id: JobId) {
        let header = self.jobs.get(&id).and_then(|job| job.header());
        if let Some(key) = header.and_then(|header| header.unique.as_ref())
            && self.uniques.get(key).is_some_and(|row| row.holder == id && row.until.is_none())
        {
            self.uniques.remove(&key.clone());
        }
    }

    fn tell(&mut self, id: JobId, ended: Ended) {
        for process in self.watched.remove(&id).unwrap_or_default() {
            self.pushes.send(&process, Push::Ended(id, ended));
        }
    }
}
