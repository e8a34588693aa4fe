//! The task, and the workers that run it: processes on Redis, tasks of this process on the embedded store.

use std::time::Duration;

use anyhow::Context;
use linchpin::worker::Summary;
use linchpin::{Attempt, Client, Data, TaskResult, Worker, task};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::stock::Stock;
use crate::support::{WorkerProcess, until_input_ends};

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
    Processes(Vec<WorkerProcess>),
}

impl Crew {
    pub fn start(client: &Client, stock: &Stock, store: &str, namespace: &str, workers: u64) -> anyhow::Result<Self> {
        if !store.starts_with("memory:") {
            let orders = || ORDERS.into_iter().zip([store.to_owned(), namespace.to_owned()]).collect();
            let running = (0..workers).map(|_| WorkerProcess::start(orders()));
            return Ok(Self::Processes(running.collect::<Result<_, _>>()?));
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
        let Self::Processes(running) = self else {
            return Ok(());
        };
        let victim = turn as usize % running.len();
        running[victim].kill()
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
            Self::Processes(running) => running.iter_mut().try_for_each(WorkerProcess::check)?,
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
            Self::Processes(mut running) => {
                running.iter_mut().for_each(WorkerProcess::ask_to_stop);
                for process in running {
                    process.ended().await?;
                }
            }
        }
        Ok(())
    }
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
    worker(&client, stock)?.run(until_input_ends()).await?;
    client.close().await?;
    Ok(())
}
