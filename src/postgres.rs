//! Once per job in the tables of your own PostgreSQL (feature `postgres`).
//!
//! What a handler writes to a database by itself happens at least once: when its worker dies between the commit and the settle, the
//! job runs again. [`once`] notes the job in the same transaction as the work, so that both are committed or neither: the next attempt
//! is told [`Once::Already`] and leaves the work alone.
//!
//! ```no_run
//! use linchpin::postgres::{Once, once};
//! use linchpin::{Attempt, Data, TaskResult, task};
//! use sqlx::PgPool;
//!
//! #[task(lock = "account:{account}")]
//! async fn deposit(attempt: Attempt, database: Data<PgPool>, account: String, cents: i64) -> TaskResult {
//!     let mut tx = database.begin().await?;
//!     if once(&mut tx, &attempt).await? == Once::First {
//!         sqlx::query("UPDATE accounts SET cents = cents + $2 WHERE id = $1")
//!             .bind(&account)
//!             .bind(cents)
//!             .execute(&mut *tx)
//!             .await?;
//!     }
//!     tx.commit().await?;
//!     Ok(())
//! }
//! ```
//!
//! [`migrate`] makes the two tables, [`prune`] keeps them small; `docs/postgres.md` has the whole of it. Only what is written through
//! that transaction is covered: a mail or a call of somebody's API in the same handler is not.

mod prune;

use std::borrow::Cow;

use sqlx::{Acquire, Postgres, Row, Transaction};

use crate::attempt::Attempt;
use crate::error::{Error, Invalid};
use crate::limits::{MIGRATION_LOCK, STEP_MAX_BYTES};
use crate::names::Fence;

pub use prune::{Pruned, prune};

/// The tables, for those who keep all migrations in one place: what [`migrate`] runs. Every statement may be run again.
pub const SCHEMA: &str = include_str!("postgres/schema.sql");

const ONCE: &str = include_str!("postgres/once.sql");

/// What [`once`] found.
#[must_use = "where it is `Already`, the work must not be done again"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Once {
    /// No committed transaction holds the work: do it in this one, then commit.
    First,
    /// An earlier attempt of the job has committed it: leave it alone, and return `Ok`.
    Already,
}

/// Makes the tables that are missing, in the schema where the connection creates its own (the first of its `search_path`). For the start
/// of a program: replicas may call it at the same time, and again at every start.
///
/// # Errors
/// [`Error::Unreachable`] when the database does not answer, [`Error::Refused`] with its SQLSTATE when it refuses.
pub async fn migrate<'a>(database: impl Acquire<'a, Database = Postgres>) -> Result<(), Error> {
    let made = async {
        let mut tx = database.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .execute(&mut *tx)
            .await?;
        sqlx::raw_sql(SCHEMA).execute(&mut *tx).await?;
        tx.commit().await
    };
    made.await.map_err(|error| refusal("make the tables of Linchpin", error))
}

/// Asks whether the work of this attempt's job is to be done in this transaction, and notes there that it is.
///
/// Guaranteed: of all attempts of a job, at most one that was answered [`Once::First`] can commit; and an attempt that no longer owns
/// the job's locks, or others that it holds when it asks, because somebody took them after it, is refused as soon as that later owner has
/// asked here. Two attempts at once wait for each other, the second until the first has committed or rolled back.
///
/// Call it first in the transaction, before other rows are touched, so that all attempts lock rows in the same order. The rows stay
/// locked until the transaction ends: a process that is paused inside one keeps the next attempt waiting, so give the database an
/// `idle_in_transaction_session_timeout` of about the lease.
///
/// Not promised: anything about what is not written through this transaction. A job that runs another inline ([`Attempt::run`]) is one job
/// here; where both ask, give each a name with [`once_step`].
///
/// # Errors
/// [`Error::Lost`] when the attempt is not valid any more, or a later owner of one of its locks was here: nothing may be committed.
/// [`Error::Unreachable`] when the database does not answer. [`Error::Refused`] with the SQLSTATE when it refuses; `transient` where
/// doing the transaction again may help (`40001` and `40P01`: under `REPEATABLE READ` and stricter, whoever waited for another attempt
/// gets the first). After an error the transaction is to be rolled back, as dropping it does.
///
/// # Cancel safety
/// Cancel safe: dropped with its transaction, nothing was noted.
///
/// # Cost
/// One round trip: a row written for the job and one for each lock that the attempt holds.
pub async fn once(tx: &mut Transaction<'_, Postgres>, attempt: &Attempt) -> Result<Once, Error> {
    ask(tx, attempt, "").await
}

/// As [`once`], for one of several pieces of work in a job, each in a transaction of its own: every `step` is done once.
///
/// # Errors
/// As [`once`]; [`Error::Invalid`] when `step` is empty, over 64 bytes, or holds control characters.
pub async fn once_step(tx: &mut Transaction<'_, Postgres>, attempt: &Attempt, step: &str) -> Result<Once, Error> {
    if step.is_empty() || step.len() > STEP_MAX_BYTES || step.chars().any(char::is_control) {
        return Err(Invalid::new("step", step, "1 to 64 bytes without control characters").into());
    }
    ask(tx, attempt, step).await
}

async fn ask(tx: &mut Transaction<'_, Postgres>, attempt: &Attempt, step: &str) -> Result<Once, Error> {
    let lost = |why: &str| Error::Lost {
        action: format!("work of job {} in the database{why}", attempt.job_id()),
    };
    if attempt.valid_until().passed() {
        return Err(lost(""));
    }
    let held = attempt.held_fences();
    let locks: Vec<Cow<'_, str>> = held.iter().map(|(key, _)| key.wire()).collect();
    let fences: Vec<i64> = held.iter().map(|(_, fence)| signed(*fence)).collect();
    let asked = sqlx::query(ONCE)
        .bind(attempt.namespace())
        .bind(&locks)
        .bind(&fences)
        .bind(attempt.job_id().to_string())
        .bind(step)
        .bind(signed(attempt.fence()))
        .fetch_one(&mut **tx)
        .await;
    let answer = asked.and_then(|row| Ok((row.try_get::<Vec<String>, _>(0)?, row.try_get::<bool, _>(1)?)));
    let (taken, first) = answer.map_err(|error| refusal("note a job's work in the database", error))?;
    if let Some(outdated) = locks.iter().find(|lock| !taken.iter().any(|taken| taken == *lock)) {
        return Err(lost(&format!(
            " behind lock `{outdated}`, which a later owner has worked behind since"
        )));
    }
    Ok(if first { Once::First } else { Once::Already })
}

/// Fences are microseconds since 1970: they fit.
fn signed(fence: Fence) -> i64 {
    i64::try_from(fence.0).unwrap_or(i64::MAX)
}

/// What a database said, by what can be done about it.
fn refusal(action: &str, error: sqlx::Error) -> Error {
    let sqlx::Error::Database(said) = &error else {
        return Error::Unreachable {
            action: action.into(),
            source: Some(Box::new(error)),
        };
    };
    let code = said.code().unwrap_or_default().into_owned();
    let transient = ["40001", "40P01", "53", "57P", "55P03"].iter().any(|begin| code.starts_with(begin));
    let advice = match &*code {
        "42P01" => {
            "the tables are missing: call linchpin::postgres::migrate at the start, or run linchpin::postgres::SCHEMA with your migrations"
                .into()
        }
        "42501" => format!(
            "{}: grant the user SELECT, INSERT, UPDATE and DELETE on linchpin_once and linchpin_fences",
            said.message()
        ),
        _ => said.message().into(),
    };
    Error::Refused {
        action: action.into(),
        code,
        advice,
        transient,
    }
}
