//! Verbs on all dead jobs of a kind, in bounded steps.

use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt, stream};

use crate::client::Client;
use crate::error::Error;
use crate::limits::PAGE_MAX;
use crate::names::JobId;
use crate::store::page::{JobFilter, StateName};
use crate::store::settle::Death;
use crate::store::view::{DeleteAnswer, RetryAnswer, State};

/// Jobs under way at once: the server has other work between them.
const AT_ONCE: usize = 16;

/// What a bulk verb did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bulk {
    /// Jobs it was done to.
    pub done: u64,
    /// Cancelled jobs that were left alone.
    pub cancelled: u64,
    /// Jobs whose unique key is held by another one by now: left dead.
    pub conflicts: u64,
    /// Jobs that were not dead any more when it came to them.
    pub gone: u64,
}

impl Client {
    /// Makes every dead job that `filter` takes ready again, but for cancelled ones: somebody wanted those ended. They are retried one by one, by id.
    ///
    /// Jobs that die while it goes on are not among them. Each job is retried whole or not at all; after an error those before it are ready.
    ///
    /// # Errors
    /// The first failure ends it. Doing it again is safe.
    ///
    /// # Redis
    /// A script for each 100 dead jobs, then one a job, at most 16 at a time.
    pub async fn retry_dead(&self, filter: &JobFilter) -> Result<Bulk, Error> {
        let (mut ids, mut cancelled) = (Vec::new(), 0);
        for (id, death) in self.dead(filter).await? {
            match death {
                Death::Cancelled => cancelled += 1,
                _ => ids.push(id),
            }
        }
        let each = stream::iter(ids).map(|id| async move {
            Ok::<_, Error>(match self.retry(id).await? {
                RetryAnswer::Ready => one(|bulk| &mut bulk.done),
                RetryAnswer::Conflict(_) => one(|bulk| &mut bulk.conflicts),
                RetryAnswer::NotNeeded | RetryAnswer::TooLate => one(|bulk| &mut bulk.gone),
            })
        });
        let all = each
            .buffer_unordered(AT_ONCE)
            .try_fold(Bulk::default(), |sum, one| async move { Ok(sum.and(one)) })
            .await?;
        Ok(Bulk { cancelled, ..all })
    }

    /// Deletes every dead job that `filter` takes, cancelled ones too.
    ///
    /// # Errors
    /// The first failure ends it. Doing it again is safe.
    ///
    /// # Redis
    /// A script for each 100 dead jobs, then one a job, at most 16 at a time.
    pub async fn delete_dead(&self, filter: &JobFilter) -> Result<Bulk, Error> {
        let dead = self.dead(filter).await?;
        let each = stream::iter(dead).map(|(id, _)| async move {
            Ok::<_, Error>(match self.delete(id).await? {
                DeleteAnswer::Deleted | DeleteAnswer::Requested => one(|bulk| &mut bulk.done),
                DeleteAnswer::TooLate => one(|bulk| &mut bulk.gone),
            })
        });
        each.buffer_unordered(AT_ONCE)
            .try_fold(Bulk::default(), |sum, one| async move { Ok(sum.and(one)) })
            .await
    }

    /// The dead jobs that a filter takes: at most as many as a store keeps.
    async fn dead(&self, filter: &JobFilter) -> Result<Vec<(JobId, Death)>, Error> {
        let filter = JobFilter {
            state: Some(StateName::Dead),
            ..filter.clone()
        };
        let (mut found, mut seen, mut after) = (Vec::new(), HashSet::new(), None);
        loop {
            let page = self.jobs(&filter, after.as_ref(), PAGE_MAX).await?;
            for job in page.jobs {
                if let State::Dead { death, .. } = job.state
                    && seen.insert(job.id)
                {
                    found.push((job.id, death));
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }
}

fn one(count: impl FnOnce(&mut Bulk) -> &mut u64) -> Bulk {
    let mut bulk = Bulk::default();
    *count(&mut bulk) = 1;
    bulk
}

impl Bulk {
    fn and(self, other: Bulk) -> Bulk {
        Bulk {
            done: self.done + other.done,
            cancelled: self.cancelled + other.cancelled,
            conflicts: self.conflicts + other.conflicts,
            gone: self.gone + other.gone,
        }
    }
}
