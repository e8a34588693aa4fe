//! Schedules: rows that are compared and set, and the jobs that come of it.

use std::time::Duration;

use super::state::{Place, State};
use crate::names::JobId;
use crate::store::new_job::Accepted;
use crate::store::schedules::{ScheduleRows, ScheduleStep, StepAnswer, Stepped, job_of};

impl State {
    pub fn schedule_rows(&self) -> ScheduleRows {
        let rows = self.schedules.iter().map(|(name, row)| {
            let lives = job_of(row).is_some_and(|id| self.job_lives(id));
            (name.clone(), row.clone(), lives)
        });
        ScheduleRows {
            now: whole_ms(self.now),
            version: self.schedules_version,
            rows: rows.collect(),
        }
    }

    pub fn step_schedule(&mut self, step: ScheduleStep) -> Stepped {
        Stepped {
            now: whole_ms(self.now),
            answer: self.step(step),
        }
    }

    fn step(&mut self, step: ScheduleStep) -> StepAnswer {
        let now = whole_ms(self.now);
        let row = self.schedules.get(&step.name).cloned();
        if row != step.expected {
            // as a resend is answered: no two steps write the same row
            return match row == step.new {
                true => StepAnswer::Done(vec![Accepted::New; step.jobs.len()]),
                false => StepAnswer::Lost(row),
            };
        }
        if step.from.is_some_and(|from| now < from) {
            return StepAnswer::Early;
        }
        if step.before.is_some_and(|before| now >= before) {
            return StepAnswer::Past;
        }
        if let Some(assumed) = step.previous_lives {
            let lives = row.as_deref().and_then(job_of).is_some_and(|id| self.job_lives(id));
            if lives != assumed {
                return StepAnswer::Previous(lives);
            }
        }
        match step.new {
            Some(new) => drop(self.schedules.insert(step.name, new)),
            None => drop(self.schedules.remove(&step.name)),
        }
        self.schedules_version += u64::from(step.tell);
        StepAnswer::Done(step.jobs.into_iter().map(|job| self.enqueue(job)).collect())
    }

    fn job_lives(&self, id: JobId) -> bool {
        self.jobs.contains_key(&id) && !matches!(self.places.get(&id), Some(Place::Dead { .. }))
    }
}

fn whole_ms(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
