//! What of two stores must be the same.

use std::fmt::Debug;

use linchpin::store::settle::Death;
use linchpin::store::turn::{ClaimedJob, Envelope, LockOutcome, Undecodable};
use linchpin::store::view::{Census, JobView, State};

use super::pair::{Checked, Pair, both};

pub fn same<T: PartialEq + Debug>(what: &str, answers: [T; 2]) -> Checked<T> {
    let [a, b] = answers;
    match a == b {
        true => Ok(a),
        false => Err(format!("{what}: {a:?} and {b:?}")),
    }
}

fn same_envelope(a: &Result<Envelope, Undecodable>, b: &Result<Envelope, Undecodable>) -> Checked {
    match (a, b) {
        (Err(_), Err(_)) => Ok(()),
        _ => same("envelope", [a, b]).map(drop),
    }
}

fn same_state(a: &State, b: &State) -> Checked {
    match (a, b) {
        // Each store has its own tokens.
        (State::Active { cancel_requested: a, .. }, State::Active { cancel_requested: b, .. }) => {
            same("cancel requested", [a, b]).map(drop)
        }
        _ => same("state", [a, b]).map(drop),
    }
}

impl Pair {
    pub fn compare_claimed(&mut self, a: &ClaimedJob, b: &ClaimedJob) -> Checked {
        same_envelope(&a.envelope, &b.envelope)?;
        same("tries", [&a.tries, &b.tries])?;
        same("expired", [a.expired, b.expired])?;
        same("alone", [a.alone, b.alone])?;
        same("how the locks were got", [&a.how, &b.how])?;
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
            (a.alone, "Alone"),
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
        let census = self.compare_counts().await?;
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
        self.compare_user_keys().await
    }

    /// Compares the lists and the census.
    pub async fn compare_counts(&mut self) -> Checked<Census> {
        let lists = [self.stores[0].lists().await, self.stores[1].lists().await];
        self.lists = same("lists", lists)?;
        same("census", both!(self, |store, _side| store.census()))
    }

    fn compare_views(&mut self, a: &JobView, b: &JobView) -> Checked {
        same_state(&a.state, &b.state)?;
        same_envelope(&a.envelope, &b.envelope)?;
        same("tries", [&a.tries, &b.tries])?;
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

    /// A failure's message: what was done last to which lists, and where every job is in each store now. Jobs are written
    /// by their place among those made.
    pub async fn report(&self, error: &str) -> String {
        let mut text = format!("{error}\nlast: {}\nbefore: {:?}\n", self.last, self.lists);
        for (side, engine) in self.stores.iter().enumerate() {
            text += &format!("store {side} after: {:?}\n", engine.lists().await);
            text += &format!("store {side}: {:?}\n", engine.store().census().await);
            for id in &self.jobs {
                let view = engine.store().job(*id).await.ok().flatten();
                text += &format!("store {side}, {id}: {:?}\n", view.map(|view| (view.state, view.tries)));
            }
        }
        for (place, id) in self.jobs.iter().enumerate() {
            text = text.replace(&id.to_string(), &format!("#{place}"));
        }
        text
    }
}
