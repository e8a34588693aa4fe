//! The shop's stock: in the same Redis as the jobs, or in a map of this process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, pipe};

/// What each SKU has before the first job.
pub const STOCK_AT_FIRST: i64 = 1_000_000;

/// SKU -> what its stock is to be.
pub type Expected = BTreeMap<String, i64>;

/// The name of SKU number `number`.
pub fn sku(number: u64) -> String {
    format!("A{}", number + 1)
}

/// The stock of all SKUs, and who has taken from it.
pub enum Stock {
    Memory(Arc<Mutex<Shelves>>),
    Redis { connection: MultiplexedConnection, prefix: String },
}

#[derive(Default)]
pub struct Shelves {
    stock: HashMap<String, i64>,
    marks: HashMap<String, String>,
    applied: HashSet<String>,
    times: HashMap<String, u64>,
    overlaps: u64,
}

/// What was found in the end.
pub struct Audit {
    pub stock: i64,
    pub wrong_skus: u64,
    pub applied: HashSet<String>,
    pub double: u64,
    pub overlaps: u64,
}

impl Clone for Stock {
    fn clone(&self) -> Self {
        match self {
            Self::Memory(shelves) => Self::Memory(shelves.clone()),
            Self::Redis { connection, prefix } => Self::Redis {
                connection: connection.clone(),
                prefix: prefix.clone(),
            },
        }
    }
}

impl Stock {
    pub async fn open(store: &str, namespace: &str) -> anyhow::Result<Self> {
        if store.starts_with("memory:") {
            return Ok(Self::Memory(Arc::default()));
        }
        let connection = redis::Client::open(store)?.get_multiplexed_async_connection().await?;
        let prefix = format!("inventory-example:{namespace}");
        Ok(Self::Redis { connection, prefix })
    }

    pub async fn fill(&self, skus: u64) -> anyhow::Result<()> {
        match self {
            Self::Memory(shelves) => hold(shelves).stock.extend((0..skus).map(|number| (sku(number), STOCK_AT_FIRST))),
            Self::Redis { connection, prefix } => {
                let mut fill = pipe();
                for number in 0..skus {
                    fill.set(format!("{prefix}:stock:{}", sku(number)), STOCK_AT_FIRST).ignore();
                }
                let () = fill.query_async(&mut connection.clone()).await?;
            }
        }
        Ok(())
    }

    /// Takes `qty` of `sku` on behalf of `job`, unless that job has taken it before. `token` names this attempt: when it
    /// finds another one's mark as it writes, two attempts were at this SKU at once, and that is counted.
    pub async fn take(&self, sku: &str, qty: i64, job: &str, token: &str) -> anyhow::Result<()> {
        match self {
            Self::Memory(shelves) => take_from_shelf(shelves, sku, qty, job, token).await,
            Self::Redis { connection, prefix } => take_from_redis(&mut connection.clone(), prefix, sku, qty, job, token).await?,
        }
        Ok(())
    }

    /// Compares what is there with what is to be there.
    pub async fn audit(&self, expected: &Expected) -> anyhow::Result<Audit> {
        let (stock, applied, times, overlaps): (HashMap<String, i64>, _, HashMap<String, u64>, u64) = match self {
            Self::Memory(shelves) => {
                let shelves = hold(shelves);
                (
                    shelves.stock.clone(),
                    shelves.applied.clone(),
                    shelves.times.clone(),
                    shelves.overlaps,
                )
            }
            Self::Redis { connection, prefix } => {
                let mut connection = connection.clone();
                let mut stock = HashMap::new();
                for sku in expected.keys() {
                    stock.insert(sku.clone(), connection.get(format!("{prefix}:stock:{sku}")).await?);
                }
                let applied = connection.smembers(format!("{prefix}:applied")).await?;
                let times = connection.hgetall(format!("{prefix}:times")).await?;
                let overlaps: Option<u64> = connection.get(format!("{prefix}:overlaps")).await?;
                (stock, applied, times, overlaps.unwrap_or(0))
            }
        };
        Ok(Audit {
            stock: stock.values().sum(),
            wrong_skus: expected.iter().filter(|(sku, qty)| stock.get(*sku) != Some(qty)).count() as u64,
            double: times.values().filter(|times| **times > 1).count() as u64,
            applied,
            overlaps,
        })
    }

    /// Removes the example's keys and those of its namespace.
    pub async fn clear(&self) -> anyhow::Result<()> {
        let Self::Redis { connection, prefix } = self else { return Ok(()) };
        let namespace = prefix.rsplit(':').next().unwrap_or_default();
        let mut connection = connection.clone();
        let mut cursor = 0u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("*{namespace}*")).arg("COUNT").arg(1000);
            let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await?;
            if !keys.is_empty() {
                let () = connection.unlink(keys).await?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}

async fn take_from_redis(
    connection: &mut MultiplexedConnection,
    prefix: &str,
    sku: &str,
    qty: i64,
    job: &str,
    token: &str,
) -> redis::RedisResult<()> {
    let stock_key = format!("{prefix}:stock:{sku}");
    let (mark_key, applied_key) = (format!("{prefix}:mark:{sku}"), format!("{prefix}:applied"));
    let () = connection.set(&mark_key, token).await?;
    let stock: i64 = connection.get(&stock_key).await?;
    if connection.sismember(&applied_key, job).await? {
        return Ok(());
    }
    let (mark,): (String,) = pipe()
        .atomic()
        .get(&mark_key)
        .set(&stock_key, stock - qty)
        .ignore()
        .sadd(&applied_key, job)
        .ignore()
        .hincr(format!("{prefix}:times"), job, 1)
        .ignore()
        .query_async(connection)
        .await?;
    if mark != token {
        let () = connection.incr(format!("{prefix}:overlaps"), 1).await?;
    }
    Ok(())
}

async fn take_from_shelf(shelves: &Mutex<Shelves>, sku: &str, qty: i64, job: &str, token: &str) {
    let stock = {
        let mut shelves = hold(shelves);
        shelves.marks.insert(sku.to_owned(), token.to_owned());
        if shelves.applied.contains(job) {
            return;
        }
        shelves.stock.get(sku).copied().unwrap_or_default()
    };
    // Whoever else wants this SKU gets the chance to come between.
    tokio::task::yield_now().await;
    let mut shelves = hold(shelves);
    shelves.overlaps += u64::from(shelves.marks.get(sku).is_none_or(|mark| mark != token));
    shelves.stock.insert(sku.to_owned(), stock - qty);
    shelves.applied.insert(job.to_owned());
    *shelves.times.entry(job.to_owned()).or_default() += 1;
}

fn hold(shelves: &Mutex<Shelves>) -> MutexGuard<'_, Shelves> {
    shelves.lock().unwrap_or_else(PoisonError::into_inner)
}
