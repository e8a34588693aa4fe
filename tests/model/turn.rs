//! Workers' verbs on both stores: the turn, renewals, surrenders.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use linchpin::names::{LockKey, OwnerToken};
use linchpin::store::effects::Riding;
use linchpin::store::lease::{Renewal, Renewed, RenewedAttempt};
use linchpin::store::settle::{AttemptRecord, Charge, Death, LockWord, Outcome, Settle, SettleAnswer, Verdict};
use linchpin::store::turn::{LockOutcome, More, Suspects, Turn, TurnReply};
use linchpin::store::view::Progress;

use super::compare::same;
use super::effects::of_case;
use super::pair::{Checked, Held, Pair, both, half_past, lock, queue};
use super::verb::{Asked, Ending};

const LEASE: Duration = Duration::from_secs(15);
/// Attempts remembered.
const REMEMBERED: usize = 12;

impl Held {
    fn locks(&self) -> Vec<LockKey> {
        match (&self.job.how, &self.job.envelope) {
            (LockOutcome::Acquired | LockOutcome::Waited(_), Ok(envelope)) => envelope.header.locks.clone(),
            _ => Vec::new(),
        }
    }

    /// Its settle under a token.
    fn settle(&self, token: &OwnerToken, verdict: Verdict) -> Settle {
        let outcome = match &verdict {
            Verdict::Done => Outcome::Done,
            Verdict::Schedule { .. } => Outcome::Retry,
            Verdict::Return | Verdict::Rekey(_) => Outcome::Returned,
            Verdict::Bury { .. } => Outcome::Dead,
        };
        Settle {
            id: self.job.id,
            token: token.clone(),
            locks: self.locks(),
            keep: None,
            nested: Vec::new(),
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
                ran_ms: 0,
                outcome,
                error: String::new(),
                nested: Vec::new(),
                nested_omitted: 0,
            },
        }
    }
}

fn verdict(number: u8) -> Verdict {
    let schedule = |seconds, charge, error: Option<&str>| Verdict::Schedule {
        delay: half_past(seconds),
        charge,
        error: error.map(str::to_owned),
    };
    match number {
        2 => schedule(1, Charge::Attempt, Some("it failed")),
        3 => schedule(3, Charge::None, None),
        4 => Verdict::Return,
        5 => Verdict::Rekey(vec![lock(1)]),
        6 => Verdict::Bury {
            reason: "no use".into(),
            death: Death::Discarded,
            charge: Charge::Attempt,
        },
        7 => schedule(2, Charge::Mismatch, Some("unknown task")),
        _ => Verdict::Done,
    }
}

impl Pair {
    /// The settle that an ending means, as each store has to be told it, and whose it is unless it is forged.
    fn settles(&self, ending: &Ending) -> Option<([Settle; 2], Option<Held>)> {
        let held = self.held.get(ending.held % self.held.len().max(1))?;
        let tokens = match ending.forged {
            true => &self.held.iter().find(|other| other.claim != held.claim)?.tokens,
            false => &held.tokens,
        };
        let riding = (!ending.effects.is_empty()).then(|| {
            Arc::new(Riding {
                effects: of_case(&self.case(), &ending.effects),
                jobs: Vec::new(),
                result: None,
                fallback: verdict(2),
            })
        });
        let settles = [0, 1].map(|side| {
            let mut settle = held.settle(&tokens[side], verdict(ending.verdict));
            if settle.verdict == Verdict::Done {
                settle.riding.clone_from(&riding);
            }
            settle
        });
        Some((settles, (!ending.forged).then(|| held.clone())))
    }

    fn answered(&mut self, held: &Held) {
        if let Some((ids, _)) = self.open.get_mut(&held.claim) {
            ids.remove(&held.job.id);
        }
    }

    pub async fn turn(&mut self, asked: &Asked) -> Checked {
        let mut endings: Vec<([Settle; 2], Option<Held>)> = Vec::new();
        for ending in &asked.settles {
            let Some((settles, held)) = self.settles(ending) else { continue };
            // A worker settles an attempt once a turn; a forged settle would free the locks of a true one under the same token.
            let clash = |(other, other_held): &([Settle; 2], Option<Held>)| {
                let forged = held.is_none() || other_held.is_none();
                other[0].id == settles[0].id || (forged && other[0].token == settles[0].token)
            };
            if !endings.iter().any(clash) {
                held.iter().for_each(|held| self.answered(held));
                endings.push((settles, held));
            }
        }
        let settles = [0, 1].map(|side: usize| endings.iter().map(|(settles, _)| settles[side].clone()).collect());
        self.send(asked, settles).await
    }

    /// A turn of worker `worker` that settles all that is held as done and claims what it can.
    pub async fn settle_and_claim(&mut self, worker: usize) -> Checked {
        let asked = Asked {
            worker,
            want: 4,
            queues: 2,
            suspects: 2,
            soon: false,
            settles: Vec::new(),
        };
        let held = std::mem::take(&mut self.held);
        let settles = [0, 1].map(|side| held.iter().map(|held| held.settle(&held.tokens[side], Verdict::Done)).collect());
        held.iter().for_each(|held| self.answered(held));
        self.send(&asked, settles).await
    }

    async fn send(&mut self, asked: &Asked, settles: [Vec<Settle>; 2]) -> Checked {
        self.last = format!("{asked:?} of {:?}", settles[0]);
        let after = if asked.soon {
            Duration::from_millis(10)
        } else {
            Duration::from_secs(1)
        };
        both!(self, |store, _side| store.advance(after));
        let (finished, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open).into_iter().partition(|(_, (ids, _))| ids.is_empty());
        self.open = open.into_iter().collect();
        let queues = match asked.queues {
            0 => vec![queue(0)],
            1 => vec![queue(1)],
            2 => vec![queue(0), queue(1)],
            _ => vec![queue(1), queue(0)],
        };
        let turn = |side: usize| Turn {
            settles: settles[side].clone(),
            finished: finished.iter().map(|(_, (_, tokens))| tokens[side].clone()).collect(),
            want: asked.want,
            queues: queues.clone(),
            took: Vec::new(),
            lease: LEASE,
            suspects: match (asked.suspects, self.put_off) {
                (0, _) => Suspects::None,
                (1, _) => Suspects::One,
                (3, Some(id)) => Suspects::Only(id),
                _ => Suspects::OneAlone,
            },
            log: true,
            counts: Vec::new(),
        };
        let worker = self.workers[asked.worker].clone();
        let [a, b] = both!(self, |store, side| store.turn(&worker, 0, turn(side)));
        for (answer, settle) in same("settles", [&a.settled, &b.settled])?.iter().zip(&settles[0]) {
            match answer {
                SettleAnswer::Accepted if settle.riding.is_some() => drop(self.seen.insert("Rode a settle")),
                SettleAnswer::Accepted => {}
                SettleAnswer::Lost => drop(self.seen.insert("Lost settle")),
                SettleAnswer::Refused(_) => drop(self.seen.insert("Refused settle")),
                SettleAnswer::Broken(refusal) => return Err(format!("effects broken: {refusal:?}")),
            }
        }
        if let Some(id) = same("put off", [a.put_off, b.put_off])? {
            self.put_off = Some(id);
            self.seen.insert("Put off");
        }
        match a.more {
            More::Yes => drop(self.seen.insert("More Yes")),
            More::OnlySuspects => drop(self.seen.insert("More OnlySuspects")),
            More::No | More::Unknown => {}
        }
        let censuses = both!(self, |store, _side| store.census());
        for (side, (reply, census)) in [&a, &b].into_iter().zip(censuses).enumerate() {
            let left = census
                .ready
                .iter()
                .find(|(queue, _)| queues.contains(queue) && !census.paused.contains(queue));
            if reply.more == More::No && left.is_some() {
                return Err(format!("store {side}: no more, but {left:?}"));
            }
        }
        self.claimed([a, b])
    }

    /// Compares two claims and remembers them as one.
    fn claimed(&mut self, replies: [TurnReply; 2]) -> Checked {
        let [a, b] = replies.map(|reply| reply.claim);
        same("claims", [a.is_some(), b.is_some()])?;
        let (Some(a), Some(b)) = (a, b) else { return Ok(()) };
        let ids = |jobs: &[linchpin::store::turn::ClaimedJob]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        let ids = same("claimed jobs", [ids(&a.jobs), ids(&b.jobs)])?;
        self.claims += 1;
        let tokens = [a.token, b.token];
        self.open
            .insert(self.claims, (ids.into_iter().collect::<BTreeSet<_>>(), tokens.clone()));
        for (a, b) in a.jobs.into_iter().zip(b.jobs) {
            let given = self.fences[0].len();
            same("fence of a claim", [self.rank(0, a.fence)?, self.rank(1, b.fence)?])?;
            same("fence is new", [given + 1, self.fences[0].len()])?;
            self.compare_claimed(&a, &b)?;
            self.held.push(Held {
                claim: self.claims,
                tokens: tokens.clone(),
                job: a,
            });
        }
        let forgotten = self.held.len().saturating_sub(REMEMBERED);
        self.held.drain(..forgotten);
        Ok(())
    }

    pub async fn surrender(&mut self, ending: &Ending) -> Checked {
        if let Some((mut settles, held)) = self.settles(ending) {
            // an attempt that is stuck hands nothing over
            settles.iter_mut().for_each(|settle| settle.riding = None);
            same("surrender", both!(self, |store, side| store.surrender(settles[side].clone())))?;
            held.iter().for_each(|held| self.answered(held));
        }
        Ok(())
    }

    /// Renews the claim of a held attempt, leaving out those of its other attempts that the mask names.
    pub async fn renew(&mut self, index: usize, unnamed: u8) -> Checked {
        self.advance(1).await?;
        let Some(held) = self.held.get(index % self.held.len().max(1)).cloned() else {
            return Ok(());
        };
        let Some((open, _)) = self.open.get(&held.claim).filter(|(ids, _)| ids.contains(&held.job.id)) else {
            return Ok(());
        };
        let named: Vec<Held> = self
            .held
            .iter()
            .filter(|other| other.claim == held.claim && open.contains(&other.job.id))
            .enumerate()
            .filter(|(place, other)| other.job.id == held.job.id || unnamed >> place & 1 == 0)
            .map(|(_, other)| other.clone())
            .collect();
        let renewal = |side: usize| Renewal {
            token: held.tokens[side].clone(),
            lease: LEASE,
            attempts: named
                .iter()
                .map(|held| RenewedAttempt {
                    id: held.job.id,
                    locks: held.locks(),
                    nested: Vec::new(),
                    progress: (unnamed & 1 == 1).then(|| Progress {
                        done: unnamed.into(),
                        total: 100,
                        note: "half|way".into(),
                    }),
                })
                .collect(),
        };
        let answers = both!(self, |store, side| store.renew(vec![renewal(side)]));
        let answers = same(
            "renewal",
            answers.map(|answers| answers.into_iter().flat_map(|answer| answer.attempts).collect::<Vec<_>>()),
        )?;
        for answer in &answers {
            self.seen.insert(match answer {
                Renewed::Renewed => "Renewed",
                Renewed::Cancelled => "Cancelled by renewal",
                Renewed::Lost => "Lost renewal",
            });
        }
        if answers.iter().any(|answer| *answer != Renewed::Lost)
            && let Some((ids, _)) = self.open.get_mut(&held.claim)
        {
            *ids = named.iter().map(|held| held.job.id).collect();
        }
        Ok(())
    }
}
