//! Claim: entries come off the heads of the lists and become attempts, or park, or are dropped.

use std::collections::{HashMap, HashSet, VecDeque};

use super::state::{ClaimRow, List, Lock, State};
use crate::clock::LeaseInstant;
use crate::limits::{CLAIM_MAX, OVER_MAX, grace, lock_ttl};
use crate::names::{Fence, JobId, LockKey, OwnerToken, ProcessId};
use crate::store::new_job::{OnBusy, Priority};
use crate::store::turn::{Claim, ClaimedJob, LockOutcome, More, Suspects, Turn};

/// A claim under way.
struct Taking {
    token: OwnerToken,
    suspects: Suspects,
    jobs: Vec<ClaimedJob>,
    /// Some list had as many entries as were asked for, not all of them suspects.
    full: bool,
    /// Suspects that were sent to the tail.
    deferred: Vec<JobId>,
    /// Claimed a job at its last strike: nothing else may join it.
    alone: bool,
    /// The first at its last strike that was not taken.
    put_off: Option<JobId>,
    /// Locks whose turn was given up here; they are handed over when all lists were read.
    passed: Vec<LockKey>,
}

/// What becomes of a ready job that a claim meets.
enum Way {
    /// It is claimed with its locks.
    Locked(LockOutcome),
    /// It is claimed without locks, for the executor to settle.
    Bare(LockOutcome),
    /// It parks behind this lock.
    Parks(LockKey),
}

impl State {
    pub fn claim(&mut self, worker: &ProcessId, slot: usize, turn: &Turn, sent_at: LeaseInstant) -> (Option<Claim>, More, Option<JobId>) {
        let want = turn.want.min(CLAIM_MAX);
        let mut taking = Taking {
            token: OwnerToken::new(worker, slot as u32, self.last_claim + 1),
            suspects: turn.suspects,
            jobs: Vec::new(),
            full: false,
            deferred: Vec::new(),
            alone: false,
            put_off: None,
            passed: Vec::new(),
        };
        match turn.suspects {
            Suspects::Only(id) => {
                if let Some(list) = self.list_of_lone(id, turn).filter(|_| want > 0) {
                    self.queues.entry(list.clone()).or_default().push_front(id);
                    self.claim_from(&list, 1, turn, &mut taking);
                }
            }
            _ => self.claim_in_order(want, turn, &mut taking),
        }
        let passed = std::mem::take(&mut taking.passed);
        // What that brings to the head of a list already read is left for the next turn.
        taking.full |= !passed.is_empty();
        for key in passed {
            self.hand_over(&key);
        }
        let more = match (
            want,
            taking.alone || matches!(turn.suspects, Suspects::Only(_)),
            taking.full,
            taking.deferred.is_empty(),
        ) {
            (0, ..) | (_, true, ..) => More::Unknown,
            (_, _, true, _) => More::Yes,
            (_, _, _, false) => More::OnlySuspects,
            (_, _, _, true) => More::No,
        };
        self.put_marks_back(turn, &taking.deferred);
        let put_off = taking.put_off;
        (self.write_claim(taking, turn, sent_at), more, put_off)
    }

    fn claim_in_order(&mut self, want: usize, turn: &Turn, taking: &mut Taking) {
        for queue in turn.queues.iter().filter(|_| want > 0) {
            for priority in [Priority::High, Priority::Normal, Priority::Low] {
                let left = want - taking.jobs.len();
                if left > 0 && !taking.alone && !self.paused.contains(queue) {
                    self.claim_from(&(queue.clone(), priority), left, turn, taking);
                }
            }
        }
    }

    /// The list of the job at its last strike that a worker has emptied itself for, if the job is to be had.
    fn list_of_lone(&self, id: JobId, turn: &Turn) -> Option<List> {
        let tries = self.tries.get(&id)?;
        let lone = self.is_ready(id) && tries.suspect && self.at_last_strike(id, tries.strikes) && !self.is_paused(id);
        self.list_of(id).filter(|list| lone && turn.queues.contains(&list.0))
    }

    /// Looks at the first `count` entries of a list, and at no others; struck suspects that it may not take do not count, so far as they stay in front.
    fn claim_from(&mut self, list: &List, count: usize, turn: &Turn, taking: &mut Taking) {
        let Some(entries) = self.queues.get_mut(list) else { return };
        let mut range: VecDeque<JobId> = entries.drain(..(count + OVER_MAX).min(entries.len())).collect();
        let mut looked_at = 0;
        let mut over = Vec::new();
        let mut seen = HashSet::new();
        let mut only_suspects = true;
        while !taking.alone
            && looked_at < count
            && let Some(id) = range.pop_front()
        {
            looked_at += 1;
            if !seen.insert(id) || !self.is_ready(id) {
                only_suspects = false;
            } else if self.must_defer(id, taking) {
                taking.deferred.push(id);
                if taking.put_off.is_none() && self.at_last_strike(id, self.tries_of(id).strikes) {
                    taking.put_off = Some(id);
                }
                if over.len() < OVER_MAX {
                    over.push(id);
                    looked_at -= 1;
                } else {
                    self.queues.entry(list.clone()).or_default().push_back(id);
                }
            } else {
                only_suspects = false;
                self.take(id, turn, taking);
            }
        }
        taking.full |= looked_at == count && !only_suspects;
        let entries = self.queues.entry(list.clone()).or_default();
        for id in over.into_iter().chain(range).rev() {
            entries.push_front(id);
        }
        self.queues.retain(|_, entries| !entries.is_empty());
    }

    /// Whether it is a struck suspect that this claim may not take.
    fn must_defer(&self, id: JobId, taking: &Taking) -> bool {
        let Some(tries) = self.tries.get(&id).filter(|tries| tries.suspect) else {
            return false;
        };
        let lastly = self.at_last_strike(id, tries.strikes);
        if !lastly && tries.strikes == 0 {
            return false;
        }
        let another = taking.jobs.iter().any(ClaimedJob::is_struck);
        match taking.suspects {
            Suspects::None => true,
            Suspects::One => another || lastly,
            Suspects::OneAlone | Suspects::Only(_) => another || (lastly && !taking.jobs.is_empty()),
        }
    }

    /// Whether the next strike would bury the job.
    pub fn at_last_strike(&self, id: JobId, strikes: u32) -> bool {
        let limit = self
            .jobs
            .get(&id)
            .and_then(|job| job.header())
            .map_or(1, |header| header.crash_limit);
        strikes + 1 >= limit
    }

    fn take(&mut self, id: JobId, turn: &Turn, taking: &mut Taking) {
        let Some(job) = self.jobs.get(&id) else { return };
        let locks = job.locks();
        let envelope = job.envelope.clone();
        let expired = job.expires_at.is_some_and(|at| at <= self.now);
        let way = self.way(id, &locks, expired);
        let turns = self.give_up_turns(id);
        let had_turn = !turns.is_empty();
        let (how, held) = match way {
            Way::Parks(key) => {
                self.park(id, &key, had_turn);
                taking.passed.extend(turns);
                return;
            }
            Way::Bare(how) => {
                taking.passed.extend(turns);
                (how, Vec::new())
            }
            Way::Locked(how) => (how, locks),
        };
        let fence = Fence(self.take_fences(1));
        let until = self.now + lock_ttl(turn.lease);
        for key in held {
            let token = taking.token.clone();
            self.locks.insert(key, Lock::Held { token, fence, until });
        }
        self.waits.remove(&id);
        self.owners.insert(id, taking.token.clone());
        let tries = self.tries_of(id);
        taking.alone = tries.suspect && self.at_last_strike(id, tries.strikes);
        if taking.alone {
            self.change_tries(id, |tries| tries.alone = true);
        }
        taking.jobs.push(ClaimedJob {
            id,
            fence,
            envelope,
            how,
            tries: tries.view(self.now),
            expired,
            alone: taking.alone,
        });
    }

    /// Looks at a ready job's locks in sorted order; the first that is not to be had decides.
    fn way(&self, id: JobId, locks: &[LockKey], expired: bool) -> Way {
        let waited = self.waits.get(&id).map(|wait| self.now.saturating_sub(wait.since));
        if self.waits.get(&id).is_some_and(|wait| wait.gave_up) {
            return Way::Bare(LockOutcome::GaveUp(waited.unwrap_or_default()));
        }
        if expired {
            return Way::Bare(LockOutcome::None);
        }
        let has_turn = self.has_turn(id, locks);
        for key in locks {
            match self.lock_of(key) {
                Some(Lock::Foreign) => return Way::Bare(LockOutcome::Foreign(key.clone())),
                None if has_turn || self.is_unclaimed(key) => {}
                _ if self.waits_when_busy(id) => return Way::Parks(key.clone()),
                _ => return Way::Bare(LockOutcome::Busy(key.clone())),
            }
        }
        Way::Locked(match waited {
            _ if locks.is_empty() => LockOutcome::None,
            Some(waited) => LockOutcome::Waited(waited),
            None => LockOutcome::Acquired,
        })
    }

    /// Whether it is this job's turn for one of its locks. It then takes every other that is free, also where that is
    /// offered to another: two jobs with a turn each for what both need would otherwise pass their turns round for ever.
    fn has_turn(&self, id: JobId, locks: &[LockKey]) -> bool {
        locks.iter().any(|key| self.next.get(key).is_some_and(|next| next.job == id))
    }

    /// Whether nobody waits for a lock, nor has the turn for it.
    fn is_unclaimed(&self, key: &LockKey) -> bool {
        !self.next.contains_key(key) && !self.parked.contains_key(key)
    }

    fn waits_when_busy(&self, id: JobId) -> bool {
        let header = self.jobs.get(&id).and_then(|job| job.header());
        header.is_some_and(|header| header.on_busy == OnBusy::Wait)
    }

    fn write_claim(&mut self, taking: Taking, turn: &Turn, sent_at: LeaseInstant) -> Option<Claim> {
        if taking.jobs.is_empty() {
            return None;
        }
        self.last_claim += 1;
        let row = ClaimRow {
            deadline: self.now + turn.lease + grace(turn.lease),
            jobs: taking.jobs.iter().map(|job| (job.id, job.fence)).collect(),
            progress: HashMap::new(),
        };
        self.claims.insert(taking.token.clone(), row);
        Some(Claim {
            token: taking.token,
            sent_at,
            jobs: taking.jobs,
        })
    }

    /// Puts back the mark of a queue that this worker took and did not empty but for suspects it may not have.
    fn put_marks_back(&mut self, turn: &Turn, deferred: &[JobId]) {
        for queue in turn.took.iter().filter(|queue| !self.paused.contains(queue)) {
            let left = |(list, entries): (&List, &VecDeque<JobId>)| list.0 == *queue && entries.iter().any(|id| !deferred.contains(id));
            if self.queues.iter().any(left) {
                self.marks.insert(queue.clone());
                self.armed = true;
            }
        }
    }
}
