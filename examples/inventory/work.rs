//! The task, and the workers that run it: processes on Redis, tasks of this process on the embedded store.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use linchpin::worker::Summary;
use linchpin::{Attempt, Client, Data, TaskResult, Worker, task};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::stock::Stock;

/// Jobs a worker runs at once.
const CONCURRENCY: usize = 20;
/// Short, so that the jobs of a killed worker come back soon.
const LEASE: Duration = Duration::from_secs(2);
/// What tells this program, started again by itself, to be a worker: the store and the namespace.
const ORDERS: [&str; 2] = ["INVENTORY_WORKER_STORE", "INVENTORY_WORKER_NAMESPACE"];

#[task(lock = "inventory:{sku}")]
pub async fn decrement(attempt: Attempt, stock: Data<Stock>, order: u64, sku: String, qty: i64) -> TaskResult {
    let token = format!("{}/{}", attempt.job_id(), attempt.fence());
    stock.enter(&sku, &token).await?;
    // done with the settle that ends this job, once: a worker killed before it has done nothing, one killed after it has done all
    attempt.at_settle(|fx| stock.take(fx, order, &sku, qty, &token))?;
    Ok(())
}

fn worker(client: &Client, stock: Stock) -> Result<Worker, linchpin::Error> {
    Worker::builder(client)
        .concurrency(CONCURRENCY)
        .lease(LEASE)
        .task::<decrement>()
        .data(stock)
        .build()
}

/// The workers of a run.
pub enum Crew {
    Tasks {
        running: JoinSet<Result<Summary, linchpin::Error>>,
        stop: watch::Sender<bool>,
    },
    Processes {
        running: Vec<Child>,
        orders: [String; 2],
    },
}

impl Crew {
    pub fn start(client: &Client, stock: &Stock, store: &str, namespace: &str, workers: u64) -> anyhow::Result<Self> {
        if !store.starts_with("memory:") {
            let orders = [store.to_owned(), namespace.to_owned()];
            let running = (0..workers).map(|_| spawn(&orders)).collect::<Result<_, _>>()?;
            return Ok(Self::Processes { running, orders });
        }
        let stop = watch::Sender::new(false);
        let mut running = JoinSet::new();
        for _ in 0..workers {
            let worker = worker(client, stock.clone())?;
            let mut stopped = stop.subscribe();
            running.spawn(async move { worker.run(async move { drop(stopped.wait_for(|stop| *stop).await) }).await });
        }
        Ok(Self::Tasks { running, stop })
    }

    /// Kills the `turn`-th worker in turn with SIGKILL and starts another in its place.
    pub fn kill_one(&mut self, turn: u64) -> anyhow::Result<()> {
        let Self::Processes { running, orders } = self else {
            return Ok(());
        };
        let victim = turn as usize % running.len();
        running[victim].kill().context("kill a worker")?;
        running[victim].wait().context("wait for a killed worker")?;
        running[victim] = spawn(orders)?;
        Ok(())
    }

    /// Fails when a worker has ended by itself.
    pub fn check(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Tasks { running, .. } => {
                if let Some(ended) = running.try_join_next() {
                    ended.context("a worker panicked")??;
                    anyhow::bail!("a worker ended early");
                }
            }
            Self::Processes { running, .. } => {
                for child in running {
                    let ended = child.try_wait()?;
                    ensure!(ended.is_none(), "a worker ended early: {ended:?}");
                }
            }
        }
        Ok(())
    }

    /// Asks all to stop and waits for them.
    pub async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Tasks { mut running, stop } => {
                stop.send_replace(true);
                while let Some(ended) = running.join_next().await {
                    ended.context("a worker panicked")??;
                }
            }
            Self::Processes { mut running, .. } => {
                for child in &mut running {
                    drop(child.stdin.take());
                }
                for mut child in running {
                    let status = tokio::task::spawn_blocking(move || child.wait()).await??;
                    ensure!(status.success(), "a worker failed: {status}");
                }
            }
        }
        Ok(())
    }
}

/// Starts this program again as a worker. It stops when its standard input ends, so also when this process is gone.
fn spawn(orders: &[String; 2]) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    // By environment and not by argument: the store's URL may hold a password, and arguments are there for all to see.
    command.envs(ORDERS.into_iter().zip(orders));
    command.spawn().context("start a worker process")
}

/// What this process was started for, when it was started as a worker.
pub fn orders() -> Option<[String; 2]> {
    let [store, namespace] = ORDERS.map(|name| std::env::var(name).ok());
    Some([store?, namespace?])
}

/// Works until standard input ends.
pub async fn work_as_told([store, namespace]: [String; 2]) -> anyhow::Result<()> {
    let client = Client::builder(&store).namespace(&namespace).connect().await?;
    let stock = Stock::new(&client, &namespace);
    let told_to_stop = async {
        let mut input = tokio::io::stdin();
        let _ = tokio::io::copy(&mut input, &mut tokio::io::sink()).await;
    };
    worker(&client, stock)?.run(told_to_stop).await?;
    client.close().await?;
    Ok(())
}
