//! The herald: tells the fleet that this worker lives, and hears what is pushed to it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

use crate::error::Error;
use crate::lock::Locks;
use crate::manifest::Manifest;
use crate::store::Store;
use crate::store::view::{Push, Replaced, WorkerCard};
use crate::worker::health::Vitals;
use crate::worker::looker::Fleet;
use crate::worker::watchdog::Watched;

/// How often a worker says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The second word of a worker: a fleet that starts at once counts itself soon, or everybody would look as if alone.
const SECOND: Duration = Duration::from_secs(1);
/// First wait after a failure; it doubles up to [`AGAIN_MAX`].
const AGAIN: Duration = Duration::from_millis(200);
/// Longest wait after a failure.
const AGAIN_MAX: Duration = Duration::from_secs(5);

/// Waits that double, with jitter.
#[derive(Debug)]
pub(crate) struct Again(Duration);

impl Again {
    pub(crate) fn new() -> Self {
        Self(AGAIN)
    }

    /// The wait after one more failure.
    pub(crate) fn wait(&mut self) -> Duration {
        let wait = self.0.mul_f64(0.5 + rand::random::<f64>());
        self.0 = (self.0 * 2).min(AGAIN_MAX);
        wait
    }
}

/// Writes the worker's card, waiting for the store if need be.
///
/// # Errors
/// What no waiting mends.
pub(crate) async fn register(store: &dyn Store, card: &WorkerCard, vitals: &Vitals) -> Result<(), Error> {
    let mut again = Again::new();
    loop {
        vitals.step(0, 0);
        match store.register(card).await {
            Ok(replaced) => {
                vitals.heard(true);
                report(card, &replaced);
                return Ok(());
            }
            Err(error @ (Error::Unreachable { .. } | Error::Unknown { .. })) => {
                tracing::warn!(error = %error, "store not reached, trying again");
                tokio::time::sleep(again.wait()).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Says which tasks lock otherwise than was told before: while workers of both releases run, their jobs do not exclude each other.
fn report(card: &WorkerCard, replaced: &[Replaced]) {
    for former in replaced {
        let ours = card.tasks.iter().find(|(task, _)| *task == former.task);
        let locks = |line: &str| serde_json::from_str::<Manifest>(line).ok().map(|manifest| manifest.locks);
        let (Some(before), Some(now)) = (locks(&former.line), ours.and_then(|(_, line)| locks(line))) else {
            continue;
        };
        if before != now {
            tracing::warn!(
                task = %former.task,
                before = %before.join(", "),
                now = %now.join(", "),
                "this worker locks the task otherwise than it was told of before: while workers with the former locks run, its jobs can overlap"
            );
        }
    }
}

/// Beats, and listens.
pub(crate) struct Herald {
    store: Arc<dyn Store>,
    card: WorkerCard,
    watched: Arc<Watched>,
    locks: Arc<Locks>,
    vitals: Arc<Vitals>,
    fleet: Fleet,
    /// The version of the schedules.
    schedules: watch::Sender<u64>,
}

impl Herald {
    pub(crate) fn new(store: Arc<dyn Store>, card: WorkerCard, watched: Arc<Watched>, locks: Arc<Locks>, vitals: Arc<Vitals>) -> Self {
        let fleet = Fleet::default();
        Self {
            store,
            card,
            watched,
            locks,
            vitals,
            fleet,
            schedules: watch::Sender::new(0),
        }
    }

    /// Hears of changes of the schedules.
    pub(crate) fn schedules(&self) -> watch::Receiver<u64> {
        self.schedules.subscribe()
    }

    pub(crate) fn fleet(&self) -> Fleet {
        self.fleet.clone()
    }

    pub(crate) async fn run(mut self) {
        let listener = Listener {
            store: self.store.clone(),
            card: self.card.clone(),
            watched: self.watched.clone(),
            locks: self.locks.clone(),
        };
        tokio::join!(self.beat(), listener.listen());
    }

    /// The store has lost what this worker told of its tasks. The next beat asks again.
    async fn register_anew(&self) {
        match self.store.register(&self.card).await {
            Ok(_) => tracing::warn!("the store had lost its data: told of this worker's tasks anew"),
            Err(error) => tracing::warn!(error = %error, "the store has lost its data, and does not take this worker's tasks"),
        }
    }

    async fn beat(&mut self) {
        let mut again = Again::new();
        let mut regular = SECOND;
        loop {
            self.card.running = self.vitals.running();
            let wait = match self.store.heartbeat(&self.card).await {
                Ok(beat) => {
                    self.fleet.set(beat.workers);
                    self.schedules
                        .send_if_modified(|version| std::mem::replace(version, beat.schedules) != beat.schedules);
                    if !beat.registered {
                        self.register_anew().await;
                    }
                    self.vitals.heard(true);
                    again = Again::new();
                    std::mem::replace(&mut regular, HEARTBEAT).mul_f64(0.9 + 0.2 * rand::random::<f64>())
                }
                Err(error) => {
                    self.vitals.heard(false);
                    tracing::warn!(error = %error, "heartbeat not answered");
                    again.wait()
                }
            };
            tokio::time::sleep(wait).await;
        }
    }
}

/// Hears cancels.
struct Listener {
    store: Arc<dyn Store>,
    card: WorkerCard,
    watched: Arc<Watched>,
    locks: Arc<Locks>,
}

impl Listener {
    async fn listen(&self) {
        let mut again = Again::new();
        loop {
            match self.store.pushes(&self.card.worker).await {
                Ok(mut pushes) => {
                    self.locks.line.hears(true);
                    self.hear(&mut pushes).await;
                    self.locks.line.hears(false);
                }
                Err(error) => tracing::debug!(error = %error, "pushes not heard, the renewals tell of cancels"),
            }
            tokio::time::sleep(again.wait()).await;
            self.watched.renew_now();
        }
    }

    async fn hear(&self, pushes: &mut Receiver<Push>) {
        while let Some(push) = pushes.recv().await {
            match push {
                Push::Cancel(id) => self.watched.cancel(id),
                Push::Resubscribed => {
                    self.locks.line.ask_all();
                    self.watched.renew_now();
                }
                Push::Offered(token) => self.locks.line.offered(&token),
                // of a claim or a nested hold: the renewal finds it lost
                Push::Broken(..) => self.watched.renew_now(),
                Push::Ended(..) => {}
            }
        }
    }
}
