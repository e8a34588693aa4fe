//! Waiting for jobs to end: one subscription a client, made at the first wait, and a table of who waits for what.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::error::Error;
use crate::lock::Locks;
use crate::names::{JobId, ProcessId};
use crate::store::Store;
use crate::store::settle::Death;
use crate::store::view::{Ended, Push, WatchAnswer};

/// How long after a failed question the listener asks again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How a job that was waited for ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is done (or was skipped).
    Done,
    /// It is dead.
    Dead(Death),
    /// It was deleted.
    Deleted,
    /// Nothing is kept of it: it had ended before, or never was.
    Gone,
}

impl From<Ended> for End {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Done => Self::Done,
            Ended::Dead(death) => Self::Dead(death),
            Ended::Deleted => Self::Deleted,
        }
    }
}

/// Everybody of this client who waits for a job's end.
pub(super) struct Waiters {
    table: Arc<Table>,
    listener: OnceCell<Listener>,
}

struct Table {
    store: Arc<dyn Store>,
    process: ProcessId,
    /// Told what the pushes say of locks.
    locks: Arc<Locks>,
    waiting: Mutex<HashMap<JobId, Vec<Waiter>>>,
    last_number: AtomicU64,
}

struct Waiter {
    number: u64,
    tell: oneshot::Sender<End>,
}

/// The task that reads the pushes.
struct Listener {
    abandoned: mpsc::UnboundedSender<(JobId, u64)>,
    task: AbortHandle,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Waiters {
    pub(super) fn new(store: Arc<dyn Store>, process: ProcessId, locks: Arc<Locks>) -> Self {
        let table = Table {
            store,
            process,
            locks,
            waiting: Mutex::default(),
            last_number: AtomicU64::new(0),
        };
        Self {
            table: Arc::new(table),
            listener: OnceCell::new(),
        }
    }

    /// Makes that pushes are heard.
    pub(super) async fn hear(&self) -> Result<(), Error> {
        self.listener.get_or_try_init(|| self.listen()).await.map(|_| ())
    }

    pub(super) async fn wait(&self, id: JobId) -> Result<End, Error> {
        let listener = self.listener.get_or_try_init(|| self.listen()).await?;
        // In the table before the store is asked: a push may come before the answer.
        let (number, told) = self.table.enter(id);
        let _leave = Leave { listener, id, number };
        if listener.abandoned.is_closed() {
            return Err(self.silent(id));
        }
        match self.table.store.watch(id, &self.table.process).await? {
            WatchAnswer::Watching => {}
            WatchAnswer::Dead(death) => self.table.tell(id, End::Dead(death)),
            // A push that came meanwhile knows more: then this tells nobody.
            WatchAnswer::Gone => self.table.tell(id, End::Gone),
        }
        told.await.map_err(|_| self.silent(id))
    }

    /// Takes every registration back.
    pub(super) async fn close(&self) {
        let ids: Vec<JobId> = self.table.waiting().drain().map(|(id, _)| id).collect();
        for id in ids {
            let _ = self.table.store.unwatch(id, &self.table.process).await;
        }
    }

    async fn listen(&self) -> Result<Listener, Error> {
        let pushes = self.table.store.pushes(&self.table.process).await?;
        let (abandoned, leaving) = mpsc::unbounded_channel();
        let task = tokio::spawn(self.table.clone().listen(pushes, leaving)).abort_handle();
        Ok(Listener { abandoned, task })
    }

    fn silent(&self, id: JobId) -> Error {
        Error::Unreachable {
            action: format!("wait for job {id} on {}: the client was closed", self.table.store.describe()),
            source: None,
        }
    }
}

/// Leaves the table when the wait is over, however it ends.
struct Leave<'a> {
    listener: &'a Listener,
    id: JobId,
    number: u64,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let _ = self.listener.abandoned.send((self.id, self.number));
    }
}

impl Table {
    fn waiting(&self) -> MutexGuard<'_, HashMap<JobId, Vec<Waiter>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, id: JobId) -> (u64, oneshot::Receiver<End>) {
        let (tell, told) = oneshot::channel();
        let number = self.last_number.fetch_add(1, Ordering::Relaxed);
        self.waiting().entry(id).or_default().push(Waiter { number, tell });
        (number, told)
    }

    fn tell(&self, id: JobId, end: End) {
        for waiter in self.waiting().remove(&id).unwrap_or_default() {
            let _ = waiter.tell.send(end);
        }
    }

    /// Reads pushes until the store ends them, and lets waiters leave.
    async fn listen(self: Arc<Self>, mut pushes: mpsc::Receiver<Push>, mut leaving: mpsc::UnboundedReceiver<(JobId, u64)>) {
        loop {
            tokio::select! {
                biased;
                push = pushes.recv() => match push {
                    Some(Push::Ended(id, ended)) => self.tell(id, ended.into()),
                    Some(Push::Resubscribed) => {
                        self.locks.ask_all();
                        self.ask_about_all().await;
                    }
                    Some(Push::Offered(token)) => self.locks.line.offered(&token),
                    Some(Push::Broken(_, token)) => self.locks.broken(&token),
                    Some(Push::Cancel(_)) => {}
                    None => {
                        self.locks.line.hears(false);
                        // Closed before cleared: whoever enters after the clearing sees it closed.
                        leaving.close();
                        break self.waiting().clear();
                    }
                },
                left = leaving.recv() => match left {
                    Some((id, number)) => self.leave(id, number).await,
                    None => break,
                },
            }
        }
    }

    /// Pushes may have been missed: asks about every job that somebody waits for.
    async fn ask_about_all(&self) {
        let ids: Vec<JobId> = self.waiting().keys().copied().collect();
        for id in ids {
            self.ask(id).await;
        }
    }

    async fn ask(&self, id: JobId) {
        while self.waiting().contains_key(&id) {
            match self.store.watch(id, &self.process).await {
                Ok(WatchAnswer::Watching) => return,
                Ok(WatchAnswer::Dead(death)) => return self.tell(id, End::Dead(death)),
                Ok(WatchAnswer::Gone) => return self.tell(id, End::Gone),
                Err(error) => {
                    tracing::warn!(job.id = %id, %error, "cannot ask about a job, asking again");
                    tokio::time::sleep(ASK_AGAIN).await;
                }
            }
        }
    }

    /// Removes a waiter; takes the registration back when it was the job's last.
    async fn leave(&self, id: JobId, number: u64) {
        let last = {
            let mut waiting = self.waiting();
            let Some(waiters) = waiting.get_mut(&id) else { return };
            waiters.retain(|waiter| waiter.number != number);
            let last = waiters.is_empty();
            if last {
                waiting.remove(&id);
            }
            last
        };
        if last {
            let _ = self.store.unwatch(id, &self.process).await;
            // Somebody may have entered meanwhile, whose registration this has just taken back.
            self.ask(id).await;
        }
    }
}
