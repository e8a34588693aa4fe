//! Renew: a claim's deadline and its locks move on, for what is still its own.

use super::settle::Freed;
use super::state::{Lock, State};
use crate::clock::LeaseInstant;
use crate::limits::{grace, lock_ttl};
use crate::names::OwnerToken;
use crate::store::lease::{Renewal, RenewalAnswer, Renewed, RenewedAttempt};

impl State {
    pub fn renew(&mut self, renewal: Renewal, sent_at: LeaseInstant) -> RenewalAnswer {
        let Renewal { token, lease, attempts } = renewal;
        if self.claims.get(&token).is_none_or(|row| row.deadline <= self.now) {
            let attempts = attempts.iter().map(|_| Renewed::Lost).collect();
            return RenewalAnswer { sent_at, attempts };
        }
        let until = self.now + lock_ttl(lease);
        let answers: Vec<Renewed> = attempts.iter().map(|attempt| self.renew_attempt(attempt, &token, until)).collect();
        if answers.iter().any(|answer| *answer != Renewed::Lost) {
            let deadline = self.now + lease + grace(lease);
            if let Some(row) = self.claims.get_mut(&token) {
                row.deadline = deadline;
            }
        }
        self.send_unnamed_back(&token, &attempts);
        RenewalAnswer {
            sent_at,
            attempts: answers,
        }
    }

    fn renew_attempt(&mut self, attempt: &RenewedAttempt, token: &OwnerToken, until: std::time::Duration) -> Renewed {
        let owned = self.owners.get(&attempt.id) == Some(token);
        if !owned || !self.holds_all(&attempt.locks, &attempt.nested, token) {
            return Renewed::Lost;
        }
        for key in attempt.locks.iter().chain(attempt.nested.iter().map(|(key, _)| key)) {
            if let Some(Lock::Held { until: held_until, .. }) = self.locks.get_mut(key) {
                *held_until = until;
            }
        }
        if let (Some(progress), Some(row)) = (&attempt.progress, self.claims.get_mut(token)) {
            row.progress.insert(attempt.id, (until, progress.clone()));
        }
        match self.cancels.contains_key(&attempt.id) {
            true => Renewed::Cancelled,
            false => Renewed::Renewed,
        }
    }

    /// What the claim owns and its worker does not know of goes back to the head: the reply that brought it was lost.
    fn send_unnamed_back(&mut self, token: &OwnerToken, named: &[RenewedAttempt]) {
        let Some(row) = self.claims.get(token) else { return };
        let is_named = |id| named.iter().any(|attempt| attempt.id == id);
        let unnamed: Vec<_> = row.jobs.iter().map(|(id, _)| *id).filter(|id| !is_named(*id)).collect();
        let mut freed = Freed::default();
        for id in unnamed
            .into_iter()
            .rev()
            .filter(|id| self.owners.get(id) == Some(token))
            .collect::<Vec<_>>()
        {
            self.send_back(id, token, &mut freed);
        }
        self.free_all(freed);
    }
}
