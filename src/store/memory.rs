//! The embedded engine: everything in this process, the same state table as Redis.
//!
//! For a first run, for users' tests, and as the reference model that the Redis scripts are held equal to: one mutex
//! around plain tables, one small file a transition. It keeps nothing when the process ends. Lanes are missing on
//! purpose: no reply is lost inside a process.

mod bury;
mod circumstances;
mod claim;
mod enqueue;
mod free;
mod hold;
mod keyspace;
mod line;
mod log;
mod look;
mod operate;
mod page;
mod push;
mod reap;
mod renew;
#[cfg(feature = "testing")]
mod rest;
mod schedules;
mod settle;
mod state;
mod sweep;
mod turn;
mod view;
mod wake;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc, watch};

use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::names::{JobId, LockKey, OwnerToken, ProcessId, QueueName, UniqueKey};
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
use state::State;

/// The embedded engine. Share it as `Arc<MemoryStore>`; clients and workers of one process then meet in it.
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    clock: Clock,
    /// Told whenever a queue was marked.
    marked: Notify,
    /// The number of the log's last entry; gone with the store, which ends whoever follows.
    logged: watch::Sender<u64>,
}

enum Clock {
    /// Runs with the machine's monotonic clock from the wall-clock time at the start.
    Running { start: Duration, since: Instant },
    /// Stands still; only `advance` moves it.
    Test(Mutex<Duration>),
}

impl Clock {
    fn now(&self) -> Duration {
        match self {
            Clock::Running { start, since } => *start + since.elapsed(),
            Clock::Test(now) => *now.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

fn wall_clock() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

impl MemoryStore {
    /// Opens an empty store on the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(Clock::Running {
            start: wall_clock(),
            since: Instant::now(),
        })
    }

    /// Opens an empty store whose clock stands still and moves only by [`Store::advance`].
    pub fn with_test_clock() -> Self {
        Self::with_clock(Clock::Test(Mutex::new(wall_clock())))
    }

    fn with_clock(clock: Clock) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::new())),
            clock,
            marked: Notify::new(),
            logged: watch::Sender::new(0),
        }
    }

    /// Makes a stored job unreadable, as foreign data would be. For tests of what must not happen next.
    #[doc(hidden)]
    pub fn spoil(&self, id: JobId) {
        if let Some(job) = self.state().jobs.get_mut(&id) {
            job.envelope = Err(crate::store::turn::Undecodable {
                reason: "spoiled by a test".into(),
            });
            job.expires_at = None;
        }
    }

    /// Puts something that is no lock where a lock would be. For tests.
    #[doc(hidden)]
    pub fn plant_foreign_lock(&self, key: &LockKey) {
        self.state().locks.insert(key.clone(), state::Lock::Foreign);
    }

    /// Deletes a lock behind its holder's back. For tests.
    #[doc(hidden)]
    pub fn lose_lock(&self, key: &LockKey) {
        self.state().locks.remove(key);
    }

    /// Adds a second entry of a job to the tail of its queue. For tests.
    #[doc(hidden)]
    pub fn duplicate_entry(&self, id: JobId) {
        self.state().push_tail(id);
    }

    /// Takes every entry of a job off its queue's and its lock's list. For tests.
    #[doc(hidden)]
    pub fn lose_entries(&self, id: JobId) {
        self.state().lose_entries(id);
    }

    /// Every list with its entries, head first, and whose turn it is, under the names of the Redis keys. For tests.
    #[doc(hidden)]
    pub fn lists(&self) -> std::collections::BTreeMap<String, Vec<JobId>> {
        self.state().lists()
    }

    /// The tables, with their clock set to now. A panic while they were locked leaves them as a script error would.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = self.clock.now();
        state
    }

    /// Runs one transition and then wakes whoever waits for the marks it armed and the entries it logged.
    fn transition<T>(&self, transition: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let answer = transition(&mut state);
        let armed = std::mem::take(&mut state.armed);
        let last = state.log.last_number();
        drop(state);
        self.logged.send_if_modified(|seen| last > std::mem::replace(seen, last.max(*seen)));
        if armed {
            self.marked.notify_waiters();
        }
        answer
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn describe(&self) -> String {
        "memory://".into()
    }

    fn namespace(&self) -> &str {
        "memory"
    }

    async fn enqueue(&self, _process: &ProcessId, jobs: Vec<NewJob>) -> Result<Vec<Accepted>, Error> {
        enqueue::check(&jobs)?;
        Ok(self.transition(|state| jobs.into_iter().map(|job| state.enqueue(job)).collect()))
    }

    async fn job(&self, id: JobId) -> Result<Option<JobView>, Error> {
        Ok(self.state().job_view(id))
    }

    async fn unique_holder(&self, key: &UniqueKey) -> Result<Option<JobId>, Error> {
        Ok(self.state().unique_row(key).map(|row| row.holder))
    }

    async fn apply(&self, effects: Vec<Effect>) -> Result<Applied, Error> {
        Ok(self.transition(|state| state.apply_effects(&effects)))
    }

    async fn value(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        let state = self.state();
        Ok(state.keyspace.get(key, state.now).cloned())
    }

    fn is_own_key(&self, _key: &[u8]) -> bool {
        false
    }

    async fn result(&self, id: JobId) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.state().result(id).cloned())
    }

    async fn cancel(&self, id: JobId) -> Result<CancelAnswer, Error> {
        Ok(self.transition(|state| state.cancel(id)))
    }

    async fn delete(&self, id: JobId) -> Result<DeleteAnswer, Error> {
        Ok(self.transition(|state| state.delete(id)))
    }

    async fn retry(&self, id: JobId) -> Result<RetryAnswer, Error> {
        Ok(self.transition(|state| state.retry(id)))
    }

    async fn watch(&self, id: JobId, process: &ProcessId) -> Result<WatchAnswer, Error> {
        Ok(self.transition(|state| state.watch(id, process)))
    }

    async fn unwatch(&self, id: JobId, process: &ProcessId) -> Result<(), Error> {
        self.transition(|state| state.unwatch(id, process));
        Ok(())
    }

    async fn pushes(&self, process: &ProcessId) -> Result<mpsc::Receiver<Push>, Error> {
        Ok(self.state().pushes.subscribe(process))
    }

    async fn close(&self, _process: &ProcessId) -> Result<(), Error> {
        Ok(())
    }

    async fn register(&self, card: &WorkerCard) -> Result<Vec<Replaced>, Error> {
        Ok(self.transition(|state| state.register(card)))
    }

    async fn heartbeat(&self, card: &WorkerCard) -> Result<Beat, Error> {
        Ok(self.transition(|state| state.heartbeat(card)))
    }

    async fn deregister(&self, worker: &ProcessId) -> Result<(), Error> {
        self.transition(|state| state.workers.remove(worker));
        Ok(())
    }

    async fn turn(&self, worker: &ProcessId, slot: usize, turn: Turn) -> Result<TurnReply, Error> {
        let sent_at = LeaseInstant::now();
        turn::check(&turn)?;
        Ok(self.transition(|state| state.turn(worker, slot, turn, sent_at)))
    }

    async fn wake(&self, _worker: &ProcessId, queues: &[QueueName], patience: Duration) -> Result<Vec<QueueName>, Error> {
        Ok(self.wake_for(queues, patience).await)
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewalAnswer>, Error> {
        let sent_at = LeaseInstant::now();
        Ok(self.transition(|state| renewals.into_iter().map(|renewal| state.renew(renewal, sent_at)).collect()))
    }

    async fn surrender(&self, settle: Settle) -> Result<SettleAnswer, Error> {
        Ok(self.transition(|state| state.surrender(settle)))
    }

    async fn acquire(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) -> Result<AcquireAnswer, Error> {
        let sent_at = LeaseInstant::now();
        Ok(self.transition(|state| state.acquire(key, token, ttl, sent_at)))
    }

    async fn release(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        Ok(self.transition(|state| state.release(key, token)))
    }

    async fn keep(&self, key: &LockKey, token: &OwnerToken, time: Duration) -> Result<ReleaseAnswer, Error> {
        Ok(self.transition(|state| state.keep(key, token, time)))
    }

    async fn acquire_or_park(&self, key: &LockKey, token: &OwnerToken, ttl: Duration, _asked: bool) -> Result<ParkAnswer, Error> {
        let sent_at = LeaseInstant::now();
        Ok(self.transition(|state| state.acquire_or_park(key, token, ttl, sent_at)))
    }

    async fn give_up(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        Ok(self.transition(|state| state.give_up_waiting(key, token)))
    }

    async fn renew_holds(&self, holds: Vec<HoldRenewal>) -> Result<HoldsRenewed, Error> {
        let sent_at = LeaseInstant::now();
        let holds = self.transition(|state| holds.iter().map(|hold| state.renew_hold(hold)).collect());
        Ok(HoldsRenewed { sent_at, holds })
    }

    async fn break_lock(&self, key: &LockKey) -> Result<BreakAnswer, Error> {
        Ok(self.transition(|state| state.break_lock(key)))
    }

    async fn locks(&self, after: Option<&LockKey>, limit: usize) -> Result<LockPage, Error> {
        Ok(self.state().lock_page(after, limit))
    }

    async fn lock(&self, key: &LockKey) -> Result<Option<LockLine>, Error> {
        Ok(self.state().lock_line(key))
    }

    async fn schedules(&self) -> Result<ScheduleRows, Error> {
        Ok(self.state().schedule_rows())
    }

    async fn step_schedule(&self, step: ScheduleStep) -> Result<Stepped, Error> {
        enqueue::check(&step.jobs)?;
        Ok(self.transition(|state| state.step_schedule(step)))
    }

    async fn pause(&self, queue: &QueueName) -> Result<(), Error> {
        self.transition(|state| state.paused.insert(queue.clone()));
        Ok(())
    }

    async fn resume(&self, queue: &QueueName) -> Result<(), Error> {
        self.transition(|state| state.resume(queue));
        Ok(())
    }

    async fn census(&self) -> Result<Census, Error> {
        Ok(self.state().census())
    }

    async fn jobs(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error> {
        self.state().page(filter, after, limit)
    }

    async fn circumstances(&self, id: JobId) -> Result<Option<Circumstances>, Error> {
        Ok(self.state().circumstances(id))
    }

    async fn queues(&self) -> Result<Vec<QueueView>, Error> {
        Ok(self.state().queue_views())
    }

    async fn workers(&self) -> Result<Vec<WorkerView>, Error> {
        Ok(self.state().worker_views())
    }

    async fn tasks(&self) -> Result<Vec<(String, String)>, Error> {
        Ok(self.state().tasks.clone().into_iter().collect())
    }

    async fn attempts(&self, after: u64, limit: usize) -> Result<Vec<AttemptEntry>, Error> {
        Ok(self.state().log.after(after, limit))
    }

    async fn follow(&self, after: Option<u64>) -> Result<mpsc::Receiver<AttemptEntry>, Error> {
        let after = after.unwrap_or_else(|| self.state().log.last_number());
        Ok(log::follow(Arc::downgrade(&self.state), self.logged.subscribe(), after))
    }

    async fn keys(&self) -> Result<Vec<(String, u64)>, Error> {
        Ok(self.state().keys())
    }

    async fn advance(&self, by: Duration) -> Result<(), Error> {
        match &self.clock {
            Clock::Test(now) => {
                *now.lock().unwrap_or_else(PoisonError::into_inner) += by;
                Ok(())
            }
            Clock::Running { .. } => Err(Error::Refused {
                action: "advance the clock of memory://".into(),
                code: "clock".into(),
                advice: "open the store with `MemoryStore::with_test_clock()`".into(),
                transient: false,
            }),
        }
    }
}
