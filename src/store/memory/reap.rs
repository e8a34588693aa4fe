//! Reap: a claim that nobody renewed is taken back.

use super::settle::Freed;
use super::state::State;
use crate::names::{JobId, OwnerToken};
use crate::store::settle::Death;

impl State {
    /// Takes back the claim that lapsed first, if one did: its jobs to the heads of their queues in their order, as
    /// suspects, then their locks to the next waiters. Answers whether there are more.
    pub fn reap(&mut self, log: bool) -> bool {
        let mut lapsed: Vec<_> = self
            .claims
            .iter()
            .filter(|(_, row)| row.deadline <= self.now)
            .map(|(token, row)| (row.deadline, token.clone()))
            .collect();
        lapsed.sort();
        let more = lapsed.len() > 1;
        let Some((_, token)) = lapsed.into_iter().next() else { return more };
        let Some(row) = self.claims.remove(&token) else { return more };
        let is_owned = |id: &JobId| self.owners.get(id) == Some(&token);
        let owned: Vec<_> = row.jobs.iter().copied().filter(|(id, _)| is_owned(id)).collect();
        let mut freed = Freed::default();
        for (id, fence) in &owned {
            if let Some(job) = self.jobs.get(id) {
                freed.add(&job.locks(), &token);
                if log {
                    self.log.crashed(*id, job, self.tries_of(*id).charged + 1, &token, *fence);
                }
            }
        }
        for (id, _) in row.jobs.into_iter().rev() {
            if self.owners.get(&id) == Some(&token) {
                self.take_back(id, &token);
            } else if self.is_ready(id) {
                // Its entry may be lost where rows were: one more does no harm.
                self.push_head(id);
            }
        }
        self.free_all(freed);
        more
    }

    fn take_back(&mut self, id: JobId, token: &OwnerToken) {
        self.owners.remove(&id);
        let mark = self.cancels.remove(&id);
        if mark.is_some() {
            self.change_tries(id, |tries| tries.alone = false);
            return self.go_back(id, mark);
        }
        let tries = self.tries_of(id);
        let last = self.at_last_strike(id, tries.strikes);
        let strike = tries.suspect && (!last || tries.alone);
        self.change_tries(id, |tries| {
            tries.strikes += u32::from(strike);
            tries.suspect = true;
            tries.alone = false;
            tries.reaped_from = Some((token.clone(), strike));
        });
        if strike && last {
            self.change_tries(id, |tries| {
                tries.suspect = false;
                tries.reaped_from = None;
            });
            let reason = format!("ended its worker {} times, the last time alone", tries.strikes + 1);
            return self.bury(id, Death::Crashed, &reason);
        }
        self.go_back(id, None);
    }
}
