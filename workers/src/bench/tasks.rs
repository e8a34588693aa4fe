//! The tasks that the workloads run, and how a workload learns how far its worker is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linchpin::{Attempt, Data, TaskResult, task};
use tokio::sync::Notify;

use crate::bench::clock::monotonic_ns;

/// Arguments of the plainest job, as the floor reads them.
#[derive(serde::Deserialize)]
pub struct Sale {
    /// What was sold.
    #[serde(rename = "sku")]
    pub _sku: String,
    /// How many; always 1.
    pub qty: u32,
}

/// Does nothing, without a lock.
#[task]
pub async fn noop(progress: Data<Progress>, sku: String, qty: u32) -> TaskResult {
    let _ = (sku, qty);
    progress.step();
    Ok(())
}

/// Does nothing but hand over effects.
#[task]
pub async fn effecting(attempt: Attempt, progress: Data<Progress>, shelves: Data<Shelves>, sku: String, qty: u32) -> TaskResult {
    let _ = sku;
    attempt.at_settle(|fx| shelves.keys().for_each(|key| fx.decr_by(key, qty.into())))?;
    progress.step();
    Ok(())
}

/// What the effects of [`effecting`] are on.
pub struct Shelves(Vec<String>);

impl Shelves {
    /// `count` keys beside the namespace's own.
    pub fn new(namespace: &str, count: u64) -> Self {
        Self((0..count).map(|number| format!("bench-effects:{namespace}:{number}")).collect())
    }

    /// Their keys.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }
}

/// Does nothing, under a lock.
#[task(lock = "inventory:{sku}")]
pub async fn locked(progress: Data<Progress>, sku: String, qty: u32) -> TaskResult {
    let _ = (sku, qty);
    progress.step();
    Ok(())
}

/// Does nothing with arguments of any size.
#[task]
pub async fn noted(progress: Data<Progress>, sku: String, qty: u32, note: String) -> TaskResult {
    let _ = (sku, qty, note);
    progress.step();
    Ok(())
}

/// Does nothing with arguments of any size, under a lock.
#[task(lock = "inventory:{sku}")]
pub async fn noted_locked(progress: Data<Progress>, sku: String, qty: u32, note: String) -> TaskResult {
    let _ = (sku, qty, note);
    progress.step();
    Ok(())
}

/// Notes how long ago its enqueue call began.
#[task]
pub async fn timed(progress: Data<Progress>, sent_ns: u64) -> TaskResult {
    progress.note(Duration::from_nanos(monotonic_ns().saturating_sub(sent_ns)));
    progress.step();
    Ok(())
}

/// A note that makes the arguments of [`noted`] with the sku `A1` take `args_bytes` as JSON.
pub fn note_for(args_bytes: usize) -> String {
    "n".repeat(args_bytes.saturating_sub(r#"{"sku":"A1","qty":1,"note":""}"#.len()))
}

/// How far a worker is with an expected number of jobs.
#[derive(Clone)]
pub struct Progress(Arc<Shared>);

struct Shared {
    expected: u64,
    ended: AtomicU64,
    reached: Notify,
    /// When the first handler ran, and the one that made the expected number.
    span: Mutex<(Option<Instant>, Option<Instant>)>,
    noted: Mutex<Vec<Duration>>,
}

impl Progress {
    /// Expects so many handlers to end.
    pub fn expecting(jobs: u64) -> Self {
        let (ended, reached) = (AtomicU64::new(0), Notify::new());
        Self(Arc::new(Shared {
            expected: jobs,
            ended,
            reached,
            span: Mutex::default(),
            noted: Mutex::default(),
        }))
    }

    fn step(&self) {
        let ended = self.0.ended.fetch_add(1, Ordering::Relaxed) + 1;
        if ended == 1 || ended == self.0.expected {
            let mut span = self.0.span.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let now = Some(Instant::now());
            *span = if ended == 1 {
                (now, span.1.or(now.filter(|_| self.0.expected == 1)))
            } else {
                (span.0, now)
            };
        }
        if ended == self.0.expected {
            self.0.reached.notify_one();
        }
    }

    fn note(&self, taken: Duration) {
        self.0.noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(taken);
    }

    /// Waits until the expected number of handlers has ended. One caller may wait.
    pub async fn reached(self) {
        self.0.reached.notified().await;
    }

    /// Handlers that have ended.
    pub fn ended(&self) -> u64 {
        self.0.ended.load(Ordering::Relaxed)
    }

    /// From the first handler to the one that made the expected number.
    pub fn span(&self) -> Option<Duration> {
        let (first, last) = *self.0.span.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Some(last?.duration_since(first?))
    }

    /// What handlers noted, in microseconds, sorted.
    pub fn noted_us(&self) -> Vec<f64> {
        let noted = self.0.noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut us: Vec<f64> = noted.iter().map(|taken| taken.as_secs_f64() * 1e6).collect();
        us.sort_by(f64::total_cmp);
        us
    }
}
