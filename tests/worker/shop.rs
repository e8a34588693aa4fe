//! A shop for tests: a store, a client, and workers that are told when to end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use linchpin::store::Store;
use linchpin::store::settle::{Settle, SettleAnswer};
use linchpin::worker::{Health, WorkerBuilder};
use linchpin::{Client, Error, Summary, Worker};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::faulty::Faulty;

/// How long a test waits for anything before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The shortest lease there is.
pub const LEASE: Duration = Duration::from_secs(1);

pub async fn within<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what}: not within {PATIENCE:?}"),
    }
}

pub struct Shop {
    pub store: Arc<Faulty>,
    pub client: Client,
    settled: UnboundedReceiver<(Settle, SettleAnswer)>,
    /// Handlers say here what they do.
    pub said: UnboundedReceiver<String>,
    pub say: Say,
}

/// Where handlers say what they do.
#[derive(Clone)]
pub struct Say(UnboundedSender<String>);

impl Say {
    pub fn say(&self, what: impl Into<String>) {
        let _ = self.0.send(what.into());
    }
}

impl Shop {
    pub fn open() -> Self {
        let (tell, settled) = unbounded_channel();
        let (say, said) = unbounded_channel();
        let store = Arc::new(Faulty::new(tell));
        let client = Client::on(store.clone() as Arc<dyn Store>);
        Self {
            store,
            client,
            settled,
            said,
            say: Say(say),
        }
    }

    /// A worker of this shop that has yet to get its tasks.
    pub fn worker(&self) -> WorkerBuilder {
        Worker::builder(&self.client).lease(LEASE).concurrency(4).data(self.say.clone())
    }

    /// The next settle and its answer.
    pub async fn settled(&mut self) -> (Settle, SettleAnswer) {
        within("a settle", self.settled.recv()).await.unwrap()
    }

    /// What a handler says next.
    pub async fn hears(&mut self) -> String {
        within("a handler's word", self.said.recv()).await.unwrap()
    }
}

pub struct Running {
    stop: oneshot::Sender<()>,
    run: JoinHandle<Result<Summary, Error>>,
    pub health: Health,
}

impl Running {
    pub fn start(builder: WorkerBuilder) -> Self {
        let worker = builder.build().unwrap();
        let health = worker.health();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = tokio::spawn(worker.run(stopped));
        Self { stop, run, health }
    }

    pub async fn stop(self) -> Summary {
        let _ = self.stop.send(());
        within("the worker's end", self.run).await.unwrap().unwrap()
    }

    /// Ends it as if its process had been killed.
    pub async fn kill(self) {
        self.run.abort();
        let _ = self.run.await;
    }
}
