//! The end of an attempt as the store is told of it.

use std::sync::Arc;
use std::time::Duration;

use super::effects::Riding;
use crate::names::{Fence, JobId, LockKey, OwnerToken, TaskName, UniqueKey};

/// One ended attempt. Applied only if `owners[id]` is `token` and every lock named still carries its token.
#[derive(Debug, Clone, PartialEq)]
pub struct Settle {
    /// The job.
    pub id: JobId,
    /// The claim that owns it.
    pub token: OwnerToken,
    /// The task's locks, held under `token`.
    pub locks: Vec<LockKey>,
    /// When the settle is accepted, the task's locks are not released: they stay under the token for this long from now on and end by
    /// themselves.
    pub keep: Option<Duration>,
    /// Nested holds of the attempt, each under a token of its own.
    pub nested: Vec<(LockKey, OwnerToken)>,
    /// The job's unique key, freed when the job ends.
    pub unique: Option<UniqueKey>,
    /// What becomes of the job.
    pub verdict: Verdict,
    /// What is done with it, when the verdict is [`Verdict::Done`]: never without anything in it.
    pub riding: Option<Arc<Riding>>,
    /// What is logged.
    pub record: AttemptRecord,
}

/// What becomes of a job whose attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is done: removed, its unique key freed, watchers told.
    Done,
    /// It is scheduled after `delay`.
    Schedule {
        /// How long from now on the server's clock.
        delay: Duration,
        /// What it costs.
        charge: Charge,
        /// Kept with the job, already cut.
        error: Option<String>,
    },
    /// It goes back to the head of its queue, uncharged.
    Return,
    /// It goes back to the head of its queue, uncharged, under these locks (the task's own rendering of its keys).
    Rekey(Vec<LockKey>),
    /// It is dead.
    Bury {
        /// Why, for people, already cut.
        reason: String,
        /// What kind of death.
        death: Death,
        /// Whether this attempt is charged.
        charge: Charge,
    },
}

impl Verdict {
    /// The same, with a reason behind the text that it keeps of the job.
    pub(crate) fn because(&self, why: &str) -> Self {
        let mut because = self.clone();
        match &mut because {
            Verdict::Schedule { error, .. } => error.get_or_insert_default().push_str(why),
            Verdict::Bury { reason, .. } => reason.push_str(why),
            Verdict::Done | Verdict::Return | Verdict::Rekey(_) => {}
        }
        because
    }
}

/// What an attempt costs the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// Nothing.
    None,
    /// One attempt.
    Attempt,
    /// Nothing, but it counts towards the mismatch window.
    Mismatch,
}

/// Kinds of death.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Death {
    /// Retries used up.
    Exhausted,
    /// The handler said so.
    Discarded,
    /// An operator or the application cancelled it.
    Cancelled,
    /// It was not started in time.
    Expired,
    /// It ended its worker too often.
    Crashed,
    /// It cannot be read or run (undecodable, unknown task, foreign lock).
    Unfit,
}

impl Death {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Death::Exhausted => "exhausted",
            Death::Discarded => "discarded",
            Death::Cancelled => "cancelled",
            Death::Expired => "expired",
            Death::Crashed => "crashed",
            Death::Unfit => "unfit",
        }
    }
}

/// What stands before the reason for which effects were refused.
pub(crate) const EFFECTS_REFUSED: &str = "its effects were refused: ";

/// The store's answer to a settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleAnswer {
    /// Applied.
    Accepted,
    /// Not valid any more: nothing was applied.
    Lost,
    /// A check of what rides it failed: nothing of that was applied, and the job went the way of the fallback.
    Refused(Refusal),
    /// An effect failed that had passed every check: those before it are applied, and the job is dead.
    Broken(Refusal),
}

/// Why effects were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In words; empty where a resend was answered.
    pub reason: String,
    /// The job is dead now.
    pub dead: bool,
}

/// One attempt, as logged.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AttemptRecord {
    /// The job.
    pub job: String,
    /// Its task.
    pub task: TaskText,
    /// Which attempt of the job (charged ones before it + 1).
    pub number: u32,
    /// Who ran it.
    pub worker: String,
    /// The lock keys, joined by `,`; empty for none.
    pub lock_keys: String,
    /// Its fence.
    pub fence: Fence,
    /// How the lock was got: `acquired`, `waited`, `busy`, `gave_up`, or empty.
    pub lock: LockWord,
    /// How long it was parked.
    pub waited_ms: u64,
    /// How long the handler ran; the locks were held for as long.
    pub ran_ms: u64,
    /// How it ended. When the settle was refused, readers see `lease_lost` instead.
    pub outcome: Outcome,
    /// The error, cut.
    pub error: String,
    /// What became of the locks that its handler took or tried to take, in the order it first happened; at most
    /// [`NESTED_RECORDED`](crate::limits::NESTED_RECORDED) of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<NestedRecord>,
    /// How many outcomes of nested locks are not listed.
    #[serde(default)]
    pub nested_omitted: u32,
}

/// One outcome of one lock inside an attempt. A lock that the attempt still held at its end is freed by its settle, without a
/// word here.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NestedRecord {
    /// The lock's key.
    pub key: String,
    /// What happened.
    pub lock: LockWord,
    /// How often.
    pub times: u32,
}

/// A task's name in the log: text, since it may be unknown here.
pub type TaskText = String;

impl AttemptRecord {
    /// Makes it say what the store answered to its settle.
    pub(crate) fn answered(&mut self, answer: &SettleAnswer) {
        let (what, refusal) = match answer {
            SettleAnswer::Accepted => return,
            SettleAnswer::Lost => {
                self.outcome = Outcome::LeaseLost;
                return;
            }
            SettleAnswer::Refused(refusal) => (EFFECTS_REFUSED, refusal),
            SettleAnswer::Broken(refusal) => ("its effects stopped half way: ", refusal),
        };
        self.outcome = if refusal.dead { Outcome::Dead } else { Outcome::Retry };
        self.error = format!("{what}{}", refusal.reason);
    }

    /// The task as a name, when it is one.
    pub fn task_name(&self) -> Option<TaskName> {
        TaskName::new(&self.task).ok()
    }
}

/// Outcomes of a lock in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockWord {
    /// The job has no lock.
    None,
    /// It was free.
    Acquired,
    /// The attempt held it already.
    Reentered,
    /// After being parked.
    Waited,
    /// It was held and the job does not wait.
    Busy,
    /// It was held for the whole `wait_timeout`.
    GaveUp,
    /// It was the attempt's and was not any more; of nested locks only.
    Lost,
    /// The handler freed it before the attempt's end; of nested locks only.
    Released,
}

impl LockWord {
    /// Its word; empty where the job has no lock.
    pub fn as_str(self) -> &'static str {
        match self {
            LockWord::None => "",
            LockWord::Acquired => "acquired",
            LockWord::Reentered => "reentered",
            LockWord::Waited => "waited",
            LockWord::Busy => "busy",
            LockWord::GaveUp => "gave_up",
            LockWord::Lost => "lost",
            LockWord::Released => "released",
        }
    }
}

/// Outcomes of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The handler succeeded.
    Done,
    /// The lock was busy and the task skips then.
    Skipped,
    /// The handler failed.
    Retry,
    /// It took longer than its timeout.
    TimedOut,
    /// It ignored cancellation or its timeout and was surrendered.
    Stuck,
    /// The handler panicked.
    Panicked,
    /// The lock was busy.
    Busy,
    /// The handler asked for a later run.
    Snoozed,
    /// Handed back without having run to its end.
    Returned,
    /// Its worker ended with it.
    Crashed,
    /// Its lease was lost.
    LeaseLost,
    /// It is dead: discarded, retries used up, unfit, expired.
    Dead,
    /// It was cancelled.
    Cancelled,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 13] = [
        Outcome::Done,
        Outcome::Skipped,
        Outcome::Retry,
        Outcome::TimedOut,
        Outcome::Stuck,
        Outcome::Panicked,
        Outcome::Busy,
        Outcome::Snoozed,
        Outcome::Returned,
        Outcome::Crashed,
        Outcome::LeaseLost,
        Outcome::Dead,
        Outcome::Cancelled,
    ];

    /// Its word, as in logs and in the attempts log.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Skipped => "skipped",
            Outcome::Retry => "retry",
            Outcome::TimedOut => "timed_out",
            Outcome::Stuck => "stuck",
            Outcome::Panicked => "panicked",
            Outcome::Busy => "busy",
            Outcome::Snoozed => "snoozed",
            Outcome::Returned => "returned",
            Outcome::Crashed => "crashed",
            Outcome::LeaseLost => "lease_lost",
            Outcome::Dead => "dead",
            Outcome::Cancelled => "cancelled",
        }
    }
}
