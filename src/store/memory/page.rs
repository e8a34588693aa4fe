//! Lists of jobs in pages.

use super::state::{Place, State};
use crate::error::Error;
use crate::names::JobId;
use crate::store::page::{Cursor, JobFilter, JobPage, JobRow, Walk, check_limit};

impl State {
    pub fn page(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error> {
        check_limit(limit)?;
        let walk = filter.walk();
        let from = Cursor::position(after, &walk)?.parse().unwrap_or(usize::MAX);
        let ids = self.walked(&walk);
        let mut page = JobPage {
            jobs: Vec::new(),
            next: None,
        };
        for (at, id) in ids.iter().enumerate().skip(from) {
            if page.jobs.len() == limit {
                page.next = Some(Cursor::new(&walk, at));
                break;
            }
            page.jobs.extend(self.row(*id).filter(|row| filter.takes(row)));
        }
        Ok(page)
    }

    /// The ids of a walk in its order, each once.
    fn walked(&self, walk: &Walk) -> Vec<JobId> {
        match walk {
            Walk::Scheduled => self.scheduled.iter().map(|(_, id)| *id).collect(),
            Walk::Dead => self.dead.order.iter().rev().map(|(_, id)| *id).collect(),
            Walk::Queue(queue) => {
                let mut ids = Vec::new();
                for (_, entries) in self.queues.iter().filter(|((name, _), _)| name == queue) {
                    ids.extend(entries.iter().copied().filter(|id| self.is_ready(*id)));
                }
                let mut seen = std::collections::HashSet::new();
                ids.retain(|id| seen.insert(*id));
                ids
            }
            Walk::Active => sorted(self.owners.keys()),
            Walk::Parked => sorted(self.places.iter().filter_map(|(id, place)| match place {
                Place::Parked { .. } => Some(id),
                _ => None,
            })),
            Walk::All => sorted(self.jobs.keys()),
        }
    }

    fn row(&self, id: JobId) -> Option<JobRow> {
        let view = self.job_view(id)?;
        let envelope = view.envelope.ok();
        Some(JobRow {
            id,
            state: view.state,
            dead_for: self.dead_for(id),
            queue: envelope.as_ref().map(|envelope| envelope.header.queue.clone()),
            task: envelope.map(|envelope| envelope.body.task),
            charged: view.tries.charged,
            suspect: view.tries.suspect,
            last_error: view.errors.into_iter().next_back(),
        })
    }
}

fn sorted<'a>(ids: impl Iterator<Item = &'a JobId>) -> Vec<JobId> {
    let mut ids: Vec<JobId> = ids.copied().collect();
    ids.sort();
    ids
}
