//! The task, and the process that runs it.

use std::time::Duration;

use linchpin::postgres::{Once, once};
use linchpin::{Attempt, Client, Data, TaskResult, Worker, task};

use crate::bank::Bank;
use crate::support::until_input_ends;

/// Short, so that the payments of a killed worker come back soon.
const LEASE: Duration = Duration::from_secs(1);
/// Payments a worker makes at once: as many as it has connections.
const CONCURRENCY: usize = 8;
/// What tells this program, started again by itself, to be a worker.
const VARIABLES: [&str; 3] = ["PAYMENTS_STORE", "PAYMENTS_DATABASE", "PAYMENTS_RUN"];

/// Where a run takes place.
pub struct Place {
    pub store: String,
    pub database: String,
    /// The namespace in the store and the schema in the database.
    pub run: String,
}

impl Place {
    /// What this process was started for, when it was started as a worker.
    pub fn of_worker() -> Option<Self> {
        let [store, database, run] = VARIABLES.map(|name| std::env::var(name).ok());
        Some(Self {
            store: store?,
            database: database?,
            run: run?,
        })
    }

    /// What a worker of this run is told.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let values = [&self.store, &self.database, &self.run].map(String::clone);
        VARIABLES.into_iter().zip(values).collect()
    }
}

// a worker may be killed often here, and a payment is not to blame for it
#[task(lock = ["account:{from}", "account:{to}"], crash_limit = 1000)]
pub async fn pay(attempt: Attempt, bank: Data<Bank>, payment: i32, from: i32, to: i32, cents: i64) -> TaskResult {
    let mut tx = bank.begin().await?;
    match once(&mut tx, &attempt).await? {
        Once::First => {
            for (account, change) in [(from, -cents), (to, cents)] {
                let update = sqlx::query("UPDATE accounts SET cents = cents + $2 WHERE id = $1");
                update.bind(account).bind(change).execute(&mut *tx).await?;
                let note = sqlx::query("INSERT INTO ledger VALUES ($1, $2, $3)");
                note.bind(payment).bind(account).bind(change).execute(&mut *tx).await?;
            }
        }
        // an attempt before this one committed it, and died before it could say so
        Once::Already => {
            sqlx::query("INSERT INTO met_again VALUES ($1)")
                .bind(payment)
                .execute(&mut *tx)
                .await?;
        }
    }
    tx.commit().await?;
    Ok(())
}

/// Works until standard input ends.
pub async fn work(place: Place) -> anyhow::Result<()> {
    let client = Client::builder(&place.store).namespace(&place.run).connect().await?;
    let worker = Worker::builder(&client)
        .concurrency(CONCURRENCY)
        .lease(LEASE)
        .task::<pay>()
        .data(Bank::open(&place).await?)
        .build()?;
    worker.run(until_input_ends()).await?;
    client.close().await?;
    Ok(())
}
