//! The Redis engine: Redis 6.2 or newer, or Valkey. One namespace is one hash tag is one slot.

mod arguments;
mod circumstances;
mod connection;
mod effects;
mod enqueue;
mod fleet;
mod follow;
mod holds;
mod keys;
mod lanes;
mod leases;
mod locks;
mod log;
#[cfg(feature = "mutants")]
pub mod mutants;
mod notes;
mod page;
mod progress;
mod pushes;
mod schedules;
mod script;
mod settles;
mod turn;
mod view;
mod wire;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use redis::Cmd;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::limits::LANE_KEPT;
use crate::names::{JobId, LockKey, Namespace, OwnerToken, ProcessId, QueueName, UniqueKey};
use crate::store::Store;
use crate::store::circumstances::{Circumstances, LockLine, LockPage, QueueView, WorkerView};
use crate::store::effects::{Applied, Effect, Value};
use crate::store::lease::{AcquireAnswer, BreakAnswer, HoldRenewal, HoldsRenewed, ParkAnswer, ReleaseAnswer, Renewal, RenewalAnswer};
use crate::store::new_job::{Accepted, NewJob};
use crate::store::page::{Cursor, JobFilter, JobPage};
use crate::store::schedules::{ScheduleRows, ScheduleStep, Stepped};
use crate::store::settle::{Settle, SettleAnswer};
use crate::store::turn::{Turn, TurnReply};
use crate::store::view::{
    AttemptEntry, Beat, CancelAnswer, Census, DeleteAnswer, JobView, Push, Replaced, RetryAnswer, WatchAnswer, WorkerCard,
};
use arguments::Arguments;
use connection::{ANSWER_TIMEOUT, Address, Link, Pause};
use holds::FirstSent;
use keys::Keys;
use lanes::Lanes;
use script::{Name, Scripts, Setup};

/// The oldest server that has what the scripts use.
const SERVER_MIN: (u32, u32) = (6, 2);
/// How often a producer's lanes get their lifetime again.
const LANES_REFRESH: Duration = Duration::from_secs(LANE_KEPT.as_secs() / 10);

/// A namespace on a Redis server.
#[derive(Debug)]
pub struct RedisStore {
    address: Address,
    keys: Keys,
    scripts: Scripts,
    commands: Link,
    watchdog: Link,
    /// The watchdog of locks held by themselves.
    holds: Link,
    /// The blocking connection of each worker; taken while in use, so that dropping the wait closes it.
    waiting: Mutex<HashMap<ProcessId, redis::aio::MultiplexedConnection>>,
    lanes: Lanes,
    refreshed: Mutex<HashMap<ProcessId, Instant>>,
    first_sent: FirstSent,
    test_clock: bool,
}

impl RedisStore {
    /// Connects to a server and checks that it can be used.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a bad URL, [`Error::Unreachable`] when nobody answers, [`Error::Refused`] for a wrong password, a missing
    /// right or a server older than 6.2.
    ///
    /// # Redis
    /// One connection, `INFO server`.
    pub async fn connect(url: &str, namespace: &Namespace) -> Result<Self, Error> {
        Self::open(url, namespace, Setup::default()).await
    }

    /// As [`RedisStore::connect`], for locks that Java programs take with Redisson too: whenever a lock is given back, its waiters there are told.
    ///
    /// # Redis
    /// A `PUBLISH` for each lock that is given back.
    pub async fn connect_beside_redisson(url: &str, namespace: &Namespace) -> Result<Self, Error> {
        let redisson = true;
        Self::open(
            url,
            namespace,
            Setup {
                redisson,
                ..Setup::default()
            },
        )
        .await
    }

    /// Connects with a clock that stands still and moves only by [`Store::advance`], for tests.
    pub async fn connect_with_test_clock(url: &str, namespace: &Namespace) -> Result<Self, Error> {
        let test_clock = true;
        Self::open(
            url,
            namespace,
            Setup {
                test_clock,
                ..Setup::default()
            },
        )
        .await
    }

    async fn open(url: &str, namespace: &Namespace, setup: Setup) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let keys = Keys::new(namespace);
        let store = Self {
            commands: Link::new(address.clone(), ANSWER_TIMEOUT),
            watchdog: Link::new(address.clone(), ANSWER_TIMEOUT),
            holds: Link::new(address.clone(), ANSWER_TIMEOUT),
            address,
            scripts: Scripts::assemble(keys.prefix(), setup),
            keys,
            waiting: Mutex::default(),
            lanes: Lanes::default(),
            refreshed: Mutex::default(),
            first_sent: FirstSent::default(),
            test_clock: setup.test_clock,
        };
        store.check_server().await?;
        Ok(store)
    }

    /// Names the scripts and their digests, for whoever reads `SLOWLOG` or counts commands.
    pub fn scripts(&self) -> Vec<(&'static str, String)> {
        self.scripts.list()
    }

    async fn check_server(&self) -> Result<(), Error> {
        let mut command = Cmd::new();
        command.arg("INFO").arg("server");
        let value = self.commands.send(&command, || ()).await.map_err(|fault| match fault {
            // nothing was asked for that could matter twice
            connection::Fault::Unknown(cause) => connection::Fault::Unsent(cause).into_error(self.action("connect")),
            fault => fault.into_error(self.action("connect")),
        })?;
        let info: String = redis::from_redis_value(value).unwrap_or_default();
        let version = info
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"))
            .unwrap_or_default()
            .trim()
            .to_owned();
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if found < SERVER_MIN {
            return Err(Error::Refused {
                action: self.action("connect"),
                code: "version".into(),
                advice: format!("the server is Redis {version}; use 6.2 or newer (or Valkey)"),
                transient: false,
            });
        }
        Ok(())
    }

    /// An action for an error: what, and where without secrets.
    fn action(&self, what: &str) -> String {
        format!("{what} on {}", self.address.shown)
    }

    /// Whether the lanes of a producer get their lifetime again with this batch.
    fn refresh_lanes(&self, process: &ProcessId) -> bool {
        let mut refreshed = self.refreshed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        refreshed.retain(|_, at| at.elapsed() < LANES_REFRESH);
        if refreshed.contains_key(process) {
            return false;
        }
        refreshed.insert(process.clone(), Instant::now());
        true
    }

    async fn word(&self, name: Name, arguments: &[&[u8]], what: &str) -> Result<String, Error> {
        let mut a = Arguments::default();
        for argument in arguments {
            a.push(argument);
        }
        let value = self.patiently(name, &a, what).await?;
        redis::from_redis_value(value).map_err(|e| Error::Internal {
            what: format!("{what}: {e}"),
        })
    }

    fn take_waiting(&self, worker: &ProcessId) -> Option<redis::aio::MultiplexedConnection> {
        self.waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .remove(worker)
    }

    fn keep_waiting(&self, worker: &ProcessId, connection: redis::aio::MultiplexedConnection) {
        self.waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .insert(worker.clone(), connection);
    }
}

#[async_trait]
impl Store for RedisStore {
    fn describe(&self) -> String {
        self.address.shown.clone()
    }

    fn namespace(&self) -> &str {
        self.keys.namespace()
    }

    async fn enqueue(&self, process: &ProcessId, jobs: Vec<NewJob>) -> Result<Vec<Accepted>, Error> {
        self.run_enqueue(process, jobs).await
    }

    async fn job(&self, id: JobId) -> Result<Option<JobView>, Error> {
        self.run_job(id).await
    }

    async fn unique_holder(&self, key: &UniqueKey) -> Result<Option<JobId>, Error> {
        self.run_unique_holder(key).await
    }

    async fn apply(&self, effects: Vec<Effect>) -> Result<Applied, Error> {
        self.run_apply(&effects).await
    }

    async fn value(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        self.run_value(key).await
    }

    fn is_own_key(&self, key: &[u8]) -> bool {
        key.starts_with(self.keys.prefix().as_bytes())
    }

    async fn result(&self, id: JobId) -> Result<Option<Vec<u8>>, Error> {
        self.run_result(id).await
    }

    async fn cancel(&self, id: JobId) -> Result<CancelAnswer, Error> {
        Ok(
            match self
                .word(Name::Cancel, &[&id.encode()], &format!("cancel job {id}"))
                .await?
                .as_str()
            {
                "cancelled" => CancelAnswer::Cancelled,
                "requested" => CancelAnswer::Requested,
                "late" => CancelAnswer::TooLate,
                other => return Err(strange("cancel", other)),
            },
        )
    }

    async fn delete(&self, id: JobId) -> Result<DeleteAnswer, Error> {
        Ok(
            match self
                .word(Name::Delete, &[&id.encode()], &format!("delete job {id}"))
                .await?
                .as_str()
            {
                "deleted" => DeleteAnswer::Deleted,
                "requested" => DeleteAnswer::Requested,
                "late" => DeleteAnswer::TooLate,
                other => return Err(strange("delete", other)),
            },
        )
    }

    async fn retry(&self, id: JobId) -> Result<RetryAnswer, Error> {
        let answer = self.word(Name::Retry, &[&id.encode()], &format!("retry job {id}")).await?;
        Ok(match answer.as_str() {
            "ready" => RetryAnswer::Ready,
            "not_needed" => RetryAnswer::NotNeeded,
            "late" => RetryAnswer::TooLate,
            other => match other.strip_prefix('C').and_then(|holder| JobId::decode(holder.as_bytes())) {
                Some(holder) => RetryAnswer::Conflict(holder),
                None => return Err(strange("retry", other)),
            },
        })
    }

    async fn watch(&self, id: JobId, process: &ProcessId) -> Result<WatchAnswer, Error> {
        let answer = self
            .word(
                Name::Watch,
                &[&id.encode(), process.as_str().as_bytes(), b"1"],
                &format!("watch job {id}"),
            )
            .await?;
        Ok(match answer.as_str() {
            "watching" => WatchAnswer::Watching,
            "gone" => WatchAnswer::Gone,
            other => WatchAnswer::Dead(wire::death_of(other.as_bytes().get(1).copied())),
        })
    }

    async fn unwatch(&self, id: JobId, process: &ProcessId) -> Result<(), Error> {
        self.word(
            Name::Watch,
            &[&id.encode(), process.as_str().as_bytes(), b"0"],
            &format!("unwatch job {id}"),
        )
        .await
        .map(|_| ())
    }

    async fn pushes(&self, process: &ProcessId) -> Result<mpsc::Receiver<Push>, Error> {
        let subscribing = pushes::subscribe(self.address.clone(), self.keys.push(process));
        subscribing.await.map_err(|fault| fault.into_error(self.action("subscribe")))
    }

    async fn close(&self, process: &ProcessId) -> Result<(), Error> {
        self.lanes.forget(process);
        let mut command = Cmd::new();
        command.arg("DEL").arg(self.keys.lanes(process));
        self.read(&command, "close").await.map(|_| ())
    }

    async fn register(&self, card: &WorkerCard) -> Result<Vec<Replaced>, Error> {
        self.run_register(card).await
    }

    async fn heartbeat(&self, card: &WorkerCard) -> Result<Beat, Error> {
        self.run_heartbeat(card).await
    }

    async fn deregister(&self, worker: &ProcessId) -> Result<(), Error> {
        drop(self.take_waiting(worker));
        self.lanes.forget_slots(worker);
        self.run_deregister(worker).await
    }

    async fn turn(&self, worker: &ProcessId, slot: usize, turn: Turn) -> Result<TurnReply, Error> {
        self.run_turn(worker, slot, turn).await
    }

    async fn wake(&self, worker: &ProcessId, queues: &[QueueName], patience: Duration) -> Result<Vec<QueueName>, Error> {
        let mut connection = match self.take_waiting(worker) {
            Some(connection) => connection,
            None => match self.address.connect(None).await {
                Ok(connection) => connection,
                Err(fault) => {
                    tracing::debug!(?fault, "wake connection not there yet");
                    Pause::new().wait().await;
                    return Ok(Vec::new());
                }
            },
        };
        let mut command = Cmd::new();
        command.arg("BLPOP");
        for queue in queues {
            command.arg(self.keys.wake(queue));
        }
        command.arg(patience.as_secs_f64().max(0.01));
        // the server answers after `patience`; a server that says nothing for longer is gone
        match tokio::time::timeout(patience + ANSWER_TIMEOUT, connection.send_packed_command(&command)).await {
            Ok(Ok(value)) => {
                self.keep_waiting(worker, connection);
                let popped: Option<(String, String)> = redis::from_redis_value(value).unwrap_or_default();
                Ok(popped.and_then(|(key, _)| self.keys.woken(&key)).into_iter().collect())
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "wake connection lost");
                Pause::new().wait().await;
                Ok(Vec::new())
            }
            Err(_) => Ok(Vec::new()),
        }
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewalAnswer>, Error> {
        self.run_renew(renewals).await
    }

    async fn surrender(&self, settle: Settle) -> Result<SettleAnswer, Error> {
        self.run_surrender(settle).await
    }

    async fn acquire(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) -> Result<AcquireAnswer, Error> {
        self.run_acquire(key, token, ttl).await
    }

    async fn release(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        self.run_release(key, token).await
    }

    async fn keep(&self, key: &LockKey, token: &OwnerToken, time: Duration) -> Result<ReleaseAnswer, Error> {
        self.run_keep(key, token, time).await
    }

    async fn acquire_or_park(&self, key: &LockKey, token: &OwnerToken, ttl: Duration, asked: bool) -> Result<ParkAnswer, Error> {
        self.run_acquire_or_park(key, token, ttl, asked).await
    }

    async fn give_up(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        self.run_give_up(key, token).await
    }

    async fn renew_holds(&self, holds: Vec<HoldRenewal>) -> Result<HoldsRenewed, Error> {
        self.run_renew_holds(holds).await
    }

    async fn break_lock(&self, key: &LockKey) -> Result<BreakAnswer, Error> {
        self.run_break_lock(key).await
    }

    async fn locks(&self, after: Option<&LockKey>, limit: usize) -> Result<LockPage, Error> {
        self.run_locks(after, limit).await
    }

    async fn lock(&self, key: &LockKey) -> Result<Option<LockLine>, Error> {
        self.run_lock(key).await
    }

    async fn schedules(&self) -> Result<ScheduleRows, Error> {
        self.run_schedules().await
    }

    async fn step_schedule(&self, step: ScheduleStep) -> Result<Stepped, Error> {
        self.run_step_schedule(step).await
    }

    async fn pause(&self, queue: &QueueName) -> Result<(), Error> {
        let mut a = Arguments::default();
        a.push(queue.as_str()).push("1");
        self.patiently(Name::Pause, &a, &format!("pause queue {queue}")).await.map(|_| ())
    }

    async fn resume(&self, queue: &QueueName) -> Result<(), Error> {
        let mut a = Arguments::default();
        a.push(queue.as_str()).push("0");
        self.patiently(Name::Pause, &a, &format!("resume queue {queue}")).await.map(|_| ())
    }

    async fn census(&self) -> Result<Census, Error> {
        self.run_census().await
    }

    async fn jobs(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error> {
        self.run_jobs(filter, after, limit).await
    }

    async fn circumstances(&self, id: JobId) -> Result<Option<Circumstances>, Error> {
        self.run_circumstances(id).await
    }

    async fn queues(&self) -> Result<Vec<QueueView>, Error> {
        self.run_queues().await
    }

    async fn workers(&self) -> Result<Vec<WorkerView>, Error> {
        Ok(self.run_workers().await?.workers)
    }

    async fn tasks(&self) -> Result<Vec<(String, String)>, Error> {
        self.run_tasks().await
    }

    async fn attempts(&self, after: u64, limit: usize) -> Result<Vec<AttemptEntry>, Error> {
        self.run_attempts(after, limit).await
    }

    async fn follow(&self, after: Option<u64>) -> Result<mpsc::Receiver<AttemptEntry>, Error> {
        let following = follow::follow(self.address.clone(), self.keys.attempts(), after);
        following
            .await
            .map_err(|fault| fault.into_error(self.action("follow the attempts log")))
    }

    async fn keys(&self) -> Result<Vec<(String, u64)>, Error> {
        self.run_keys().await
    }

    async fn advance(&self, by: Duration) -> Result<(), Error> {
        if !self.test_clock {
            return Err(Error::Refused {
                action: self.action("advance the clock"),
                code: "clock".into(),
                advice: "open the store with a test clock".into(),
                transient: false,
            });
        }
        let mut a = Arguments::default();
        a.int(wire::millis(by));
        self.patiently(Name::Advance, &a, "advance the clock").await.map(|_| ())
    }
}

/// An answer that this release's scripts do not give.
fn strange(script: &str, answer: &str) -> Error {
    Error::Internal {
        what: format!("the script `{script}` answered {answer:?}"),
    }
}
