//! Enqueue: a job comes in, ready or scheduled, unless its unique key is held.

use std::time::{Duration, SystemTime};

use super::state::{Place, State, StoredJob, UniqueRow};
use crate::error::{Error, Invalid};
use crate::limits::ENQUEUE_BATCH_MAX;
use crate::names::{JobId, UniqueKey};
use crate::store::new_job::{Accepted, Due, NewJob};
use crate::store::turn::Envelope;

pub(super) fn check(jobs: &[NewJob]) -> Result<(), Error> {
    if jobs.len() > ENQUEUE_BATCH_MAX {
        return Err(Invalid::new("batch", jobs.len(), format!("at most {ENQUEUE_BATCH_MAX} jobs")).into());
    }
    Ok(())
}

impl State {
    pub fn enqueue(&mut self, job: NewJob) -> Accepted {
        let NewJob {
            id,
            mut header,
            body,
            due,
            unique,
        } = job;
        if self.jobs.contains_key(&id) {
            return Accepted::New;
        }
        if let Some(unique) = &unique {
            if let Some(row) = self.unique_row(&unique.key) {
                return match row.digest == unique.digest {
                    true => Accepted::Existing(row.holder),
                    false => Accepted::Conflict(row.holder),
                };
            }
            let until = unique.kept_for.map(|kept| self.now.saturating_add(kept));
            self.hold_unique(unique.key.clone(), id, unique.digest, until);
        }
        let stored = StoredJob {
            list: (header.queue.clone(), header.priority),
            expires_at: header.expires_in.take().map(|after| self.now.saturating_add(after)),
            digest: unique.map(|unique| unique.digest),
            envelope: Ok(Envelope { header, body }),
        };
        self.jobs.insert(id, stored);
        match self.due(due) {
            Some(due) => self.schedule(id, due),
            None => self.push_tail(id),
        }
        Accepted::New
    }

    /// When it is due, where that is later than now.
    fn due(&self, due: Due) -> Option<Duration> {
        let due = match due {
            Due::Now => return None,
            Due::After(delay) => self.now.saturating_add(delay),
            Due::At(at) => at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
        };
        (due > self.now).then_some(due)
    }

    pub fn schedule(&mut self, id: JobId, due: Duration) {
        self.scheduled.insert((due, id));
        self.places.insert(id, Place::Scheduled { due });
    }

    pub fn hold_unique(&mut self, key: UniqueKey, holder: JobId, digest: [u8; 16], until: Option<Duration>) {
        self.uniques.insert(key, UniqueRow { holder, digest, until });
    }

    /// Who holds a unique key; nobody once its time has passed.
    pub fn unique_row(&self, key: &UniqueKey) -> Option<&UniqueRow> {
        self.uniques.get(key).filter(|row| row.until.is_none_or(|until| until > self.now))
    }
}
