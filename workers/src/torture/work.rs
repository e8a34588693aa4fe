//! A worker process of a torture run: it sells out of a stock, sometimes slowly, sometimes failing, and tells what it does.

use std::io::Read;
use std::time::Duration;

use linchpin::{Attempt, Client, Data, Effects, Error, TaskResult, Worker, task};
use serde::{Deserialize, Serialize};

use super::history::{Event, NO_LOCK, What};
use crate::failure::Failure;

/// Short, so that much happens in little time.
pub const LEASE: Duration = Duration::from_secs(1);
/// Different goods, each with a lock.
pub const SKUS: u64 = 60;
/// What the lock of each begins with.
pub const STOCK: &str = "stock:";
/// How long an attempt waits for a lock of the auditors before it goes on without.
const PATIENCE: Duration = Duration::from_millis(500);
/// Attempts a worker runs at once.
const CONCURRENCY: usize = 8;

/// How often, and after how long, a worker tries again to reach the store when it starts.
const CONNECT_TRIES: u32 = 100;
const CONNECT_AGAIN: Duration = Duration::from_millis(100);

/// What a worker process is told, on its standard input: a URL may hold a password, and arguments are public.
#[derive(Serialize, Deserialize)]
pub struct Orders {
    pub store: String,
    pub namespace: String,
    pub seed: u64,
    /// A guard that is taken out.
    pub mutant: Option<String>,
    /// The step at which the process ends, and when it reaches it for how manieth time.
    pub failpoint: Option<(String, u64)>,
}

/// The keys that effects change.
#[derive(Clone)]
pub struct Shelves {
    pub namespace: String,
    pub seed: u64,
}

impl Shelves {
    /// What all keys begin with.
    pub fn prefix(&self) -> String {
        format!("torture-effects:{}:", self.namespace)
    }

    pub fn stock(&self, sku: u64) -> String {
        format!("{}stock:{sku}", self.prefix())
    }

    /// Orders taken from a SKU with the fence of each, in their order.
    pub fn history(&self, sku: u64) -> String {
        format!("{}history:{sku}", self.prefix())
    }

    /// How often each order was taken.
    pub fn orders(&self) -> String {
        format!("{}orders", self.prefix())
    }

    /// How often each tick was taken.
    pub fn ticks(&self) -> String {
        format!("{}ticks", self.prefix())
    }
}

/// A number that looks random and is the same for the same input.
pub fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Writes how an attempt ended, also when its handler is dropped.
struct Teller {
    event: Event,
    end: What,
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.event.clone().tell(self.end);
    }
}

#[task(
    lock = "stock:{sku}",
    retries = 100000,
    crash_limit = 100000,
    backoff("50ms", cap = "200ms"),
    timeout = "20s"
)]
pub async fn sell(attempt: Attempt, shelves: Data<Shelves>, order: u64, sku: u64, qty: i64) -> TaskResult {
    let fence = attempt.fence();
    let effects = |fx: &mut Effects| {
        fx.decr_by(shelves.stock(sku), qty);
        fx.rpush(shelves.history(sku), format!("{order} {fence}"));
        fx.hincr_by(shelves.orders(), order.to_string(), 1);
    };
    serve(&attempt, shelves.seed, order, sku, effects).await
}

/// As [`sell`], without a lock: only the ownership of the job protects it.
#[task(retries = 100000, crash_limit = 100000, backoff("50ms", cap = "200ms"), timeout = "20s")]
pub async fn give(attempt: Attempt, shelves: Data<Shelves>, order: u64, sku: u64, qty: i64) -> TaskResult {
    let effects = |fx: &mut Effects| {
        fx.decr_by(shelves.stock(sku), qty);
        fx.hincr_by(shelves.orders(), order.to_string(), 1);
    };
    serve(&attempt, shelves.seed, order, NO_LOCK, effects).await
}

async fn serve(attempt: &Attempt, seed: u64, order: u64, sku: u64, effects: impl Fn(&mut Effects)) -> TaskResult {
    let event = Event {
        at: 0,
        what: What::Started,
        job: attempt.job_id().to_string(),
        order,
        sku,
        fence: attempt.fence().0,
    };
    event.clone().tell(What::Started);
    let mut teller = Teller { event, end: What::Dropped };
    let dice = scramble(seed ^ scramble(order.wrapping_mul(31).wrapping_add(u64::from(attempt.number()))));
    let nested = match dice % 8 {
        0 => tokio::time::timeout(PATIENCE, attempt.lock(format!("audit:{}", order % 3)))
            .await
            .ok(),
        _ => None,
    };
    let ms = match dice / 8 % 10 {
        0 => 300 + dice / 80 % 600,
        1..4 => 20 + dice / 80 % 180,
        _ => dice / 80 % 20,
    };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    if (dice / 1000).is_multiple_of(25) && attempt.number() == 1 {
        teller.end = What::Failed;
        return Err("the till is jammed".into());
    }
    if dice / 1000 % 100 == 1 && attempt.number() == 1 {
        teller.end = What::Failed;
        panic!("the till fell over");
    }
    drop(nested);
    attempt.at_settle(|fx| effects(fx))?;
    teller.end = What::HandedOver;
    Ok(())
}

#[task(retries = 100000, crash_limit = 100000, backoff("50ms", cap = "200ms"))]
pub async fn beat(attempt: Attempt, shelves: Data<Shelves>) -> TaskResult {
    let at = attempt.tick().map(|tick| tick.at.timestamp()).unwrap_or_default();
    attempt.at_settle(|fx| fx.hincr_by(shelves.ticks(), at.to_string(), 1))?;
    Ok(())
}

/// A worker that starts while it is cut off tries again, as its supervisor would have it do.
async fn connect(orders: &Orders) -> Result<Client, Failure> {
    let mut again = CONNECT_TRIES;
    loop {
        match Client::builder(&orders.store).namespace(&orders.namespace).connect().await {
            Err(Error::Unreachable { .. }) if again > 0 => again -= 1,
            answer => return Ok(answer?),
        }
        tokio::time::sleep(CONNECT_AGAIN).await;
    }
}

/// The worker process: reads its orders, the first line, and works until its input ends.
pub async fn work_as_told() -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut byte = [0];
    let mut input = std::io::stdin();
    while input.read(&mut byte).map_err(|error| Failure::new("read the orders", error))? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let orders: Orders = serde_json::from_slice(&line).map_err(|error| Failure::new("read the orders", error))?;
    super::options::mutate(orders.mutant.as_deref());
    super::options::arm(orders.failpoint.as_ref());
    // a panic of a handler is on purpose here
    std::panic::set_hook(Box::new(|_| {}));
    let client = connect(&orders).await?;
    let shelves = Shelves {
        namespace: orders.namespace,
        seed: orders.seed,
    };
    let worker = Worker::builder(&client)
        .concurrency(CONCURRENCY)
        .lease(LEASE)
        .shutdown_grace(Duration::from_secs(3))
        .data(shelves)
        .task::<sell>()
        .task::<give>()
        .task::<beat>()
        .build()?;
    let stopped = async {
        let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
    };
    worker.run(stopped).await?;
    Ok(client.close().await?)
}
