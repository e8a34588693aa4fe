//! The two stores under test: one verb for both, then a comparison of all that can be seen; at the end, the drain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use linchpin::names::{Fence, JobId, LockKey, OwnerToken, ProcessId, QueueName, TaskName, UniqueKey};
use linchpin::store::lease::AcquireAnswer;
use linchpin::store::new_job::{Accepted, Body, Due, Header, NewJob, OnBusy, Priority, Unique};
use linchpin::store::turn::ClaimedJob;
use linchpin::store::view::{CancelAnswer, RetryAnswer, State};

use super::compare::same;
use super::verb::{Asked, KEYS, QUEUES, Verb, WORKERS, Wanted};
use crate::engine::Engine;
use crate::support::may_stay;

pub type Checked<T = ()> = Result<T, String>;

/// Verbs between two comparisons of every job and of the log; lists and counts are compared after each.
const COMPARE_EVERY: usize = 4;

pub struct Pair {
    pub stores: [Arc<dyn Engine>; 2],
    pub workers: Vec<ProcessId>,
    pub jobs: Vec<JobId>,
    /// The latest attempts, ended or not, so that late settles are tried too.
    pub held: Vec<Held>,
    /// Attempts not yet answered for, by the number of their claim.
    pub open: BTreeMap<usize, (BTreeSet<JobId>, [OwnerToken; 2])>,
    pub claims: usize,
    /// The job at its last strike that a turn met last and might not claim.
    pub put_off: Option<JobId>,
    /// Every fence that each store gave, in order.
    pub fences: [Vec<Fence>; 2],
    /// Every list as it was before the last verb, and that verb.
    pub lists: BTreeMap<String, Vec<JobId>>,
    pub last: String,
    pub verbs: usize,
    /// What happened at all.
    pub seen: BTreeSet<&'static str>,
}

/// An attempt, with the token that each store gave it.
#[derive(Clone)]
pub struct Held {
    pub claim: usize,
    pub tokens: [OwnerToken; 2],
    pub job: ClaimedJob,
}

/// Runs one call on both stores and unwraps its results.
macro_rules! both {
    ($pair:expr, |$store:ident, $side:ident| $call:expr) => {{
        let mut answers = Vec::new();
        for ($side, engine) in $pair.stores.iter().enumerate() {
            let $store = engine.store();
            answers.push($call.await.map_err(|error| format!("store {}: {error}", $side))?);
        }
        <[_; 2]>::try_from(answers).map_err(|_| "two stores give two answers".to_owned())?
    }};
}
pub(super) use both;

pub fn queue(index: usize) -> QueueName {
    QueueName::new(format!("q{}", index % QUEUES)).expect("a valid name")
}

pub fn lock(index: usize) -> LockKey {
    LockKey::new(format!("k{}", index % KEYS)).expect("a valid key")
}

pub fn half_past(seconds: u64) -> Duration {
    Duration::from_millis(seconds * 1000 + 500)
}

impl Pair {
    pub fn new(stores: [Arc<dyn Engine>; 2]) -> Self {
        Self {
            stores,
            workers: (0..WORKERS).map(|_| ProcessId::random()).collect(),
            jobs: Vec::new(),
            held: Vec::new(),
            open: BTreeMap::new(),
            claims: 0,
            put_off: None,
            fences: Default::default(),
            lists: BTreeMap::new(),
            last: String::new(),
            verbs: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Applies a verb to both stores and compares.
    pub async fn apply(&mut self, verb: &Verb) -> Checked {
        self.last = format!("{verb:?}");
        match verb {
            Verb::Enqueue(wanted) => self.enqueue(wanted).await?,
            Verb::Turn(asked) => self.turn(asked).await?,
            Verb::Renew { held, unnamed } => self.renew(*held, *unnamed).await?,
            Verb::Surrender(ending) => self.surrender(ending).await?,
            Verb::Effects(effects) => self.apply_effects(effects).await?,
            Verb::Acquire { key, who } => self.acquire(&lock(*key), *who).await?,
            Verb::Release { key, who } => {
                let token = self.own_token(*who);
                same("release", both!(self, |store, _side| store.release(&lock(*key), &token)))?;
            }
            Verb::Pause(index) => drop(both!(self, |store, _side| store.pause(&queue(*index)))),
            Verb::Resume(index) => drop(both!(self, |store, _side| store.resume(&queue(*index)))),
            Verb::Advance(seconds) => self.advance(*seconds).await?,
            Verb::LoseLock(key) => self.lose_lock(*key).await,
            Verb::ForeignLock(key) => {
                for engine in &self.stores {
                    engine.plant_foreign_lock(&lock(*key)).await;
                }
            }
            Verb::Cancel(index) | Verb::Delete(index) | Verb::Retry(index) | Verb::DuplicateEntry(index) | Verb::Spoil(index) => {
                if let Some(id) = self.jobs.get(index % self.jobs.len().max(1)).copied() {
                    self.operate(verb, id).await?;
                }
            }
        }
        self.verbs += 1;
        match self.verbs % COMPARE_EVERY {
            0 => self.compare().await,
            _ => self.compare_counts().await.map(drop),
        }
    }

    async fn operate(&mut self, verb: &Verb, id: JobId) -> Checked {
        match verb {
            Verb::Cancel(_) => {
                if same("cancel", both!(self, |store, _side| store.cancel(id)))? == CancelAnswer::Requested {
                    self.seen.insert("Requested");
                }
            }
            Verb::Delete(_) => drop(same("delete", both!(self, |store, _side| store.delete(id)))?),
            Verb::Retry(_) => {
                if same("retry", both!(self, |store, _side| store.retry(id)))? == RetryAnswer::Ready {
                    self.seen.insert("Retried");
                }
            }
            Verb::Spoil(_) => {
                let [view, _] = both!(self, |store, _side| store.job(id));
                let Some(view) = view.filter(|view| view.state == State::Ready) else {
                    return Ok(());
                };
                // Locks and the unique key of a spoiled job would be left to their times.
                if view
                    .envelope
                    .is_ok_and(|envelope| envelope.header.locks.is_empty() && envelope.header.unique.is_none())
                {
                    for engine in &self.stores {
                        engine.spoil(id).await;
                    }
                }
            }
            _ => {
                // Where an unreadable job belongs is not known from outside.
                let [view, _] = both!(self, |store, _side| store.job(id));
                if view.is_some_and(|view| view.envelope.is_ok()) {
                    for engine in &self.stores {
                        engine.duplicate_entry(id).await;
                    }
                }
            }
        }
        Ok(())
    }

    async fn enqueue(&mut self, wanted: &Wanted) -> Checked {
        let unique = wanted.unique.map(|(key, digest, kept)| Unique {
            key: UniqueKey::new(format!("u{key}")).expect("a valid key"),
            digest: [digest; 16],
            kept_for: kept.then_some(half_past(6)),
        });
        let job = NewJob {
            id: JobId::random(),
            header: Header {
                queue: queue(wanted.queue),
                priority: Priority::from_digit(b'0' + wanted.priority).expect("0 to 2"),
                locks: (0..KEYS).filter(|key| wanted.locks >> key & 1 == 1).map(lock).collect(),
                on_busy: [OnBusy::Wait, OnBusy::Skip, OnBusy::Fail, OnBusy::Snooze(half_past(1))][usize::from(wanted.on_busy % 4)],
                wait_timeout: wanted.wait_timeout.map(half_past),
                unique: unique
                    .as_ref()
                    .filter(|unique| unique.kept_for.is_none())
                    .map(|unique| unique.key.clone()),
                crash_limit: wanted.crash_limit,
                expires_in: wanted.expires_in.map(half_past),
            },
            body: Body {
                task: TaskName::new("take").expect("a valid name"),
                retries: None,
                timeout: None,
                lock_at_least: None,
                tick: None,
                args: Bytes::from_static(b"{}"),
            },
            due: wanted.delay.map_or(Due::Now, |delay| Due::After(half_past(delay))),
            unique,
        };
        let producer = self.workers[0].clone();
        match same("enqueue", both!(self, |store, _side| store.enqueue(&producer, vec![job.clone()])))?.first() {
            Some(Accepted::New) => self.jobs.push(job.id),
            Some(Accepted::Existing(_)) => drop(self.seen.insert("Existing")),
            Some(Accepted::Conflict(_)) => drop(self.seen.insert("Conflict")),
            None => return Err("no answer to an enqueue".into()),
        }
        Ok(())
    }

    fn own_token(&self, who: usize) -> OwnerToken {
        OwnerToken::new(&self.workers[who], 9, 1)
    }

    async fn acquire(&mut self, key: &LockKey, who: usize) -> Checked {
        let token = self.own_token(who);
        let mut ranks = Vec::new();
        for side in 0..2 {
            let answer = self.stores[side].store().acquire(key, &token, half_past(12)).await;
            ranks.push(match answer {
                Ok(AcquireAnswer::Acquired { fence, .. }) => Some(Some(self.rank(side, fence)?)),
                Ok(AcquireAnswer::Busy) => Some(None),
                Err(_) => None,
            });
        }
        same("acquire", [ranks[0], ranks[1]])?;
        Ok(())
    }

    /// Which of all fences that the store gave this one is. A new one must be greater than every other.
    pub fn rank(&mut self, side: usize, fence: Fence) -> Checked<usize> {
        let fences = &mut self.fences[side];
        if let Some(rank) = fences.iter().position(|given| *given == fence) {
            return Ok(rank);
        }
        if fences.last().is_some_and(|last| *last > fence) {
            return Err(format!("store {side}: fence {fence} after {:?}", fences.last()));
        }
        fences.push(fence);
        Ok(fences.len() - 1)
    }

    async fn lose_lock(&self, key: usize) {
        for engine in &self.stores {
            engine.lose_lock(&lock(key)).await;
        }
    }

    pub async fn advance(&self, seconds: u64) -> Checked {
        both!(self, |store, _side| store.advance(Duration::from_secs(seconds)));
        Ok(())
    }

    /// Lets three workers run all that is left: every job must come to its end, and leave nothing behind.
    pub async fn drain(&mut self) -> Checked {
        for index in 0..QUEUES {
            both!(self, |store, _side| store.resume(&queue(index)));
        }
        for key in 0..KEYS {
            self.lose_lock(key).await;
        }
        let mut pending = 0;
        for round in 0..120 {
            self.advance(2).await?;
            self.settle_and_claim(round % WORKERS).await?;
            pending = self.compare_counts().await?.pending();
            // Long enough for everything that was due to come to light.
            if pending == 0 && round > 15 {
                self.compare().await?;
                return self.nothing_is_left().await;
            }
        }
        let mut stuck = Vec::new();
        for id in &self.jobs {
            let [view, _] = both!(self, |store, _side| store.job(*id));
            stuck.extend(view.filter(|view| !matches!(view.state, State::Dead { .. })));
        }
        Err(format!("{pending} jobs are stuck: {stuck:#?}"))
    }

    async fn nothing_is_left(&mut self) -> Checked {
        for id in self.jobs.clone() {
            both!(self, |store, _side| store.delete(id));
        }
        self.advance(3600).await?;
        for _ in 0..4 {
            let asked = Asked {
                worker: 0,
                want: 100,
                queues: 2,
                suspects: 0,
                soon: false,
                settles: Vec::new(),
            };
            self.turn(&asked).await?;
        }
        for (side, keys) in both!(self, |store, _side| store.keys()).into_iter().enumerate() {
            let left: Vec<_> = keys.into_iter().map(|(name, _)| name).filter(|name| !may_stay(name)).collect();
            if !left.is_empty() {
                return Err(format!("store {side}: left after everything was deleted: {left:?}"));
            }
        }
        Ok(())
    }
}
