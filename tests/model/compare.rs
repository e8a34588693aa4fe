//! What of two stores must be the same. Times may differ by what the machine's clock drifts between two calls.

use std::fmt::Debug;
use std::time::Duration;

use linchpin::store::settle::Death;
use linchpin::store::turn::{ClaimedJob, Envelope, LockOutcome, Tries, Undecodable};
use linchpin::store::view::{JobView, State};

use super::pair::{Checked, Pair, both};

/// How much later one store's clock may be read than the other's.
const DRIFT: Duration = Duration::from_millis(450);

pub fn same<T: PartialEq + Debug>(what: &str, answers: [T; 2]) -> Checked<T> {
    let [a, b] = answers;
    match a == b {
        true => Ok(a),
        false => Err(format!("{what}: {a:?} and {b:?}")),
    }
}

fn close(what: &str, a: Duration, b: Duration) -> Checked {
    match a.abs_diff(b) <= DRIFT {
        true => Ok(()),
        false => Err(format!("{what}: {a:?} and {b:?}")),
    }
}

fn same_envelope(a: &Result<Envelope, Undecodable>, b: &Result<Envelope, Undecodable>) -> Checked {
    match (a, b) {
        (Err(_), Err(_)) => Ok(()),
        _ => same("envelope", [a, b]).map(drop),
    }
}

fn same_tries(a: &Tries, b: &Tries) -> Checked {
    close("mismatched for", a.mismatched_for, b.mismatched_for)?;
    let counts = |tries: &Tries| Tries {
        mismatched_for: Duration::ZERO,
        ..*tries
    };
    same("tries", [counts(a), counts(b)]).map(drop)
}

fn same_state(a: &State, b: &State) -> Checked {
    match (a, b) {
        (State::Scheduled { due_in: a }, State::Scheduled { due_in: b }) => close("due in", *a, *b),
        (State::Parked { behind: a, waited: x }, State::Parked { behind: b, waited: y }) => {
            same("parked behind", [a, b])?;
            close("parked for", *x, *y)
        }
        (State::Active { cancel_requested: a, .. }, State::Active { cancel_requested: b, .. }) => {
            same("cancel requested", [a, b]).map(drop)
        }
        (State::Dead { death: a, reason: x }, State::Dead { death: b, reason: y }) => {
            same("death", [a, b])?;
            match a {
                Death::Discarded => same("reason", [x, y]).map(drop),
                _ => Ok(()),
            }
        }
        _ => same("state", [a, b]).map(drop),
    }
}

impl Pair {
    pub fn compare_claimed(&mut self, a: &ClaimedJob, b: &ClaimedJob) -> Checked {
        same_envelope(&a.envelope, &b.envelope)?;
        same_tries(&a.tries, &b.tries)?;
        same("expired", [a.expired, b.expired])?;
        same("alone", [a.alone, b.alone])?;
        match (&a.how, &b.how) {
            (LockOutcome::Waited(a), LockOutcome::Waited(b)) | (LockOutcome::GaveUp(a), LockOutcome::GaveUp(b)) => {
                close("waited", *a, *b)?;
            }
            (a, b) => drop(same("how the locks were got", [a, b])?),
        }
        self.seen.insert(match &a.how {
            LockOutcome::None => "No lock",
            LockOutcome::Acquired => "Acquired",
            LockOutcome::Waited(_) => "Waited",
            LockOutcome::Busy(_) => "Bare busy",
            LockOutcome::GaveUp(_) => "Gave up",
            LockOutcome::Foreign(_) => "Bare foreign",
        });
        for (happened, word) in [
            (a.expired, "Expired"),
            (a.envelope.is_err(), "Undecodable"),
            (a.tries.suspect, "Suspect"),
        ] {
            if happened {
                self.seen.insert(word);
            }
        }
        Ok(())
    }

    /// Compares every job, the census and the log, and the census with the jobs.
    pub async fn compare(&mut self) -> Checked {
        let mut counts = [0u64; 5];
        for id in self.jobs.clone() {
            let [a, b] = both!(self, |store, _side| store.job(id));
            let (a, b) = match (a, b) {
                (None, None) => continue,
                (Some(a), Some(b)) => (a, b),
                (a, b) => return Err(format!("job {id}: {a:?} and {b:?}")),
            };
            self.compare_views(&a, &b).map_err(|error| format!("job {id}: {error}"))?;
            counts[4] += 1;
            match a.state {
                State::Scheduled { .. } => counts[0] += 1,
                State::Parked { .. } => counts[1] += 1,
                State::Active { .. } => counts[2] += 1,
                State::Dead { .. } => counts[3] += 1,
                State::Ready => {}
            }
        }
        let census = same("census", both!(self, |store, _side| store.census()))?;
        let counted = [census.scheduled, census.parked, census.active, census.dead, census.jobs];
        same("jobs and census", [counts, counted])?;
        let log = both!(self, |store, _side| store.attempts(0, 100_000));
        // By job: the order within one reap is the engine's own.
        let log = log.map(|entries| {
            let mut by_job: Vec<_> = entries.into_iter().map(|entry| (entry.record.job, entry.record.outcome)).collect();
            by_job.sort_by(|(a, _), (b, _)| a.cmp(b));
            by_job
        });
        same("log", log)?;
        Ok(())
    }

    fn compare_views(&mut self, a: &JobView, b: &JobView) -> Checked {
        same_state(&a.state, &b.state)?;
        same_envelope(&a.envelope, &b.envelope)?;
        same_tries(&a.tries, &b.tries)?;
        same("errors", [&a.errors, &b.errors])?;
        match &a.state {
            State::Scheduled { .. } => drop(self.seen.insert("Scheduled")),
            State::Parked { .. } => drop(self.seen.insert("Parked")),
            State::Dead {
                death: Death::Cancelled, ..
            } => drop(self.seen.insert("Dead cancelled")),
            State::Dead { death: Death::Crashed, .. } => drop(self.seen.insert("Dead crashed")),
            _ => {}
        }
        Ok(())
    }

    /// Where every job is in each store, for a failure's message.
    pub async fn states(&self) -> String {
        let mut lines = String::new();
        for id in &self.jobs {
            for (side, engine) in self.stores.iter().enumerate() {
                let view = engine.store().job(*id).await.ok().flatten();
                lines += &format!("{id} in store {side}: {:?}\n", view.map(|view| (view.state, view.tries)));
            }
        }
        lines
    }
}
