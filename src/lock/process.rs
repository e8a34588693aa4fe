//! What all locks of a process share, and the one way to acquire.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::agenda::Release;
use super::hold::Hold;
use super::line::Line;
use super::watchdog::Watchdog;
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::ASK_EVERY;
use crate::names::{Fence, LockKey, OwnerToken, ProcessId};
use crate::store::Store;
use crate::store::lease::{AcquireAnswer, ParkAnswer};

/// The lane of acquisitions: it sends no turns, and its numbers are never used twice in a run.
const LANE: u32 = 1000;
/// How often who waits asks when offers cannot reach this process.
const ASK_UNHEARD: Duration = Duration::from_millis(150);
/// How often who is not the first of this process in a line asks.
const ASK_BEHIND: Duration = Duration::from_secs(10);
/// How long leaving a line may take before it is handed over to the releaser.
const LEAVE: Duration = Duration::from_millis(500);

/// Makes that pushes are heard.
type Subscribe = Box<dyn Fn() -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// How long an acquisition may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Not,
    AtMost(Duration),
    Forever,
}

/// What was acquired.
pub(crate) struct Taken {
    pub(crate) fence: Fence,
    /// It is valid from here.
    pub(crate) sent_at: LeaseInstant,
    /// It stood in line first.
    pub(crate) waited: bool,
}

/// What all locks of a process share.
pub(crate) struct Locks {
    store: Arc<dyn Store>,
    process: ProcessId,
    pub(crate) line: Line,
    pub(super) watchdog: Watchdog,
    subscribe: OnceLock<Subscribe>,
    last: AtomicU64,
}

impl Locks {
    pub(crate) fn new(store: Arc<dyn Store>, process: ProcessId) -> Arc<Self> {
        Arc::new(Self {
            watchdog: Watchdog::new(store.clone()),
            store,
            process,
            line: Line::default(),
            subscribe: OnceLock::new(),
            last: AtomicU64::new(0),
        })
    }

    /// Says how pushes come to be heard; without it somebody else sees to that.
    pub(crate) fn subscribe_by(&self, subscribe: Subscribe) {
        let _ = self.subscribe.set(subscribe);
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn process(&self) -> &ProcessId {
        &self.process
    }

    pub(super) fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn token(&self) -> OwnerToken {
        OwnerToken::new(&self.process, LANE, self.number())
    }

    /// An operator broke a lock of this process.
    pub(crate) fn broken(&self, token: &OwnerToken) {
        self.watchdog.broken(token);
    }

    /// Pushes may have been missed.
    pub(crate) fn ask_all(&self) {
        self.line.ask_all();
        self.watchdog.renew_now();
    }

    /// Waits until the releases of what was dropped are answered.
    pub(crate) async fn settled(&self) {
        self.watchdog.settled().await;
    }

    /// Releases what was dropped, or what came too late.
    pub(crate) fn hand_over(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) {
        self.watchdog.release(Release {
            key: key.clone(),
            token: token.clone(),
            until: LeaseInstant::now().plus(ttl),
            kept: None,
        });
    }

    /// Lets a dropped lock end by itself when its shortest time is over.
    pub(super) fn keep(&self, key: &LockKey, token: &OwnerToken, kept: Duration, ttl: Duration) {
        self.watchdog.release(Release {
            key: key.clone(),
            token: token.clone(),
            until: LeaseInstant::now().plus(ttl),
            kept: Some(LeaseInstant::now().plus(kept)),
        });
    }

    /// Renews a hold from now on, or watches its fixed lease.
    pub(super) fn watch(&self, hold: &Arc<Hold>) -> Result<(), Error> {
        self.watchdog.watch(hold)
    }

    /// Takes a lock under a token, or waits in line for it. Dropped at any point, it leaves nothing behind: the releaser sees to it.
    pub(crate) async fn acquire(&self, key: &LockKey, token: &OwnerToken, ttl: Duration, wait: Wait) -> Result<Taken, Error> {
        let mut leaving = Leaving {
            locks: self,
            key,
            token,
            ttl,
            done: false,
        };
        let taken = self.take(key, token, ttl, wait).await;
        leaving.done = match &taken {
            Ok(_) | Err(Error::Busy { .. }) => true,
            // it may be held
            Err(Error::Unknown { .. }) => false,
            // it may be in line
            Err(_) => wait == Wait::Not,
        };
        taken
    }

    async fn take(&self, key: &LockKey, token: &OwnerToken, ttl: Duration, wait: Wait) -> Result<Taken, Error> {
        // who need not wait for it needs no subscription
        if wait == Wait::Not || !self.line.is_hearing() {
            match self.store.acquire(key, token, ttl).await? {
                AcquireAnswer::Acquired { fence, sent_at } => {
                    let waited = false;
                    return Ok(Taken { fence, sent_at, waited });
                }
                AcquireAnswer::Busy if wait == Wait::Not => return Err(busy(key)),
                AcquireAnswer::Busy => self.listen().await,
            }
        }
        let until = match wait {
            Wait::AtMost(wait) => Instant::now().checked_add(wait),
            Wait::Not | Wait::Forever => None,
        };
        let waiting = self.wait_in_line(key, token, ttl);
        let Some(until) = until else { return waiting.await };
        match tokio::time::timeout_at(until, waiting).await {
            Ok(taken) => taken,
            Err(_) => match tokio::time::timeout(LEAVE, self.store.give_up(key, token)).await {
                Ok(Ok(_)) => Err(busy(key)),
                _ => {
                    self.hand_over(key, token, ttl);
                    Err(busy(key))
                }
            },
        }
    }

    async fn wait_in_line(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) -> Result<Taken, Error> {
        // in the table before the store is asked: an offer may come before the answer
        let place = self.line.enter(key, token);
        let mut waited = false;
        loop {
            let ask_in = match self.store.acquire_or_park(key, token, ttl, waited).await? {
                ParkAnswer::Acquired { fence, sent_at } => return Ok(Taken { fence, sent_at, waited }),
                ParkAnswer::Parked { ask_in } => ask_in,
            };
            waited = true;
            let asked = Instant::now();
            loop {
                let pause = match self.line.is_hearing() {
                    true => ask_in,
                    false => ask_in.min(ASK_UNHEARD),
                };
                let told = tokio::time::timeout(pause.mul_f64(1.0 + 0.2 * rand::random::<f64>()), place.told()).await;
                if told.is_ok() || place.is_first() || !self.line.is_hearing() || asked.elapsed() > ASK_BEHIND {
                    break;
                }
            }
        }
    }

    async fn listen(&self) {
        let Some(subscribe) = self.subscribe.get() else { return };
        match subscribe().await {
            Ok(()) => self.line.hears(true),
            Err(error) => {
                tracing::warn!(%error, every = ?ASK_UNHEARD.min(ASK_EVERY), "pushes not heard, waiting clients ask again and again")
            }
        }
    }
}

pub(super) fn busy(key: &LockKey) -> Error {
    Error::Busy { key: key.clone() }
}

/// Hands an acquisition over to the releaser, unless it came to an end that needs no release.
struct Leaving<'a> {
    locks: &'a Locks,
    key: &'a LockKey,
    token: &'a OwnerToken,
    ttl: Duration,
    done: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.locks.hand_over(self.key, self.token, self.ttl);
        }
    }
}
