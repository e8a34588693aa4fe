//! What the tests share: a ledger that counts effects outside Linchpin, workers of this process, and the leak check.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linchpin::worker::{Summary, WorkerBuilder};
use linchpin::{Client, Error, Worker};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{RedisServer, may_stay};

/// Whether the long counts are asked for.
pub fn full() -> bool {
    std::env::var_os("LINCHPIN_FULL").is_some()
}

pub const LEASE: Duration = Duration::from_secs(1);

/// Effects per job, and who is inside which key.
#[derive(Debug, Default)]
pub struct Ledger {
    effects: Mutex<HashMap<String, u32>>,
    inside: Mutex<HashMap<String, u32>>,
    pub overlaps: std::sync::atomic::AtomicU32,
    pub numbers: Mutex<Vec<u32>>,
}

impl Ledger {
    pub fn effect(&self, job: impl ToString) {
        *self.effects.lock().unwrap().entry(job.to_string()).or_default() += 1;
    }

    pub fn enter(&self, key: &str) {
        let mut inside = self.inside.lock().unwrap();
        let holders = inside.entry(key.to_owned()).or_default();
        *holders += 1;
        if *holders > 1 {
            self.overlaps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    pub fn leave(&self, key: &str) {
        *self.inside.lock().unwrap().get_mut(key).unwrap() -= 1;
    }

    pub fn jobs(&self) -> usize {
        self.effects.lock().unwrap().len()
    }

    pub fn doubled(&self) -> Vec<String> {
        self.effects
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, n)| **n > 1)
            .map(|(job, _)| job.clone())
            .collect()
    }
}

pub async fn client(server: &RedisServer) -> Client {
    client_at(&server.url()).await
}

pub async fn client_at(url: &str) -> Client {
    Client::builder(url).namespace("cluster").connect().await.expect("our own server")
}

/// Workers that run until told to stop.
pub struct Crew {
    running: JoinSet<Result<Summary, Error>>,
    stop: watch::Sender<bool>,
}

impl Crew {
    pub fn start(builders: impl IntoIterator<Item = WorkerBuilder>) -> Self {
        let stop = watch::Sender::new(false);
        let mut running = JoinSet::new();
        for builder in builders {
            let worker: Worker = builder.lease(LEASE).build().expect("a worker");
            let mut stopped = stop.subscribe();
            running.spawn(worker.run(async move {
                let _ = stopped.wait_for(|stop| *stop).await;
            }));
        }
        Self { running, stop }
    }

    pub async fn stop(mut self) -> Vec<Summary> {
        self.stop.send_replace(true);
        let mut summaries = Vec::new();
        while let Some(ended) = self.running.join_next().await {
            summaries.push(ended.expect("no panic").expect("a clean end"));
        }
        summaries
    }
}

/// Waits until no job is left but dead ones; panics after a minute.
pub async fn drained(client: &Client) {
    for _ in 0..1200 {
        // a reader's own trouble under faults is not what is tested
        if let Ok(census) = client.census().await
            && census.pending() == 0
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not drained: {:?}", client.census().await);
}

/// Nothing is left but what is bounded, and `also`.
pub async fn nothing_is_left(client: &Client, also: &[&str]) {
    let keys = client.store().keys().await.expect("a read");
    let left: Vec<_> = keys
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| !may_stay(name) && !also.contains(&name.as_str()))
        .collect();
    assert!(left.is_empty(), "left: {left:?}");
}

pub fn shared<T: Default>() -> Arc<T> {
    Arc::default()
}
