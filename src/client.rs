//! The producer's side: enqueue jobs, ask about them, change their course, wait for their end.

mod bulk;
mod connect;
pub(crate) mod digest;
mod effects;
mod enqueue;
mod explain;
mod named;
mod read;
mod request;
mod schedules;
mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::job::Job;
use crate::lock::{Lock, LockAll, Locks, Owner};
use crate::names::{JobId, ProcessId, QueueName, UniqueKey};
use crate::store::Store;
use crate::store::view::{CancelAnswer, DeleteAnswer, JobView, RetryAnswer};

pub use bulk::Bulk;
pub use connect::ClientBuilder;
pub use enqueue::{Enqueue, Enqueued};
pub use explain::{Explanation, Reason};
pub use named::Tasks;
pub use read::Follow;
pub use request::Request;
pub(crate) use schedules::check_schedule;
pub use schedules::{Defined, RunAnswer, ScheduleView};
pub use wait::End;

/// How long a closing client waits for the releases of what was dropped.
const CLOSE: Duration = Duration::from_secs(5);

/// A handle to one namespace of one store. Cheap to clone; the clones share connections and one subscription.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), linchpin::Error> {
/// use linchpin::Client;
///
/// let client = Client::connect("memory://").await?;
/// assert_eq!(client.census().await?.pending(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    process: ProcessId,
    waiters: Arc<wait::Waiters>,
    locks: Arc<Locks>,
}

impl Client {
    /// Connects to a store in the namespace `linchpin`: `memory://`, `redis://`, `rediss://` or `unix://` (`redis+unix://` is the same).
    ///
    /// Each `memory://` is a store of its own: clone the client to share one.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the URL cannot be understood, [`Error::Unreachable`] when nobody answers,
    /// [`Error::Refused`] when the server refuses or is too old.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::builder(url).connect().await
    }

    /// Collects how to connect.
    pub fn builder(url: &str) -> ClientBuilder {
        ClientBuilder::new(url)
    }

    /// Makes a client of a store that is open already.
    pub fn on(store: Arc<dyn Store>) -> Self {
        let process = ProcessId::random();
        let locks = Locks::new(store.clone(), process.clone());
        let waiters = Arc::new(wait::Waiters::new(store.clone(), process.clone(), locks.clone()));
        let hearing = Arc::downgrade(&waiters);
        locks.subscribe_by(Box::new(move || {
            let hearing = hearing.upgrade();
            Box::pin(async move {
                match hearing {
                    Some(waiters) => waiters.hear().await,
                    None => Ok(()),
                }
            })
        }));
        Self {
            inner: Arc::new(Inner {
                store,
                process,
                waiters,
                locks,
            }),
        }
    }

    /// The store behind this client.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Enqueues a job; await what it returns, after setting what this job needs beyond its task's options.
    ///
    /// ```no_run
    /// # use linchpin::{Client, Error, Job};
    /// # use std::time::Duration;
    /// # async fn f(client: Client, job: impl Job) -> Result<(), Error> {
    /// let id = client.enqueue(job).delay(Duration::from_secs(60)).unique("order:1001").await?.id();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is wrong with the job, before anything is sent; [`Error::Conflict`] when its
    /// unique key is held by a job with other arguments; [`Error::Unreachable`] and [`Error::Refused`] when nothing was
    /// enqueued; [`Error::Unknown`] when it may have been.
    ///
    /// # Cancel safety
    /// Dropping the future leaves open whether the job was enqueued. A unique key makes asking again safe.
    ///
    /// # Redis
    /// One round trip, one script, O(1).
    pub fn enqueue<J: Job>(&self, job: J) -> Enqueue {
        Enqueue::new(self.clone(), job.into())
    }

    /// Enqueues to this queue whatever the job says.
    #[cfg(feature = "testing")]
    pub(crate) fn enqueue_to(&self, request: Request, queue: &str) -> Enqueue {
        Enqueue::new(self.clone(), request).queue(queue)
    }

    /// Enqueues many jobs, a thousand (or 256 KiB) a round trip, and answers for each in order.
    ///
    /// A job that is invalid or in conflict is refused alone. Takes jobs, or [`Client::enqueue`]'s builders where some need
    /// options of their own.
    ///
    /// # Errors
    /// When the first batch fails: then nothing was enqueued, or with [`Error::Unknown`] perhaps the jobs that it names.
    /// When a later one fails its jobs answer so, and the jobs after it are not sent.
    ///
    /// # Cancel safety
    /// Dropping the future leaves open which jobs were enqueued.
    ///
    /// # Redis
    /// One round trip and one script a batch, O(jobs).
    pub async fn enqueue_many<R: Into<Request>>(&self, jobs: impl IntoIterator<Item = R>) -> Result<Vec<Result<Enqueued, Error>>, Error> {
        enqueue::many(self, jobs.into_iter().map(Into::into)).await
    }

    /// Says what is known about a job; `None` when nothing is kept of it (done, deleted, or it never was).
    pub async fn job(&self, id: JobId) -> Result<Option<JobView>, Error> {
        self.store().job(id).await
    }

    /// Says what is known about the job that holds a unique key.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is no unique key.
    pub async fn job_by_key(&self, key: &str) -> Result<Option<JobView>, Error> {
        match self.store().unique_holder(&UniqueKey::new(key)?).await? {
            Some(id) => self.job(id).await,
            None => Ok(None),
        }
    }

    /// Cancels a job: buried at once as cancelled, or asked to stop when an attempt runs.
    pub async fn cancel(&self, id: JobId) -> Result<CancelAnswer, Error> {
        self.store().cancel(id).await
    }

    /// Deletes a job: gone at once, or removed when the running attempt ends, which is asked to stop.
    pub async fn delete(&self, id: JobId) -> Result<DeleteAnswer, Error> {
        self.store().delete(id).await
    }

    /// Makes a scheduled or dead job ready now.
    pub async fn retry(&self, id: JobId) -> Result<RetryAnswer, Error> {
        self.store().retry(id).await
    }

    /// Stops all workers from claiming jobs of a queue. Attempts that run go on.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is no queue's name. A queue exists by being named, so any name may be paused.
    pub async fn pause(&self, queue: &str) -> Result<(), Error> {
        self.store().pause(&QueueName::new(queue)?).await
    }

    /// Lets workers claim jobs of a queue again.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is no queue's name.
    pub async fn resume(&self, queue: &str) -> Result<(), Error> {
        self.store().resume(&QueueName::new(queue)?).await
    }

    /// Waits until a job has ended and says how. Nothing polls: the settle tells.
    ///
    /// # Errors
    /// What asking the store can give. A connection lost while waiting is no error: the client asks again.
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future takes the registration back.
    ///
    /// # Redis
    /// One round trip to register; one subscription a client, whatever number of jobs it waits for.
    pub async fn wait(&self, id: JobId) -> Result<End, Error> {
        self.inner.waiters.wait(id).await
    }

    /// Names a lock, to be taken by [`Lock::acquire`], [`Lock::try_acquire`] or [`Lock::run`]: a lock of its own, or one that tasks take too.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), linchpin::Error> {
    /// # let client = linchpin::Client::connect("memory://").await?;
    /// let guard = client.lock("inventory:A1").acquire().await?;
    /// println!("mine, with fence {}", guard.fence());
    /// guard.release().await?;
    ///
    /// let left = client.lock("inventory:A1").run(|lease| async move { lease.is_valid() }).await?;
    /// assert!(left);
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock(&self, key: impl AsRef<str>) -> Lock {
        Lock::new(self.inner.locks.clone(), key.as_ref())
    }

    /// Names several locks, to be taken all or none by [`LockAll::acquire`] or [`LockAll::try_acquire`]: 1 to 8 different keys.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), linchpin::Error> {
    /// # let client = linchpin::Client::connect("memory://").await?;
    /// let both = client.lock_all(["account:1", "account:2"]).acquire().await?;
    /// assert!(both.fence("account:1").is_some() && both.is_valid());
    /// both.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock_all(&self, keys: impl IntoIterator<Item = impl Into<String>>) -> LockAll {
        LockAll::new(self.inner.locks.clone(), keys.into_iter().map(Into::into).collect())
    }

    /// Makes an owner of locks: what it holds it may take again.
    pub fn owner(&self) -> Owner {
        Owner::new(self.inner.locks.clone())
    }

    /// Takes back what the store keeps for this client, and waits until the locks of dropped guards are released. Call it before a process ends; without, it is kept for 10 minutes.
    pub async fn close(&self) -> Result<(), Error> {
        self.inner.waiters.close().await;
        let _ = tokio::time::timeout(CLOSE, self.inner.locks.settled()).await;
        self.store().close(&self.inner.process).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("store", &self.store().describe())
            .finish_non_exhaustive()
    }
}
