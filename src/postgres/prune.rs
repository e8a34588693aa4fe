//! Forgets what no attempt can ask about any more.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use sqlx::PgPool;
use sqlx::postgres::types::PgInterval;

use super::refusal;
use crate::client::Client;
use crate::error::{Error, Invalid};
use crate::limits::{PRUNE_AT_ONCE, PRUNE_BATCH, PRUNE_MIN};
use crate::names::JobId;

const OLD_NOTES: &str = "SELECT at::text, job, step FROM linchpin_once
    WHERE namespace = $1 AND at < now() - $2 AND (at, job, step) > ($3::text::timestamptz, $4, $5)
    ORDER BY at, job, step LIMIT $6";

const FORGET_NOTES: &str = "DELETE FROM linchpin_once
    WHERE namespace = $1 AND (job, step) IN (SELECT job, step FROM unnest($2::text[], $3::text[]) AS gone (job, step))";

/// A fence that a transaction is about to raise is left alone.
const FORGET_FENCES: &str = "DELETE FROM linchpin_fences WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM linchpin_fences WHERE namespace = $1 AND at < now() - $2 ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED))";

/// What [`prune`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Notes of jobs' work.
    pub noted: u64,
    /// Fences of locks.
    pub fences: u64,
}

/// Removes what was noted longer than `older_than` ago and cannot matter any more: the notes of jobs that the client's store knows no more
/// (done, deleted, or dropped from the dead ones), and the fences of locks behind which nothing was done since. Only of the client's own
/// namespace. Run it from a schedule; several may run at once.
///
/// `older_than` has to be longer than any process can be paused and come back with its connection, and than the age of a backup of Redis
/// that you would restore: jobs that it brings back run again. A week does in most places; below an hour it is refused.
///
/// # Errors
/// [`Error::Invalid`] when `older_than` is under an hour. As asking the store and [`once`](super::once) otherwise; what was removed until
/// then stays removed.
///
/// # Cancel safety
/// Cancel safe: each batch is removed by itself.
///
/// # Cost
/// In the database two statements for each 1,000 old notes and one for each 1,000 old fences; in the store a read for each job, many at once.
pub async fn prune(database: &PgPool, client: &Client, older_than: Duration) -> Result<Pruned, Error> {
    if older_than < PRUNE_MIN {
        let allowed = "an hour or more: longer than any process can be paused and come back";
        return Err(Invalid::new("older_than", format!("{older_than:?}"), allowed).into());
    }
    let age = PgInterval {
        months: 0,
        days: (older_than.as_secs() / 86_400).min(i32::MAX as u64) as i32,
        microseconds: (older_than.as_secs() % 86_400 * 1_000_000) as i64,
    };
    Ok(Pruned {
        noted: prune_notes(database, client, &age).await?,
        fences: prune_fences(database, client.store().namespace(), &age).await?,
    })
}

/// The notes that are old enough, a batch after the other: each job is asked about once.
async fn prune_notes(database: &PgPool, client: &Client, age: &PgInterval) -> Result<u64, Error> {
    let namespace = client.store().namespace();
    let mut after = ("-infinity".to_owned(), String::new(), String::new());
    let mut removed = 0;
    loop {
        let old: Vec<(String, String, String)> = sqlx::query_as(OLD_NOTES)
            .bind(namespace)
            .bind(age)
            .bind(&after.0)
            .bind(&after.1)
            .bind(&after.2)
            .bind(PRUNE_BATCH)
            .fetch_all(database)
            .await
            .map_err(|error| refusal("read old notes of jobs", error))?;
        let Some(last) = old.last() else { return Ok(removed) };
        after = last.clone();
        let asked = old.into_iter().map(|(_, job, step)| async move {
            let known = match job.parse::<JobId>() {
                Ok(id) => client.job(id).await?.is_some(),
                Err(_) => false,
            };
            Ok::<_, Error>((!known).then_some((job, step)))
        });
        let gone: Vec<Option<(String, String)>> = stream::iter(asked).buffer_unordered(PRUNE_AT_ONCE).try_collect().await?;
        let (jobs, steps): (Vec<String>, Vec<String>) = gone.into_iter().flatten().unzip();
        if jobs.is_empty() {
            continue;
        }
        let deleted = sqlx::query(FORGET_NOTES)
            .bind(namespace)
            .bind(&jobs)
            .bind(&steps)
            .execute(database)
            .await;
        removed += deleted.map_err(|error| refusal("remove old notes of jobs", error))?.rows_affected();
    }
}

async fn prune_fences(database: &PgPool, namespace: &str, age: &PgInterval) -> Result<u64, Error> {
    let mut removed = 0;
    loop {
        let deleted = sqlx::query(FORGET_FENCES)
            .bind(namespace)
            .bind(age)
            .bind(PRUNE_BATCH)
            .execute(database)
            .await;
        let deleted = deleted.map_err(|error| refusal("remove old fences", error))?.rows_affected();
        removed += deleted;
        if deleted == 0 {
            return Ok(removed);
        }
    }
}
