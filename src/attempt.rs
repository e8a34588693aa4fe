//! What a handler holds while it runs: the attempt, and shared data.

mod claimed;
mod data;
mod held;
mod in_use;
mod stop;
mod workshop;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

pub(crate) use claimed::{AttemptState, Claimed, Phase};
pub use data::{Data, DataMap, DataNeed};
pub use held::HeldLock;
pub use in_use::InUse;
pub use stop::StopCause;
pub(crate) use workshop::{End, Ended, Ending, Workshop, joined, waited};

use crate::clock::LeaseInstant;
use crate::effects::Effects;
use crate::error::{Error, Invalid};
use crate::job::Job;
use crate::job::lock_set;
use crate::limits::{NESTED_WAIT, PROGRESS_NOTE_MAX_BYTES, within_bytes};
use crate::lock::Wait;
use crate::names::{Fence, JobId, LockKey};
pub use crate::store::new_job::TickOf;
pub use crate::store::view::Progress;
use crate::task::TaskResult;

/// One run of a job, as its handler sees it. Clones are the same attempt.
#[derive(Clone)]
pub struct Attempt {
    claim: Arc<Claimed>,
    index: usize,
}

impl Attempt {
    pub(crate) fn new(claim: Arc<Claimed>, index: usize) -> Self {
        Self { claim, index }
    }

    /// Makes an attempt without a worker, for calling a handler in a test: it is number 1, never told to stop, and takes every
    /// lock at once. It knows no other tasks.
    pub fn test() -> Self {
        Self::new(Claimed::test(), 0)
    }

    pub(crate) fn claim(&self) -> &Arc<Claimed> {
        &self.claim
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn state(&self) -> &AttemptState {
        self.claim.attempt(self.index)
    }

    pub(crate) fn shop(&self) -> &Arc<Workshop> {
        self.claim.shop()
    }

    /// Names the job.
    pub fn job_id(&self) -> JobId {
        self.state().job.id
    }

    /// Counts: 1 for the first attempt, one more per charged attempt before.
    pub fn number(&self) -> u32 {
        self.state().number()
    }

    /// The tick of a schedule that the job was enqueued for.
    pub fn tick(&self) -> Option<&TickOf> {
        self.state().job.envelope.as_ref().ok()?.body.tick.as_ref()
    }

    /// Gives the fencing token: greater than that of any earlier attempt of this job or holder of its locks. Pass it to whatever
    /// must refuse a late writer.
    pub fn fence(&self) -> Fence {
        self.state().job.fence
    }

    /// The locks it holds now, its task's and others, with the fence of each. None for one made by [`Attempt::test`], whose fences mean nothing.
    #[cfg(feature = "postgres")]
    pub(crate) fn held_fences(&self) -> Vec<(LockKey, Fence)> {
        if self.shop().locks.is_none() {
            return Vec::new();
        }
        let own = self.state().locks().iter().map(|key| (key.clone(), self.fence()));
        let nested = self.state().holds().map(held::Holds::fences);
        own.chain(nested.into_iter().flatten()).collect()
    }

    /// Names the namespace of its store.
    #[cfg(feature = "postgres")]
    pub(crate) fn namespace(&self) -> &str {
        self.shop().locks.as_ref().map_or("test", |locks| locks.store().namespace())
    }

    /// Says until when the attempt counts as owner of its job and locks, unless it is renewed again before.
    ///
    /// Not promised: that nobody else runs after it while this process is paused. Pass the fence on.
    pub fn valid_until(&self) -> LeaseInstant {
        let claim = self.claim.valid_until();
        self.state().holds().map_or(claim, |holds| holds.valid_until(claim))
    }

    /// Says when its timeout passes; `None` when it has none or has not started.
    pub fn deadline(&self) -> Option<LeaseInstant> {
        self.state().deadline()
    }

    /// Whether it was told to stop.
    pub fn is_cancelled(&self) -> bool {
        self.stop_cause().is_some()
    }

    /// Why it was told to stop, if it was.
    pub fn stop_cause(&self) -> Option<StopCause> {
        self.state().stop_cause()
    }

    /// Waits until the attempt is told to stop, and says why. The handler's future is dropped a moment (a fifteenth of the
    /// lease) later.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn cancelled(&self) -> StopCause {
        self.state().stopped().await
    }

    /// Hands over effects: they are done in one step with the settle that ends the job, all of them or none, and that settle counts only while
    /// this attempt still owns its job and its locks. So each job takes effect exactly once, whatever dies, pauses or is cut off on the way.
    /// When the handler fails, or is stopped, nothing of it is done. May be called several times; what is said adds up.
    ///
    /// ```
    /// # use linchpin::{Attempt, Need, TaskResult, task};
    /// #[task(lock = "inventory:{sku}")]
    /// async fn decrement(attempt: Attempt, sku: String, qty: u32) -> TaskResult {
    ///     attempt.at_settle(|fx| {
    ///         fx.require(format!("stock:{sku}"), Need::AtLeast(qty.into()));
    ///         fx.decr_by(format!("stock:{sku}"), qty.into());
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// When a check fails (a [requirement](Effects::require), a key of another kind, a number that is none or leaves 64 bits, a right that the
    /// server's user has not) nothing is done and the job is retried as after an error; other jobs are not concerned. Should a command fail
    /// nevertheless (a stream whose ids are used up; rights, on a server older than Redis 7), the job is buried, with an alarm in the worker's log
    /// and the reason in its record: it is not run again, for a part of it may have been done.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all that is wrong, and then nothing of this call is handed over: an empty key or one of the namespace's own,
    /// more than 64 effects or 64 KiB a job. [`Error::Lost`] when the handler has ended.
    ///
    /// # Redis
    /// No round trip of its own. In the settle: for a single effect its command; for more, a read of each key or field besides. On a cluster every key
    /// has to carry the namespace's hash tag.
    pub fn at_settle(&self, say: impl FnOnce(&mut Effects)) -> Result<(), Error> {
        let mut said = Effects::default();
        say(&mut said);
        let locks = self.shop().locks.as_ref();
        let is_own = |key: &[u8]| locks.is_some_and(|locks| locks.store().is_own_key(key));
        self.state().hand_over(said, is_own)
    }

    /// What was handed over by [`Attempt::at_settle`] so far: for a test that calls a handler with [`Attempt::test`].
    pub fn effects(&self) -> Effects {
        self.state().handed_over()
    }

    /// Says how far it is: `done` of `total`, in units of your own (`total` 0 where it is not known), and what it is doing, for people (may be empty).
    /// It is what [`Client::job`](crate::Client::job) and `linchpin jobs show` tell of a job that runs; saying it again replaces it, and it is gone with
    /// the attempt. Cheap: call it for each row.
    ///
    /// ```
    /// # use linchpin::{Attempt, TaskResult, task};
    /// #[task]
    /// async fn export(attempt: Attempt, rows: u64) -> TaskResult {
    ///     for row in 0..rows {
    ///         attempt.progress(row, rows, "writing rows");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Others see it when the attempt is renewed next, a third of the lease later at most (5 s); of an attempt that ends before that nothing is seen.
    /// The note is cut to 200 bytes, and control characters in it become spaces.
    ///
    /// # Redis
    /// No round trip: it goes with the renewal, as one `SET` of a key that lives a little longer than the lease.
    pub fn progress(&self, done: u64, total: u64, note: &str) {
        let note = within_bytes(note, PROGRESS_NOTE_MAX_BYTES).replace(char::is_control, " ");
        self.state().set_progress(Progress { done, total, note });
    }

    /// What was said by [`Attempt::progress`] last: for a test that calls a handler with [`Attempt::test`].
    pub fn last_progress(&self) -> Option<Progress> {
        self.state().progress()
    }

    /// Keeps the attempt in use: it is settled only after this is dropped. For work that dropping the handler's future does not
    /// end, such as a thread; whoever holds it long after the attempt was told to stop is stuck.
    pub fn hold(&self) -> InUse {
        InUse::new(self.clone())
    }

    /// Takes a lock for this attempt, besides those of its task: re-enters it when the attempt holds it, else takes it, waiting in line
    /// for at most 5 s. It is renewed with the attempt; dropping the guard keeps it until the attempt is settled, releasing frees it. What
    /// became of it is in the attempt's record in the log.
    ///
    /// An attempt that holds something waits only with a bound, so that no deadlock is kept alive by renewals.
    ///
    /// # Errors
    /// [`Error::Busy`] when others held it for these 5 s; [`Error::Lost`] when the attempt is not valid any more;
    /// [`Error::Invalid`] when the key is empty or over 512 bytes; [`Error::Unreachable`].
    ///
    /// # Cancel safety
    /// Cancel safe: what was taken meanwhile is freed with the attempt.
    ///
    /// # Redis
    /// One round trip for a lock that is free and that the attempt does not hold yet; two more to wait for it.
    pub async fn lock(&self, key: impl AsRef<str>) -> Result<HeldLock, Error> {
        let key = LockKey::new(key)?;
        held::take(self, key, Wait::AtMost(NESTED_WAIT)).await
    }

    /// As [`Attempt::lock`], without waiting.
    ///
    /// # Errors
    /// [`Error::Busy`] when somebody else holds it or waits for it; else as [`Attempt::lock`].
    pub async fn try_lock(&self, key: impl AsRef<str>) -> Result<HeldLock, Error> {
        let key = LockKey::new(key)?;
        held::take(self, key, Wait::Not).await
    }

    /// Runs another job inline as part of this attempt: its locks re-enter what the attempt holds or are taken, and are freed
    /// afterwards. Nothing is enqueued; its fate is returned.
    ///
    /// # Errors
    /// The other handler's own, and those of [`Attempt::lock`]; a job whose task this worker does not run.
    pub async fn run<J: Job>(&self, job: J) -> TaskResult {
        let name = J::SPEC.name;
        let shop = self.shop();
        let Some(task) = shop.registry.find(name) else {
            let allowed = shop.registry.unknown(name);
            return Err(Error::from(Invalid::new("task", name, allowed)).into());
        };
        let args = serde_json::to_vec(&job)?;
        let prepared = task.prepare(&args)?;
        let mut held = Vec::new();
        for key in lock_set(prepared.lock_keys())? {
            held.push(held::take(self, key, Wait::AtMost(NESTED_WAIT)).await?);
        }
        let running = prepared.run(self.clone(), shop.data.clone());
        let result = if task.task.blocking {
            self.run_to_its_end(running).await
        } else {
            running.await
        };
        for lock in held.into_iter().rev() {
            lock.release().await?;
        }
        result
    }

    /// Dropping this does not end a sync handler: the attempt stays in use until it has ended.
    async fn run_to_its_end(&self, running: BoxFuture<'static, TaskResult>) -> TaskResult {
        let in_use = self.hold();
        let handler = tokio::spawn(async move {
            let result = running.await;
            drop(in_use);
            result
        });
        match handler.await {
            Ok(result) => result,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(ended) => Err(ended.into()),
            },
        }
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("job", &self.job_id())
            .field("number", &self.number())
            .field("fence", &self.fence())
            .field("stop", &self.stop_cause())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_test_attempt_takes_locks_and_reenters_them() {
        let attempt = Attempt::test();
        let first = attempt.lock("a").await.expect("free");
        let again = attempt.lock("a").await.expect("reentered");
        assert_eq!(first.fence(), again.fence());
        again.release().await.expect("counted");
        first.release().await.expect("freed");
        assert!(attempt.lock("").await.is_err());
        assert!(!attempt.is_cancelled());
        assert_eq!(attempt.number(), 1);
    }
}
