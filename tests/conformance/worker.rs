//! A worker as tests drive it: one verb at a time.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linchpin::names::{LockKey, OwnerToken, ProcessId};
use linchpin::store::Store;
use linchpin::store::lease::{Renewal, Renewed, RenewedAttempt};
use linchpin::store::settle::{AttemptRecord, Charge, Death, LockWord, Outcome, Settle, SettleAnswer, Verdict};
use linchpin::store::turn::{ClaimedJob, LockOutcome, More, Suspects, Turn, TurnReply};
use linchpin::store::view::Progress;

use super::draft::queue;

pub const LEASE: Duration = Duration::from_secs(15);
/// Longer than a claim stands unrenewed.
pub const LAPSE: Duration = Duration::from_secs(18);

pub struct Worker {
    pub id: ProcessId,
    store: Arc<dyn Store>,
    /// Attempts of each claim that have yet to be answered for.
    open: Mutex<Vec<(OwnerToken, usize)>>,
}

/// An attempt that a worker runs.
#[derive(Debug, Clone)]
pub struct Held {
    pub token: OwnerToken,
    pub job: ClaimedJob,
    pub nested: Vec<(LockKey, OwnerToken)>,
    pub progress: Option<Progress>,
}

impl Deref for Held {
    type Target = ClaimedJob;
    fn deref(&self) -> &ClaimedJob {
        &self.job
    }
}

impl Held {
    /// The locks it holds, as the executor would name them.
    pub fn locks(&self) -> Vec<LockKey> {
        match (&self.job.how, &self.job.envelope) {
            (LockOutcome::Acquired | LockOutcome::Waited(_), Ok(envelope)) => envelope.header.locks.clone(),
            _ => Vec::new(),
        }
    }

    pub fn settle(&self, verdict: Verdict) -> Settle {
        let outcome = match &verdict {
            Verdict::Done => Outcome::Done,
            Verdict::Schedule { .. } => Outcome::Retry,
            Verdict::Return | Verdict::Rekey(_) => Outcome::Returned,
            Verdict::Bury { .. } => Outcome::Dead,
        };
        Settle {
            id: self.job.id,
            token: self.token.clone(),
            locks: self.locks(),
            keep: None,
            nested: self.nested.clone(),
            unique: self.job.envelope.as_ref().ok().and_then(|envelope| envelope.header.unique.clone()),
            riding: None,
            verdict,
            record: AttemptRecord {
                job: self.job.id.to_string(),
                task: "take".into(),
                number: self.job.tries.charged + 1,
                worker: "test".into(),
                lock_keys: self.locks().iter().map(LockKey::as_str).collect::<Vec<_>>().join(","),
                fence: self.job.fence,
                lock: LockWord::None,
                waited_ms: 0,
                ran_ms: 1,
                outcome,
                error: String::new(),
                nested: Vec::new(),
                nested_omitted: 0,
            },
        }
    }

    pub fn renewed(&self) -> RenewedAttempt {
        RenewedAttempt {
            id: self.job.id,
            locks: self.locks(),
            nested: self.nested.clone(),
            progress: self.progress.clone(),
        }
    }
}

/// A charged retry after `delay`.
pub fn retry_after(delay: Duration) -> Verdict {
    Verdict::Schedule {
        delay,
        charge: Charge::Attempt,
        error: Some("it failed".into()),
    }
}

pub fn discard() -> Verdict {
    Verdict::Bury {
        reason: "no use".into(),
        death: Death::Discarded,
        charge: Charge::Attempt,
    }
}

/// A turn that claims at most `want` from these queues.
pub fn wants(want: usize, queues: &[&str]) -> Turn {
    Turn {
        want,
        queues: queues.iter().map(|name| queue(name)).collect(),
        lease: LEASE,
        log: true,
        ..Turn::default()
    }
}

impl Worker {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            id: ProcessId::random(),
            store,
            open: Mutex::default(),
        }
    }

    /// Sends a turn of slot 0, keeping account of what is finished.
    pub async fn turn(&self, mut turn: Turn) -> (Vec<Held>, TurnReply) {
        turn.finished.extend(self.answered(&turn.settles));
        let reply = self.store.turn(&self.id, 0, turn).await.expect("a turn");
        let mut held = Vec::new();
        if let Some(claim) = &reply.claim {
            assert!(!claim.jobs.is_empty(), "a claim has at least one job");
            self.open.lock().expect("no panic").push((claim.token.clone(), claim.jobs.len()));
            held.extend(claim.jobs.iter().map(|job| Held {
                token: claim.token.clone(),
                job: job.clone(),
                nested: Vec::new(),
                progress: None,
            }));
        }
        (held, reply)
    }

    /// Counts settles off their claims; answers the claims that are finished by them.
    fn answered(&self, settles: &[Settle]) -> Vec<OwnerToken> {
        let mut open = self.open.lock().expect("no panic");
        for settle in settles {
            if let Some((_, left)) = open.iter_mut().find(|(token, _)| *token == settle.token) {
                *left = left.saturating_sub(1);
            }
        }
        let finished = open.iter().filter(|(_, left)| *left == 0).map(|(token, _)| token.clone()).collect();
        open.retain(|(_, left)| *left > 0);
        finished
    }

    /// Claims up to `want` from queue `q`.
    pub async fn claim(&self, want: usize) -> Vec<Held> {
        self.turn(wants(want, &["q"])).await.0
    }

    /// Claims from queue `q` what must be exactly one job.
    pub async fn claim_one(&self) -> Held {
        let mut held = self.claim(1).await;
        assert_eq!(held.len(), 1, "one job to claim");
        held.remove(0)
    }

    /// Claims up to `want` from queue `q`, suspects as allowed.
    pub async fn claim_suspects(&self, want: usize, suspects: Suspects) -> (Vec<Held>, More) {
        let turn = Turn {
            suspects,
            ..wants(want, &["q"])
        };
        let (held, reply) = self.turn(turn).await;
        (held, reply.more)
    }

    /// Looks (when the last look is old), and claims nothing.
    pub async fn look(&self) {
        self.turn(wants(0, &["q"])).await;
    }

    pub async fn settle(&self, held: &Held, verdict: Verdict) -> SettleAnswer {
        self.send(held.settle(verdict)).await
    }

    pub async fn send(&self, settle: Settle) -> SettleAnswer {
        let turn = Turn {
            settles: vec![settle],
            ..wants(0, &[])
        };
        self.turn(turn).await.1.settled.remove(0)
    }

    pub async fn done(&self, held: &Held) {
        assert_eq!(self.settle(held, Verdict::Done).await, SettleAnswer::Accepted);
    }

    /// Renews these attempts, which must be of one claim.
    pub async fn renew(&self, attempts: &[&Held]) -> Vec<Renewed> {
        let renewal = Renewal {
            token: attempts[0].token.clone(),
            lease: LEASE,
            attempts: attempts.iter().map(|held| held.renewed()).collect(),
        };
        let mut answers = self.store.renew(vec![renewal]).await.expect("a renewal");
        answers.remove(0).attempts
    }
}
