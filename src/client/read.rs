//! What operators and programs ask: lists, counts, the attempts log.

use std::fmt;

use tokio::sync::mpsc;

use crate::client::{Client, Explanation};
use crate::error::{Error, Invalid};
use crate::limits::PAGE_MAX;
use crate::names::{JobId, LockKey};
use crate::store::circumstances::{LockLine, LockPage, QueueView, WorkerView};
use crate::store::lease::BreakAnswer;
use crate::store::page::{Cursor, JobFilter, JobPage};
use crate::store::view::{AttemptEntry, Census};

impl Client {
    /// Lists a page of the jobs that `filter` takes, at most `limit`, without their arguments.
    ///
    /// Scheduled jobs come by their due time, dead ones the latest first, the ready ones of one queue in the order of claims, others in no
    /// order. A page is what stood there when it was read: jobs that move while one turns pages may come twice or not at all. What is looked at for one page is bounded,
    /// so with a filter that takes few jobs a page may be short, even empty, and not be the last.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `limit` is not 1 to [`PAGE_MAX`], or the cursor is of a page with another filter.
    ///
    /// # Redis
    /// A script for each 100 jobs looked at, at most 100 a page; one more for each 16 of them whose arguments are over 4 KiB. A list of ready jobs without a queue, and one without a state, walks all jobs.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), linchpin::Error> {
    /// # let client = linchpin::Client::connect("memory://").await?;
    /// use linchpin::store::page::{JobFilter, StateName};
    ///
    /// let (filter, mut after) = (JobFilter::in_state(StateName::Dead), None);
    /// loop {
    ///     let page = client.jobs(&filter, after.as_ref(), 100).await?;
    ///     for job in &page.jobs {
    ///         println!("{} {:?}", job.id, job.last_error);
    ///     }
    ///     after = page.next;
    ///     if after.is_none() {
    ///         break;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn jobs(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error> {
        self.store().jobs(filter, after, limit).await
    }

    /// Explains why a job is where it is: what it waits for, and what stands in its way. `None` when nothing is kept of it (done, deleted, or
    /// it never was).
    ///
    /// The job and its lock are read at one instant, the workers right after.
    ///
    /// # Redis
    /// Two scripts, O(workers + position within 10,000 entries).
    pub async fn explain(&self, id: JobId) -> Result<Option<Explanation>, Error> {
        match self.store().circumstances(id).await? {
            Some(circumstances) => Ok(Some(Explanation::of(circumstances, &self.store().workers().await?))),
            None => Ok(None),
        }
    }

    /// Lists a page of the locks that somebody holds or waits for, by their keys: at most `limit`, behind the key `after`. Who holds each, since
    /// when, until when unless it is renewed, and how many wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `limit` is not 1 to [`PAGE_MAX`].
    ///
    /// # Redis
    /// Finds locks by scanning the server's keys, O(keys); then a script for each 100 locks.
    pub async fn locks(&self, after: Option<&LockKey>, limit: usize) -> Result<LockPage, Error> {
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(Invalid::new("length of a page", limit, format!("1 to {PAGE_MAX}")).into());
        }
        self.store().locks(after, limit).await
    }

    /// Shows a lock: its holder, and jobs and clients that wait, in order. `None` when nobody holds it or waits for it.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the key is empty or over 512 bytes.
    ///
    /// # Redis
    /// One script, O(waiters listed).
    pub async fn lock_line(&self, key: impl AsRef<str>) -> Result<Option<LockLine>, Error> {
        self.store().lock(&LockKey::new(key)?).await
    }

    /// Breaks a lock: takes it from whoever holds it and gives it to the next. For operators, when a holder does not stop: its
    /// [`Lease::lost`](crate::lock::Lease::lost) says so, an attempt's settle is refused and its job runs again; nothing stops what it does elsewhere but the
    /// fence.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the key is empty or over 512 bytes.
    ///
    /// # Redis
    /// One script.
    pub async fn break_lock(&self, key: impl AsRef<str>) -> Result<BreakAnswer, Error> {
        self.store().break_lock(&LockKey::new(key)?).await
    }

    /// Counts jobs by state, workers and paused queues.
    ///
    /// # Redis
    /// Finds queues by scanning the server's keys, O(keys); then one script.
    pub async fn census(&self) -> Result<Census, Error> {
        self.store().census().await
    }

    /// Lists the queues that hold ready jobs, are paused or are served by a live worker, in order.
    ///
    /// # Redis
    /// Finds queues by scanning the server's keys, O(keys); then a script for each 100 queues.
    pub async fn queues(&self) -> Result<Vec<QueueView>, Error> {
        self.store().queues().await
    }

    /// Lists the workers that spoke within the last 10 minutes, at most [`WORKERS_LISTED_MAX`](crate::limits::WORKERS_LISTED_MAX), whoever
    /// spoke last first. Workers speak every 10 s; one that was killed stays until its time is over ([`WorkerView::is_live`]).
    ///
    /// # Redis
    /// One script, O(workers).
    pub async fn workers(&self) -> Result<Vec<WorkerView>, Error> {
        self.store().workers().await
    }

    /// Reads the attempts log after number `after` (0 for its beginning), oldest first, about `limit` entries.
    ///
    /// # Redis
    /// One `XRANGE`.
    pub async fn attempts(&self, after: u64, limit: usize) -> Result<Vec<AttemptEntry>, Error> {
        self.store().attempts(after, limit).await
    }

    /// Follows the attempts log: entries after number `after` (`None`: from now on), each as soon as it is written.
    ///
    /// Nothing polls. A lost connection is restored; nothing is missed but what the log trimmed meanwhile (it keeps about 10,000 attempts).
    ///
    /// # Errors
    /// When the store cannot be reached or refuses now. Later troubles are waited out.
    ///
    /// # Redis
    /// One connection a follower, which blocks in `XREAD`.
    pub async fn follow(&self, after: Option<u64>) -> Result<Follow, Error> {
        Ok(Follow(self.store().follow(after).await?))
    }
}

/// Follows the attempts log. Dropping it ends that.
#[must_use = "entries come by `next`"]
pub struct Follow(mpsc::Receiver<AttemptEntry>);

impl Follow {
    /// Waits for the next entry; `None` when the store is gone from this process.
    ///
    /// # Cancel safety
    /// Cancel safe: no entry is lost.
    pub async fn next(&mut self) -> Option<AttemptEntry> {
        self.0.recv().await
    }
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Follow")
    }
}
