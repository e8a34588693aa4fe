//! Settle: the end of an attempt is applied if the attempt is valid, and lost if not.

use super::state::{Lock, Mark, State};
use crate::limits::ERRORS_KEPT;
use crate::names::{JobId, LockKey, OwnerToken};
use crate::store::settle::{Charge, Death, Refusal, Settle, SettleAnswer, Verdict};
use crate::store::view::Ended;

/// What ended attempts held, to be freed after all of them are settled.
#[derive(Default)]
pub(super) struct Freed(pub Vec<(LockKey, OwnerToken)>);

impl Freed {
    pub fn add(&mut self, keys: &[LockKey], token: &OwnerToken) {
        self.0.extend(keys.iter().map(|key| (key.clone(), token.clone())));
    }
}

impl State {
    pub fn settle(&mut self, settle: &Settle, freed: &mut Freed) -> SettleAnswer {
        let id = settle.id;
        let owned = self.owners.get(&id) == Some(&settle.token);
        let valid = owned && self.holds_all(&settle.locks, &settle.nested, &settle.token);
        match settle.keep {
            Some(time) if valid => {
                for key in &settle.locks {
                    self.keep(key, &settle.token, time);
                }
            }
            // settled before: what it kept then stays
            Some(_) if !owned => {}
            _ => freed.add(&settle.locks, &settle.token),
        }
        freed.0.extend(settle.nested.iter().cloned());
        if !owned {
            self.forgive(id, &settle.token);
            return SettleAnswer::Lost;
        }
        self.owners.remove(&id);
        let mark = self.cancels.remove(&id);
        if !valid {
            self.change_tries(id, |tries| tries.alone = false);
            self.go_back(id, mark);
            return SettleAnswer::Lost;
        }
        self.change_tries(id, |tries| {
            tries.suspect = false;
            tries.strikes = 0;
            tries.alone = false;
            tries.reaped_from = None;
        });
        let refusal = match (&settle.verdict, &settle.riding) {
            (Verdict::Done, Some(riding)) => self.ride(id, riding).err().map(|reason| (reason, &riding.fallback)),
            _ => None,
        };
        match refusal {
            None => {
                self.apply(id, &settle.verdict, mark);
                SettleAnswer::Accepted
            }
            Some((reason, fallback)) => {
                let fallback = fallback.because(&reason);
                self.apply(id, &fallback, mark);
                let dead = matches!(fallback, Verdict::Bury { .. });
                SettleAnswer::Refused(Refusal { reason, dead })
            }
        }
    }

    fn apply(&mut self, id: JobId, verdict: &Verdict, mark: Option<Mark>) {
        match verdict {
            Verdict::Done => return self.end(id, Ended::Done),
            Verdict::Schedule { charge, error, .. } => self.charge(id, *charge, error.as_deref()),
            Verdict::Bury { charge, .. } => self.charge(id, *charge, None),
            Verdict::Rekey(locks) => self.rekey(id, locks),
            Verdict::Return => {}
        }
        let is_buried = matches!(verdict, Verdict::Bury { .. });
        if mark.is_some() || (!is_buried && !self.is_readable(id)) {
            return self.go_back(id, mark);
        }
        match verdict {
            Verdict::Done => {}
            Verdict::Schedule { delay, .. } => self.schedule(id, self.now.saturating_add(*delay)),
            Verdict::Return | Verdict::Rekey(_) => self.push_head(id),
            Verdict::Bury { reason, death, .. } => self.bury(id, *death, reason),
        }
    }

    fn rekey(&mut self, id: JobId, locks: &[LockKey]) {
        if let Some(Ok(envelope)) = self.jobs.get_mut(&id).map(|job| &mut job.envelope) {
            envelope.header.locks = locks.to_vec();
            envelope.header.locks.sort();
            envelope.header.locks.dedup();
        }
    }

    /// Puts a job that ended without a verdict back at the head, or ends it where that was asked for.
    pub fn go_back(&mut self, id: JobId, mark: Option<Mark>) {
        match mark {
            None if !self.is_readable(id) => self.bury(id, Death::Unfit, "the stored job cannot be read"),
            None => self.push_head(id),
            Some(Mark::Cancel) => self.bury(id, Death::Cancelled, "cancelled"),
            Some(Mark::Delete) => self.end(id, Ended::Deleted),
        }
    }

    fn charge(&mut self, id: JobId, charge: Charge, error: Option<&str>) {
        let now = self.now;
        self.change_tries(id, |tries| {
            match charge {
                Charge::Mismatch => {
                    tries.mismatches += 1;
                    tries.mismatched_since.get_or_insert(now);
                }
                Charge::None | Charge::Attempt => {
                    tries.mismatches = 0;
                    tries.mismatched_since = None;
                }
            }
            if charge == Charge::Attempt {
                tries.charged += 1;
            }
            if let Some(error) = error {
                tries.errors.push(error.into());
                if tries.errors.len() > ERRORS_KEPT {
                    tries.errors.remove(0);
                }
            }
        });
    }

    /// Clears the suspicion and takes back the strike of a reap whose worker turns out to live.
    fn forgive(&mut self, id: JobId, token: &OwnerToken) {
        if !self.tries.contains_key(&id) {
            return;
        }
        self.change_tries(id, |tries| {
            if let Some((reaped_from, struck)) = &tries.reaped_from
                && reaped_from == token
            {
                tries.strikes -= u32::from(*struck);
                tries.suspect = false;
                tries.reaped_from = None;
            }
        });
    }

    pub fn holds_all(&self, locks: &[LockKey], nested: &[(LockKey, OwnerToken)], token: &OwnerToken) -> bool {
        locks.iter().all(|key| self.holds(key, token)) && nested.iter().all(|(key, token)| self.holds(key, token))
    }

    fn holds(&self, key: &LockKey, token: &OwnerToken) -> bool {
        matches!(self.lock_of(key), Some(Lock::Held { token: holder, .. }) if holder == token)
    }

    /// Settles one stuck attempt outside of any turn.
    pub fn surrender(&mut self, settle: Settle) -> SettleAnswer {
        let mut freed = Freed::default();
        let answer = self.settle(&settle, &mut freed);
        // A repeated one is answered `Lost` too: only the first is an entry.
        if answer == SettleAnswer::Accepted {
            self.log.settled(settle.record, &answer);
        }
        self.free_all(freed);
        answer
    }
}
