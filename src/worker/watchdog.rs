//! The watchdog: renews every claim from an OS thread with a runtime of its own, so that handlers that block every executor
//! thread do not stop it. It stops what was lost or cancelled or took too long, and surrenders what does not stop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::attempt::{Attempt, AttemptState, Claimed, End, Ended, Phase, StopCause};
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::failpoint::{self, Step};
use crate::limits::{RENEW_MAX, margin, renew_every, stuck_limit};
use crate::names::{JobId, LockKey, OwnerToken};
use crate::seldom::Seldom;
use crate::store::Store;
use crate::store::lease::{Renewal, RenewalAnswer, Renewed, RenewedAttempt};
use crate::worker::executor;

/// The claims that a worker has yet to be done with.
#[derive(Default)]
pub(crate) struct Watched {
    claims: Mutex<HashMap<u64, Arc<Claimed>>>,
    serial: AtomicU64,
    nudge: Notify,
    all_now: std::sync::atomic::AtomicBool,
}

impl Watched {
    fn claims(&self) -> MutexGuard<'_, HashMap<u64, Arc<Claimed>>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self) -> Vec<Arc<Claimed>> {
        self.claims().values().cloned().collect()
    }

    /// Renews a claim from now on.
    pub(super) fn watch(&self, claim: &Arc<Claimed>) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        claim.serial.store(serial, Ordering::Relaxed);
        self.claims().insert(serial, claim.clone());
        // A reply that came late has less time than the watchdog sleeps.
        if claim.valid_until().remaining() < claim.shop().lease / 2 {
            self.nudge.notify_one();
        }
    }

    /// Everything of a claim was answered for.
    pub(super) fn forget(&self, claim: &Claimed) {
        self.claims().remove(&claim.serial.load(Ordering::Relaxed));
    }

    /// Stops the attempt of a job.
    pub(super) fn cancel(&self, id: JobId) {
        self.each(|state| {
            if state.job.id == id {
                state.stop(StopCause::Cancelled);
            }
        });
    }

    /// Stops everything that runs.
    pub(super) fn stop_all(&self, cause: StopCause) {
        self.each(|state| {
            state.stop(cause);
        });
        self.nudge.notify_one();
    }

    fn each(&self, act: impl Fn(&AttemptState)) {
        for claim in self.list() {
            claim
                .attempts()
                .iter()
                .filter(|state| state.phase() == Phase::Running)
                .for_each(&act);
        }
    }

    /// Renews everything now: something may have been missed.
    pub(super) fn renew_now(&self) {
        self.all_now.store(true, Ordering::Release);
        self.nudge.notify_one();
    }
}

/// The thread that watches.
pub(crate) struct Watchdog {
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Internal`] when the system gives no thread or runtime.
    pub(super) fn start(store: Arc<dyn Store>, lease: Duration, watched: Arc<Watched>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Internal {
            what: format!("start the watchdog: {error}"),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (end, told) = oneshot::channel();
        let (tell, ended) = oneshot::channel();
        let rounds = Rounds {
            store,
            watched,
            tick: lease / 12,
            lease,
            unanswered: Arc::default(),
        };
        std::thread::Builder::new()
            .name("linchpin-watchdog".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = rounds.walk() => {}
                        _ = told => {}
                    }
                });
                runtime.shutdown_background();
                let _ = tell.send(());
            })
            .map_err(failed)?;
        Ok(Self { end, ended })
    }

    /// Ends the thread and waits for its end.
    pub(super) async fn end(self) {
        let _ = self.end.send(());
        let _ = self.ended.await;
    }
}

/// What the thread does.
struct Rounds {
    store: Arc<dyn Store>,
    watched: Arc<Watched>,
    lease: Duration,
    tick: Duration,
    unanswered: Arc<Seldom>,
}

impl Rounds {
    async fn walk(&self) {
        loop {
            let all = self.watched.all_now.swap(false, Ordering::AcqRel);
            let claims = self.watched.list();
            for claim in &claims {
                self.look_after(claim);
            }
            self.renew(claims.iter().filter(|claim| self.is_due(claim, all)).cloned().collect());
            let sleep = claims
                .iter()
                .filter(|claim| !claim.lapsed.load(Ordering::Relaxed))
                .map(|claim| claim.valid_until().remaining())
                .fold(self.tick, Duration::min);
            tokio::select! {
                () = self.watched.nudge.notified() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    // ---- stopping ----------------------------------------------------------------------------------------------------

    /// Stops what has no time left, and surrenders what does not stop.
    fn look_after(&self, claim: &Arc<Claimed>) {
        let lapsed = claim.valid_until().passed();
        if lapsed && !claim.lapsed.swap(true, Ordering::AcqRel) {
            tracing::warn!(claim = %claim.token(), "lease not renewed in time, its attempts are stopped");
        }
        let mut busy = false;
        for (index, state) in claim.attempts().iter().enumerate() {
            let phase = state.phase();
            busy |= phase != Phase::Answered;
            if phase != Phase::Running {
                continue;
            }
            if lapsed {
                state.stop(StopCause::LeaseLost);
            } else if state.deadline().is_some_and(|deadline| deadline.plus(self.tick).passed()) {
                // Its executor would have said so, had it a thread.
                state.stop(StopCause::TimedOut);
            }
            let given_up = state.told_at().is_some_and(|told| told.plus(stuck_limit(self.lease)).passed());
            if given_up && state.leave_running(Phase::Surrendered) {
                self.surrender(claim, index);
            }
        }
        if !busy {
            // Only of what vanished: the rest was forgotten when it was answered for.
            self.watched.forget(claim);
        }
    }

    /// Settles a stuck attempt, again and again until there is an answer or the claim has lapsed.
    fn surrender(&self, claim: &Arc<Claimed>, index: usize) {
        let attempt = Attempt::new(claim.clone(), index);
        let mut ending = executor::stuck(&attempt);
        ending.ran = attempt.state().ran();
        ending.nested = attempt.state().close_holds();
        let settle = ending.settle(claim, index);
        let (store, pause) = (self.store.clone(), self.lease / 20);
        tracing::error!(job.id = %attempt.job_id(), "handler does not stop, its job is surrendered");
        tokio::spawn(async move {
            let answer = loop {
                match store.surrender(settle.clone()).await {
                    Ok(answer) => break Some(answer),
                    Err(_) if attempt.claim().lapsed.load(Ordering::Acquire) => break None,
                    Err(error) => tracing::warn!(error = %error, "surrender not answered, trying again"),
                }
                tokio::time::sleep(pause).await;
            };
            attempt.state().answered();
            let claim = attempt.claim().clone();
            let _ = attempt.shop().ends.send(Ended {
                claim,
                index,
                end: End::Surrendered(ending, answer),
            });
        });
    }

    // ---- renewing ----------------------------------------------------------------------------------------------------

    fn is_due(&self, claim: &Claimed, all: bool) -> bool {
        let age = LeaseInstant::now().as_nanos().saturating_sub(claim.renewed_at().as_nanos());
        let due = all || Duration::from_nanos(age) + self.tick > renew_every(self.lease);
        due && !claim.lapsed.load(Ordering::Acquire) && !claim.renewing.swap(true, Ordering::AcqRel)
    }

    /// Renews claims, a batch of at most [`RENEW_MAX`] attempts (or one claim) at a time, without waiting for the answers.
    fn renew(&self, claims: Vec<Arc<Claimed>>) {
        let mut batch: Vec<Asked> = Vec::new();
        let mut named = 0;
        for claim in claims {
            let asked = Asked::of(claim);
            if asked.indices.is_empty() {
                asked.claim.renewing.store(false, Ordering::Release);
                continue;
            }
            if named + asked.indices.len() > RENEW_MAX && !batch.is_empty() {
                self.send(std::mem::take(&mut batch));
                named = 0;
            }
            named += asked.indices.len();
            batch.push(asked);
        }
        if !batch.is_empty() {
            self.send(batch);
        }
    }

    fn send(&self, batch: Vec<Asked>) {
        let store = self.store.clone();
        let watched = self.watched.clone();
        let lease = self.lease;
        let unanswered = self.unanswered.clone();
        tokio::spawn(async move {
            let renewals = batch.iter().map(|asked| asked.renewal.clone()).collect();
            failpoint::reach(Step::RenewalLeaves);
            let answers = match tokio::time::timeout(renew_every(lease), store.renew(renewals)).await {
                Ok(Ok(answers)) => answers,
                Ok(Err(error)) => {
                    if unanswered.now() {
                        tracing::warn!(error = %error, "renewal not answered, trying again");
                    }
                    tokio::time::sleep(lease / 20).await;
                    Vec::new()
                }
                Err(_) => {
                    if unanswered.now() {
                        tracing::warn!("renewal not answered in time, trying again");
                    }
                    Vec::new()
                }
            };
            let mut again = answers.len() < batch.len();
            for (asked, answer) in batch.iter().zip(&answers) {
                again |= !asked.hear(answer);
            }
            for asked in &batch {
                asked.claim.renewing.store(false, Ordering::Release);
            }
            if again {
                watched.nudge.notify_one();
            }
        });
    }
}

/// One claim's renewal, and whom it names.
struct Asked {
    claim: Arc<Claimed>,
    renewal: Renewal,
    indices: Vec<usize>,
    /// The attempts' counts of releases when they were named.
    releases: Vec<u64>,
}

impl Asked {
    fn of(claim: Arc<Claimed>) -> Self {
        let (mut attempts, mut indices, mut releases) = (Vec::new(), Vec::new(), Vec::new());
        for (index, state) in claim.attempts().iter().enumerate() {
            if state.phase() == Phase::Answered {
                continue;
            }
            let (nested, count): (Vec<(LockKey, OwnerToken)>, u64) = state.holds().map(|holds| holds.named()).unwrap_or_default();
            attempts.push(RenewedAttempt {
                id: state.job.id,
                locks: state.locks().to_vec(),
                nested,
                progress: state.progress(),
            });
            indices.push(index);
            releases.push(count);
        }
        let renewal = Renewal {
            token: claim.token().clone(),
            lease: claim.shop().lease,
            attempts,
        };
        Self {
            claim,
            renewal,
            indices,
            releases,
        }
    }

    /// Takes the answer; false when it has to be asked again at once.
    fn hear(&self, answer: &RenewalAnswer) -> bool {
        let lease = self.claim.shop().lease;
        let valid_until = answer.sent_at.plus(lease - margin(lease));
        let mut renewed = false;
        let mut clear = true;
        for (at, word) in answer.attempts.iter().enumerate().take(self.indices.len()) {
            let state = self.claim.attempt(self.indices[at]);
            match word {
                Renewed::Renewed | Renewed::Cancelled => {
                    renewed = true;
                    if let Some(holds) = state.holds() {
                        holds.renewed(&self.renewal.attempts[at].nested, valid_until);
                    }
                    if *word == Renewed::Cancelled {
                        state.stop(StopCause::Cancelled);
                    }
                }
                // It released a lock meanwhile: what was missing may have been that one.
                Renewed::Lost if state.holds().is_some_and(|holds| holds.releases() != self.releases[at]) => clear = false,
                // Of an attempt that has ended the settle's answer decides.
                Renewed::Lost if state.phase() == Phase::Running => {
                    if state.stop(StopCause::LeaseLost) {
                        tracing::warn!(job.id = %state.job.id, "lease lost, its attempt is stopped");
                    }
                }
                Renewed::Lost => {}
            }
        }
        if renewed && clear {
            self.claim.renewed(answer.sent_at);
        }
        clear
    }
}
