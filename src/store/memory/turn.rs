//! The turn: settle, free, look, claim.

use super::settle::Freed;
use super::state::State;
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::{LOOK, SETTLES_MAX};
use crate::names::ProcessId;
use crate::store::turn::{Turn, TurnReply};

pub(super) fn check(turn: &Turn) -> Result<(), Error> {
    if turn.settles.len() > SETTLES_MAX {
        return Err(Error::Internal {
            what: format!("a turn of {} settles, more than {SETTLES_MAX}", turn.settles.len()),
        });
    }
    Ok(())
}

impl State {
    pub fn turn(&mut self, worker: &ProcessId, slot: usize, turn: Turn, sent_at: LeaseInstant) -> TurnReply {
        let mut freed = Freed::default();
        let mut settled = Vec::with_capacity(turn.settles.len());
        for settle in &turn.settles {
            let answer = self.settle(settle, &mut freed);
            if turn.log {
                self.log.settled(settle.record.clone(), &answer);
            }
            settled.push(answer);
        }
        self.free_all(freed);
        for token in &turn.finished {
            self.finish(token);
        }
        if self.now >= self.last_look + LOOK || self.last_look > self.now {
            self.look(turn.log);
        }
        let (claim, more, put_off) = self.claim(worker, slot, &turn, sent_at);
        TurnReply {
            settled,
            claim,
            more,
            put_off,
        }
    }

    /// Drops the row of a claim whose every attempt was answered for. One that still owns a job lapses instead.
    fn finish(&mut self, token: &crate::names::OwnerToken) {
        let owns = |row: &super::state::ClaimRow| row.jobs.iter().any(|(id, _)| self.owners.get(id) == Some(token));
        if self.claims.get(token).is_some_and(|row| !owns(row)) {
            self.claims.remove(token);
        }
    }
}
