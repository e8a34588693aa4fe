//! A store that tells what was settled, and fails when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use linchpin::Error;
use linchpin::names::{JobId, LockKey, OwnerToken, ProcessId, QueueName, UniqueKey};
use linchpin::store::Store;
use linchpin::store::circumstances::{Circumstances, LockLine, LockPage, QueueView, WorkerView};
use linchpin::store::effects::{Applied, Effect, Value};
use linchpin::store::lease::{AcquireAnswer, BreakAnswer, HoldRenewal, HoldsRenewed, ParkAnswer, ReleaseAnswer, Renewal, RenewalAnswer};
use linchpin::store::memory::MemoryStore;
use linchpin::store::new_job::{Accepted, NewJob};
use linchpin::store::page::{Cursor, JobFilter, JobPage};
use linchpin::store::schedules::{ScheduleRows, ScheduleStep, Stepped};
use linchpin::store::settle::{Settle, SettleAnswer};
use linchpin::store::turn::{Suspects, Turn, TurnReply};
use linchpin::store::view::*;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, UnboundedSender};

#[derive(Debug)]
pub struct Faulty {
    pub inner: Arc<MemoryStore>,
    pub settled: UnboundedSender<(Settle, SettleAnswer)>,
    pub no_renewals: AtomicBool,
    /// This many turns more are refused.
    pub refused_turns: AtomicU64,
    /// Replies of claims come this much late.
    pub late_ms: AtomicU64,
    pub renewals: AtomicU64,
    pub alone_turns: AtomicU64,
    pub finished: AtomicU64,
    pub claims: AtomicU64,
    /// The next renewal is held on its way.
    pub hold_renewal: AtomicBool,
    pub renewal_held: Notify,
    pub renewal_goes: Notify,
    pub refuse_register: AtomicBool,
}

impl Faulty {
    pub fn new(settled: UnboundedSender<(Settle, SettleAnswer)>) -> Self {
        Self {
            inner: Arc::new(MemoryStore::new()),
            settled,
            no_renewals: AtomicBool::new(false),
            refused_turns: AtomicU64::new(0),
            late_ms: AtomicU64::new(0),
            renewals: AtomicU64::new(0),
            alone_turns: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            claims: AtomicU64::new(0),
            hold_renewal: AtomicBool::new(false),
            renewal_held: Notify::new(),
            renewal_goes: Notify::new(),
            refuse_register: AtomicBool::new(false),
        }
    }
}

#[async_trait]
impl Store for Faulty {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn namespace(&self) -> &str {
        self.inner.namespace()
    }

    async fn apply(&self, effects: Vec<Effect>) -> Result<Applied, Error> {
        self.inner.apply(effects).await
    }

    async fn value(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        self.inner.value(key).await
    }

    fn is_own_key(&self, key: &[u8]) -> bool {
        key.starts_with(b"{linchpin}:")
    }

    async fn result(&self, id: JobId) -> Result<Option<Vec<u8>>, Error> {
        self.inner.result(id).await
    }

    async fn turn(&self, worker: &ProcessId, slot: usize, turn: Turn) -> Result<TurnReply, Error> {
        let refuse = self
            .refused_turns
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if refuse.is_ok() {
            return Err(Error::Refused {
                action: "turn".into(),
                code: "TEST".into(),
                advice: "wait".into(),
                transient: true,
            });
        }
        if turn.suspects == Suspects::OneAlone {
            self.alone_turns.fetch_add(1, Ordering::Relaxed);
        }
        self.finished.fetch_add(turn.finished.len() as u64, Ordering::Relaxed);
        let settles = turn.settles.clone();
        let reply = self.inner.turn(worker, slot, turn).await?;
        if reply.claim.is_some() {
            self.claims.fetch_add(1, Ordering::Relaxed);
            let late = Duration::from_millis(self.late_ms.swap(0, Ordering::Relaxed));
            tokio::time::sleep(late).await;
        }
        for told in settles.into_iter().zip(reply.settled.clone()) {
            let _ = self.settled.send(told);
        }
        Ok(reply)
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewalAnswer>, Error> {
        if self.no_renewals.load(Ordering::Relaxed) {
            return Err(Error::Unreachable {
                action: "renew".into(),
                source: None,
            });
        }
        if self.hold_renewal.swap(false, Ordering::Relaxed) {
            self.renewal_held.notify_one();
            self.renewal_goes.notified().await;
        }
        self.renewals.fetch_add(1, Ordering::Relaxed);
        self.inner.renew(renewals).await
    }

    async fn surrender(&self, settle: Settle) -> Result<SettleAnswer, Error> {
        let answer = self.inner.surrender(settle.clone()).await?;
        let _ = self.settled.send((settle, answer.clone()));
        Ok(answer)
    }

    async fn enqueue(&self, process: &ProcessId, jobs: Vec<NewJob>) -> Result<Vec<Accepted>, Error> {
        self.inner.enqueue(process, jobs).await
    }
    async fn job(&self, id: JobId) -> Result<Option<JobView>, Error> {
        self.inner.job(id).await
    }
    async fn unique_holder(&self, key: &UniqueKey) -> Result<Option<JobId>, Error> {
        self.inner.unique_holder(key).await
    }
    async fn cancel(&self, id: JobId) -> Result<CancelAnswer, Error> {
        self.inner.cancel(id).await
    }
    async fn delete(&self, id: JobId) -> Result<DeleteAnswer, Error> {
        self.inner.delete(id).await
    }
    async fn retry(&self, id: JobId) -> Result<RetryAnswer, Error> {
        self.inner.retry(id).await
    }
    async fn watch(&self, id: JobId, process: &ProcessId) -> Result<WatchAnswer, Error> {
        self.inner.watch(id, process).await
    }
    async fn unwatch(&self, id: JobId, process: &ProcessId) -> Result<(), Error> {
        self.inner.unwatch(id, process).await
    }
    async fn pushes(&self, process: &ProcessId) -> Result<Receiver<Push>, Error> {
        self.inner.pushes(process).await
    }
    async fn close(&self, process: &ProcessId) -> Result<(), Error> {
        self.inner.close(process).await
    }
    async fn register(&self, card: &WorkerCard) -> Result<Vec<Replaced>, Error> {
        if self.refuse_register.load(Ordering::Relaxed) {
            return Err(Error::Refused {
                action: "register".into(),
                code: "version".into(),
                advice: "use a newer worker".into(),
                transient: true,
            });
        }
        self.inner.register(card).await
    }
    async fn heartbeat(&self, card: &WorkerCard) -> Result<Beat, Error> {
        self.inner.heartbeat(card).await
    }
    async fn deregister(&self, worker: &ProcessId) -> Result<(), Error> {
        self.inner.deregister(worker).await
    }
    async fn wake(&self, worker: &ProcessId, queues: &[QueueName], patience: Duration) -> Result<Vec<QueueName>, Error> {
        self.inner.wake(worker, queues, patience).await
    }
    async fn acquire(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) -> Result<AcquireAnswer, Error> {
        self.inner.acquire(key, token, ttl).await
    }
    async fn release(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        self.inner.release(key, token).await
    }
    async fn acquire_or_park(&self, key: &LockKey, token: &OwnerToken, ttl: Duration, asked: bool) -> Result<ParkAnswer, Error> {
        self.inner.acquire_or_park(key, token, ttl, asked).await
    }
    async fn keep(&self, key: &LockKey, token: &OwnerToken, time: Duration) -> Result<ReleaseAnswer, Error> {
        self.inner.keep(key, token, time).await
    }
    async fn give_up(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        self.inner.give_up(key, token).await
    }
    async fn renew_holds(&self, holds: Vec<HoldRenewal>) -> Result<HoldsRenewed, Error> {
        self.inner.renew_holds(holds).await
    }
    async fn break_lock(&self, key: &LockKey) -> Result<BreakAnswer, Error> {
        self.inner.break_lock(key).await
    }
    async fn locks(&self, after: Option<&LockKey>, limit: usize) -> Result<LockPage, Error> {
        self.inner.locks(after, limit).await
    }
    async fn lock(&self, key: &LockKey) -> Result<Option<LockLine>, Error> {
        self.inner.lock(key).await
    }
    async fn schedules(&self) -> Result<ScheduleRows, Error> {
        self.inner.schedules().await
    }
    async fn step_schedule(&self, step: ScheduleStep) -> Result<Stepped, Error> {
        self.inner.step_schedule(step).await
    }
    async fn pause(&self, queue: &QueueName) -> Result<(), Error> {
        self.inner.pause(queue).await
    }
    async fn resume(&self, queue: &QueueName) -> Result<(), Error> {
        self.inner.resume(queue).await
    }
    async fn census(&self) -> Result<Census, Error> {
        self.inner.census().await
    }
    async fn jobs(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error> {
        self.inner.jobs(filter, after, limit).await
    }

    async fn circumstances(&self, id: JobId) -> Result<Option<Circumstances>, Error> {
        self.inner.circumstances(id).await
    }

    async fn queues(&self) -> Result<Vec<QueueView>, Error> {
        self.inner.queues().await
    }

    async fn workers(&self) -> Result<Vec<WorkerView>, Error> {
        self.inner.workers().await
    }

    async fn tasks(&self) -> Result<Vec<(String, String)>, Error> {
        self.inner.tasks().await
    }

    async fn follow(&self, after: Option<u64>) -> Result<Receiver<AttemptEntry>, Error> {
        self.inner.follow(after).await
    }

    async fn attempts(&self, after: u64, limit: usize) -> Result<Vec<AttemptEntry>, Error> {
        self.inner.attempts(after, limit).await
    }
    async fn keys(&self) -> Result<Vec<(String, u64)>, Error> {
        self.inner.keys().await
    }
    async fn advance(&self, by: Duration) -> Result<(), Error> {
        self.inner.advance(by).await
    }
}
