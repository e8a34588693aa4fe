//! The bank's tables: accounts, a ledger that would show a payment made twice, and what was met again.

use std::str::FromStr;

use linchpin::postgres::migrate;
use rand::RngExt;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres, Transaction};

use crate::work::{Place, pay};

/// What each account has before the first payment.
const CENTS_AT_FIRST: i64 = 1_000_000;
/// Connections of one process.
const CONNECTIONS: u32 = 8;

/// The tables of one run, in a schema of its own.
#[derive(Clone)]
pub struct Bank {
    pool: PgPool,
    schema: String,
}

/// What was found in the end.
pub struct Audit {
    pub lost: u64,
    pub double: u64,
    pub wrong_accounts: u64,
    pub met_again: u64,
}

impl Bank {
    /// The bank that was founded for this run.
    pub async fn open(place: &Place) -> anyhow::Result<Self> {
        let options = PgConnectOptions::from_str(&place.database)?.options([("search_path", &place.run)]);
        // who is paused inside a transaction is not waited for longer than its lease
        let options = options.options([("idle_in_transaction_session_timeout", "2s")]);
        Ok(Self {
            pool: PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?,
            schema: place.run.clone(),
        })
    }

    /// Makes the tables and fills the accounts.
    pub async fn found(place: &Place, accounts: u32) -> anyhow::Result<Self> {
        let bank = Self::open(place).await?;
        let tables = format!(
            "CREATE SCHEMA {schema};
             CREATE TABLE accounts (id int PRIMARY KEY, cents bigint NOT NULL);
             CREATE TABLE ledger (payment int NOT NULL, account int NOT NULL, cents bigint NOT NULL);
             CREATE TABLE met_again (payment int NOT NULL);
             INSERT INTO accounts SELECT id, {CENTS_AT_FIRST} FROM generate_series(0, {last}) AS id",
            schema = bank.schema,
            last = accounts - 1,
        );
        sqlx::raw_sql(&tables).execute(&bank.pool).await?;
        migrate(&bank.pool).await?;
        Ok(bank)
    }

    /// Payments between random accounts.
    pub fn orders(&self, payments: u32, accounts: u32) -> Vec<pay> {
        let mut random = rand::rng();
        let orders = (0..payments).map(|payment| {
            let from = random.random_range(0..accounts);
            pay {
                payment: payment as i32,
                from: from as i32,
                to: ((from + random.random_range(1..accounts)) % accounts) as i32,
                cents: random.random_range(1..10_000),
            }
        });
        orders.collect()
    }

    pub async fn begin(&self) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
        self.pool.begin().await
    }

    /// Compares what is there with what is to be there.
    pub async fn audit(&self, orders: &[pay], accounts: u32) -> anyhow::Result<Audit> {
        let mut wanted = vec![CENTS_AT_FIRST; accounts as usize];
        for order in orders {
            wanted[order.from as usize] -= order.cents;
            wanted[order.to as usize] += order.cents;
        }
        let balances: Vec<(i64,)> = sqlx::query_as("SELECT cents FROM accounts ORDER BY id")
            .fetch_all(&self.pool)
            .await?;
        let wrong = wanted.iter().zip(&balances).filter(|(wanted, (is,))| *wanted != is).count();
        let (made, lines): (i64, i64) = sqlx::query_as("SELECT count(DISTINCT payment), count(*) FROM ledger")
            .fetch_one(&self.pool)
            .await?;
        let (met_again,): (i64,) = sqlx::query_as("SELECT count(*) FROM met_again").fetch_one(&self.pool).await?;
        Ok(Audit {
            lost: orders.len() as u64 - made as u64,
            double: (lines / 2 - made) as u64,
            wrong_accounts: wrong as u64,
            met_again: met_again as u64,
        })
    }

    /// Removes the tables.
    pub async fn close(self) -> anyhow::Result<()> {
        sqlx::raw_sql(&format!("DROP SCHEMA {} CASCADE", self.schema))
            .execute(&self.pool)
            .await?;
        self.pool.close().await;
        Ok(())
    }
}
