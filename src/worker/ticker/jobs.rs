//! The jobs of the ticks that fire.

use crate::client::Request;
use crate::names::{JobId, ScheduleName};
use crate::schedule::{Change, Due, Fate};
use crate::store::new_job::{Accepted, NewJob, TickOf};
use crate::worker::ticker::Ticker;

impl Ticker {
    /// The jobs of the ticks that fire, and the latest of them; what becomes of each is noted in the row.
    pub(super) fn jobs(&self, name: &ScheduleName, change: &mut Change, now: u64) -> (Vec<NewJob>, Option<JobId>) {
        let definition = change.row.definition.clone();
        let timing = definition.timing();
        let (mut jobs, mut last) = (Vec::new(), None);
        for Due { at, missed } in std::mem::take(&mut change.fire) {
            let late = now.saturating_sub(definition.fires_at(name, at));
            let instant = chrono::DateTime::from_timestamp(at, 0).unwrap_or_default();
            let tick = TickOf {
                schedule: name.clone(),
                at: instant,
                nominal: timing
                    .as_ref()
                    .and_then(|timing| timing.nominal(at))
                    .unwrap_or_else(|| instant.naive_utc()),
                missed,
            };
            match Request::tick_job(&self.tasks, &definition, tick) {
                Ok(job) => {
                    tracing::debug!(schedule = %name, tick = at, job.id = %job.id, late_ms = late, missed, "tick");
                    change.row.note(at, Fate::Fired, late, Some(job.id), 1);
                    last = Some(job.id);
                    jobs.push(job);
                }
                Err(error) => {
                    tracing::error!(schedule = %name, tick = at, %error, "a tick without a job: define the schedule anew");
                    change.row.note(at, Fate::Refused, late, None, 1);
                }
            }
        }
        (jobs, last)
    }
}

/// A tick's identity is a unique key like any.
pub(super) fn warn_of_conflicts(name: &ScheduleName, accepted: &[Accepted]) {
    for accepted in accepted {
        if let Accepted::Conflict(holder) = accepted {
            tracing::warn!(schedule = %name, job.id = %holder, "a tick's unique key is held by a job that is not the schedule's: the tick has no job");
        }
    }
}
