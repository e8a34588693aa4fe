//! The watchdog of all locks of a process: renews them in batches from an OS thread with a runtime of its own, tells of those that are lost, and
//! sends the releases of what was dropped.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::agenda::{Agenda, Release};
use super::hold::{Hold, Loss};
use super::releaser;
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::renew_every;
use crate::names::OwnerToken;
use crate::seldom::Seldom;
use crate::store::Store;
use crate::store::lease::{HoldRenewal, HoldRenewed, HoldsRenewed};

/// Holds one renewal names.
const BATCH: usize = 400;
/// What is due so soon is done in the same round.
const SLACK: Duration = Duration::from_millis(10);

/// Starts the thread when it is first needed; the thread ends with this and the last release.
pub(super) struct Watchdog {
    store: Arc<dyn Store>,
    agenda: Arc<Agenda>,
    started: Mutex<bool>,
}

impl Watchdog {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            agenda: Arc::default(),
            started: Mutex::new(false),
        }
    }

    /// Watches a hold from now on.
    pub(super) fn watch(&self, hold: &Arc<Hold>) -> Result<(), Error> {
        self.start()?;
        self.agenda.look_at(hold, first_look(hold));
        Ok(())
    }

    pub(super) fn forget(&self, hold: &Hold) {
        self.agenda.forget(hold);
    }

    /// Releases what was dropped, again and again until there is an answer or it has ended by itself.
    pub(super) fn release(&self, release: Release) {
        match self.start() {
            Ok(()) => self.agenda.release(release),
            Err(error) => tracing::warn!(lock.key = %release.key, %error, "a dropped lock is left to its time"),
        }
    }

    pub(super) fn broken(&self, token: &OwnerToken) {
        if let Some(hold) = self.agenda.find(token) {
            self.agenda.forget(&hold);
            hold.lose(Loss::Broken);
        }
    }

    /// Something may have been missed: renews everything now.
    pub(super) fn renew_now(&self) {
        self.agenda.look_at_all();
    }

    /// Waits until no release is outstanding.
    pub(super) async fn settled(&self) {
        loop {
            let settled = self.agenda.settled.notified();
            if self.agenda.is_settled() {
                return;
            }
            settled.await;
        }
    }

    fn start(&self) -> Result<(), Error> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if *started {
            return Ok(());
        }
        let failed = |error: std::io::Error| Error::Internal {
            what: format!("start the watchdog of locks: {error}"),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let rounds = Rounds {
            store: self.store.clone(),
            agenda: self.agenda.clone(),
            unanswered: Arc::default(),
        };
        std::thread::Builder::new()
            .name("linchpin-locks".to_owned())
            .spawn(move || {
                runtime.block_on(rounds.walk());
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        *started = true;
        Ok(())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.agenda.close();
    }
}

/// When a hold is looked at: to be renewed at about a third of its lease, or because it ends.
fn first_look(hold: &Hold) -> LeaseInstant {
    match hold.fixed {
        true => hold.valid_until(),
        false => LeaseInstant::now().plus(jittered(renew_every(hold.lease))).min(hold.valid_until()),
    }
}

/// A bit earlier, so that what was taken together is not renewed together for ever.
fn jittered(every: Duration) -> Duration {
    every.mul_f64(0.85 + 0.15 * rand::random::<f64>())
}

/// What the thread does.
#[derive(Clone)]
struct Rounds {
    store: Arc<dyn Store>,
    agenda: Arc<Agenda>,
    unanswered: Arc<Seldom>,
}

impl Rounds {
    async fn walk(&self) {
        loop {
            let round = self.agenda.round(LeaseInstant::now().plus(SLACK));
            if round.closed && round.holds.is_empty() && round.releases.is_empty() {
                return;
            }
            for release in round.releases {
                tokio::spawn(releaser::release(self.store.clone(), self.agenda.clone(), release));
            }
            self.look_after(round.holds);
            let sleep = round.next.map_or(Duration::from_secs(3600), LeaseInstant::remaining);
            tokio::select! {
                () = self.agenda.nudge.notified() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    fn look_after(&self, holds: Vec<Arc<Hold>>) {
        let mut asked = Vec::new();
        for hold in holds {
            let until = hold.valid_until();
            if hold.has_ended() || hold.loss().is_some() {
                continue;
            }
            if until.passed() {
                hold.lose(match (hold.is_over(), hold.fixed) {
                    (true, _) => Loss::HeldTooLong,
                    (_, true) => Loss::Expired,
                    _ => Loss::Unanswered,
                });
                continue;
            }
            // looked at again when it ends, unless an answer comes before
            self.agenda.look_at(&hold, until);
            if !hold.fixed {
                asked.push(hold);
            }
        }
        for batch in asked.chunks(BATCH) {
            let (rounds, batch) = (self.clone(), batch.to_vec());
            tokio::spawn(async move { rounds.renew(batch).await });
        }
    }

    async fn renew(&self, batch: Vec<Arc<Hold>>) {
        let shortest = batch.iter().map(|hold| hold.lease).min().unwrap_or(SLACK);
        let renewals = batch.iter().map(|hold| HoldRenewal {
            key: hold.key.clone(),
            token: hold.token.clone(),
            ttl: hold.ttl(),
        });
        let renewing = self.store.renew_holds(renewals.collect());
        match tokio::time::timeout(renew_every(shortest), renewing).await {
            Ok(Ok(answer)) => self.hear(&batch, &answer),
            Ok(Err(error)) => {
                if self.unanswered.now() {
                    tracing::warn!(%error, "renewal of locks not answered, trying again");
                }
                self.try_again(&batch);
            }
            Err(_) => {
                if self.unanswered.now() {
                    tracing::warn!("renewal of locks not answered in time, trying again");
                }
                self.try_again(&batch);
            }
        }
    }

    fn hear(&self, batch: &[Arc<Hold>], answer: &HoldsRenewed) {
        for (hold, word) in batch.iter().zip(&answer.holds) {
            let loss = match word {
                HoldRenewed::Renewed => {
                    hold.renewed(answer.sent_at);
                    let again = LeaseInstant::now().plus(jittered(renew_every(hold.lease)));
                    self.agenda.look_at(hold, again.min(hold.valid_until()));
                    continue;
                }
                HoldRenewed::Expired => Loss::Expired,
                HoldRenewed::Taken => Loss::Taken,
                HoldRenewed::Broken => Loss::Broken,
            };
            self.agenda.forget(hold);
            hold.lose(loss);
        }
    }

    fn try_again(&self, batch: &[Arc<Hold>]) {
        for hold in batch {
            let soon = LeaseInstant::now().plus(hold.lease / 20);
            self.agenda.look_at(hold, soon.min(hold.valid_until()));
        }
    }
}
