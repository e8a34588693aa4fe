//! The worker: it claims jobs, runs their handlers, renews what they hold and settles them.
//!
//! One actor a file: the `fetcher` turns (claims and settles), the `executor` runs one attempt, the `watchdog` renews from
//! a thread of its own, the `looker` says when an idle worker looks, the `herald` tells the fleet that this worker lives.
//!
//! The library installs no subscriber, panic hook or signal handler and reads no environment.

mod appetite;
mod builder;
mod ending;
mod executor;
mod fetcher;
mod health;
mod herald;
mod looker;
mod settler;
mod share;
mod slots;
mod ticker;
mod watchdog;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

pub use builder::WorkerBuilder;
pub use health::Health;

use crate::attempt::{Ended, StopCause, Workshop};
use crate::client::Client;
use crate::error::Error;
use crate::lock::Locks;
use crate::names::{ProcessId, QueueName};
use crate::store::Store;
use crate::store::view::WorkerCard;
use fetcher::Fetcher;
use health::Vitals;
use herald::Herald;
use ticker::{Ticker, Timetable};
use watchdog::{Watchdog, Watched};

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// Runs the jobs of its queues with its tasks. Built by [`Worker::builder`]; one [`Worker::run`] is one identity.
#[must_use = "a worker does nothing until it runs"]
pub struct Worker {
    shop: Arc<Workshop>,
    store: Arc<dyn Store>,
    plan: Plan,
    card: WorkerCard,
    ends: UnboundedReceiver<Ended>,
    vitals: Arc<Vitals>,
    timetable: Timetable,
}

/// What the fetcher goes by.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) queues: Vec<QueueName>,
    pub(crate) concurrency: usize,
    pub(crate) shutdown_grace: Duration,
    pub(crate) log: bool,
}

/// What a worker did in its run, counted in attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Done, also those skipped because their lock was busy.
    pub done: u64,
    /// Failed and scheduled again, charged.
    pub failed: u64,
    /// Scheduled again at the handler's wish.
    pub snoozed: u64,
    /// Dead: discarded, retries used up, expired, unfit, cancelled.
    pub dead: u64,
    /// Handed back uncharged.
    pub returned: u64,
    /// Refused at the settle: somebody else had the job by then, or its lock was lost.
    pub lost: u64,
}

impl Worker {
    /// Begins a worker on a client's store.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), linchpin::Error> {
    /// use linchpin::{Client, TaskResult, Worker, task};
    ///
    /// #[task(lock = "inventory:{sku}")]
    /// async fn decrement(sku: String, qty: u32) -> TaskResult {
    ///     Ok(())
    /// }
    ///
    /// let client = Client::connect("memory://").await?;
    /// let worker = Worker::builder(&client).task::<decrement>().concurrency(4).build()?;
    /// let summary = worker.run(async {}).await?;
    /// assert_eq!(summary.done, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(client: &Client) -> WorkerBuilder {
        WorkerBuilder::on(client.store().clone())
    }

    /// Begins a worker on a store.
    pub fn on(store: Arc<dyn Store>) -> WorkerBuilder {
        WorkerBuilder::on(store)
    }

    /// The worker's identity: random, new for every worker.
    pub fn id(&self) -> &ProcessId {
        &self.shop.worker
    }

    /// How it is, also while it runs: take this before [`Worker::run`].
    pub fn health(&self) -> Health {
        Health::new(self.vitals.clone())
    }

    /// Works until `shutdown` resolves, then claims nothing more, waits `shutdown_grace` for its handlers, tells the rest to
    /// stop, hands their jobs back, and answers what it did. Reconnects for ever.
    ///
    /// # Errors
    /// [`Error::Refused`] when the store cannot be used (its version, its rights) at the start; [`Error::Unknown`] with the
    /// jobs whose settles found no answer before their leases ended.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropping it tells the handlers to stop and leaves their jobs to the lease.
    pub async fn run(self, shutdown: impl Future) -> Result<Summary, Error> {
        let Self {
            shop,
            store,
            plan,
            card,
            ends,
            vitals,
            timetable,
        } = self;
        let mut shutdown = std::pin::pin!(shutdown);
        let registered = tokio::select! { biased;
            registered = herald::register(store.as_ref(), &card, &vitals) => registered,
            _ = &mut shutdown => return Ok(Summary::default()),
        };
        registered?;
        tracing::info!(worker.id = %shop.worker, store = store.describe(), concurrency = plan.concurrency, "worker started");

        let watched = Arc::new(Watched::default());
        let stop_all = StopOnDrop(watched.clone());
        let watchdog = Watchdog::start(store.clone(), shop.lease, watched.clone())?;
        let locks = shop.locks.clone().unwrap_or_else(|| Locks::new(store.clone(), shop.worker.clone()));
        let herald = Herald::new(store.clone(), card, watched.clone(), locks, vitals.clone());
        let fleet = herald.fleet();
        let ticker = Ticker::new(store.clone(), shop.worker.clone(), timetable, herald.schedules());
        let ticker = AbortOnDropHandle::new(tokio::spawn(ticker.run()));
        let herald = AbortOnDropHandle::new(tokio::spawn(herald.run()));
        let (stop, stopped) = oneshot::channel();
        let fetcher = Fetcher::new(shop.clone(), store.clone(), plan, ends, watched, vitals, fleet);
        let mut fetcher = AbortOnDropHandle::new(tokio::spawn(fetcher.run(stopped)));
        let ended = tokio::select! { biased;
            ended = &mut fetcher => ended,
            _ = &mut shutdown => {
                tracing::info!(worker.id = %shop.worker, "worker stops claiming");
                ticker.abort();
                let _ = stop.send(());
                (&mut fetcher).await
            }
        };
        let summary = ended.unwrap_or_else(|ended| {
            Err(Error::Internal {
                what: format!("the worker's loop ended early: {ended}"),
            })
        });
        drop((herald, ticker));
        watchdog.end().await;
        drop(stop_all);
        if !matches!(tokio::time::timeout(GOODBYE, store.deregister(&shop.worker)).await, Ok(Ok(()))) {
            tracing::warn!(worker.id = %shop.worker, "worker left without saying goodbye: its card expires by itself");
        }
        tracing::info!(worker.id = %shop.worker, "worker ended");
        summary
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("id", self.id())
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// Tells every attempt to stop when the run ends or is dropped.
struct StopOnDrop(Arc<Watched>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop_all(StopCause::Shutdown);
    }
}
