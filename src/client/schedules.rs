//! Schedules at run time: define, list, pause, resume, run now, backfill, delete.

mod view;

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::named::Tasks;
use super::request::{Common, Request};
use super::{Client, Enqueued};
use crate::error::{Error, Invalid};
use crate::names::{JobId, ScheduleName, UniqueKey};
use crate::schedule::{Definition, Fate, Overlap, Row, Schedule, Tick};
use crate::store::new_job::{Accepted, NewJob, TickOf};
use crate::store::schedules::{ScheduleStep, StepAnswer};
use view::view;

pub use view::ScheduleView;

/// How often a change is tried again that others came before.
const TRIES: usize = 50;
/// Ticks that one backfill may enqueue.
const BACKFILL_MAX: usize = 1000;
/// How long the key of a run by hand is kept.
const RUN_KEY_KEPT: Duration = Duration::from_secs(24 * 3600);

/// What became of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    /// It was not there.
    New,
    /// It was another. What has passed counts no more: the next tick is the first of the new definition.
    Changed,
    /// It was there just so.
    Same,
}

/// What became of a run by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunAnswer {
    /// Its job was enqueued.
    Enqueued(JobId),
    /// A run under this key was enqueued before.
    Existing(JobId),
    /// Nothing was enqueued: the job of the tick before has not ended, and the schedule does not allow both.
    Overlap(JobId),
    /// There is no such schedule.
    Unknown,
}

impl Client {
    /// Defines a schedule, or changes it. Workers take note within 10 s. Never retroactive: the first tick is the next after now.
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is wrong, arguments that the task does not take among it; [`Error::Unreachable`].
    ///
    /// # Cancel safety
    /// Cancel safe: it was defined, or not.
    ///
    /// # Redis
    /// Two round trips, one more for a task by its name.
    pub async fn schedule(&self, schedule: Schedule) -> Result<Defined, Error> {
        let generation = schedule.generation;
        let typed = schedule.is_typed();
        let (name, definition) = schedule.check()?;
        if !typed {
            check_schedule(&self.tasks().await?, &definition)?;
        }
        let mut defined = Defined::Same;
        self.change(&name, |row, job, now_ms| {
            let generation = generation.unwrap_or(now_ms);
            let Some(row) = row else {
                defined = Defined::New;
                return Some(Some(Row::first(definition.clone(), false, generation, now_ms).write(None)));
            };
            if row.definition == definition && !row.brought {
                defined = Defined::Same;
                return None;
            }
            defined = Defined::Changed;
            Some(Some(row.edited(definition.clone(), false, generation, now_ms).write(job)))
        })
        .await?;
        Ok(defined)
    }

    /// Every schedule, by name.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    ///
    /// # Redis
    /// One round trip, two commands a schedule.
    pub async fn schedules(&self) -> Result<Vec<ScheduleView>, Error> {
        let read = self.store().schedules().await?;
        let now_ms = read.now.as_millis() as u64;
        let rows = read.rows.into_iter();
        Ok(rows.filter_map(|(name, text, lives)| view(name, &text, lives, now_ms)).collect())
    }

    /// One schedule.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what can be no name; [`Error::Unreachable`].
    pub async fn schedule_view(&self, name: &str) -> Result<Option<ScheduleView>, Error> {
        let name = ScheduleName::new(name)?;
        Ok(self.schedules().await?.into_iter().find(|view| view.name == name))
    }

    /// Pauses a schedule: its ticks are recorded as skipped until it is resumed, through deploys. Whether there is such a schedule.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what can be no name; [`Error::Unreachable`].
    pub async fn pause_schedule(&self, name: &str) -> Result<bool, Error> {
        self.set_paused(name, true).await
    }

    /// Resumes a schedule with its next tick after now; what has passed meanwhile is not made up for. Whether there is such a schedule.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what can be no name; [`Error::Unreachable`].
    pub async fn resume_schedule(&self, name: &str) -> Result<bool, Error> {
        self.set_paused(name, false).await
    }

    async fn set_paused(&self, name: &str, paused: bool) -> Result<bool, Error> {
        let mut found = false;
        self.change(&ScheduleName::new(name)?, |row, job, now_ms| {
            let mut row = row?;
            found = true;
            if row.paused == paused {
                return None;
            }
            row.paused = paused;
            if !paused {
                row.skip_to(now_ms);
            }
            Some(Some(row.write(job)))
        })
        .await?;
        Ok(found)
    }

    /// Deletes a schedule; jobs of ticks that have fired stay. A worker that brings it defines it anew when it starts. Whether it was there.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what can be no name; [`Error::Unreachable`].
    pub async fn delete_schedule(&self, name: &str) -> Result<bool, Error> {
        let mut found = false;
        let name = ScheduleName::new(name)?;
        self.change_text(&name, |text, _| {
            found |= text.is_some();
            text.map(|_| None)
        })
        .await?;
        Ok(found)
    }

    /// Enqueues a job of a schedule now, beside its ticks, which stay as they are. It counts as the schedule's latest job: unless `force`, it is
    /// refused while the one before has not ended, where the schedule does not allow both. A `key` makes it once within 24 h.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what can be no name or key, and when the task takes other arguments by now; [`Error::Unreachable`].
    pub async fn run_schedule(&self, name: &str, key: Option<&str>, force: bool) -> Result<RunAnswer, Error> {
        let name = ScheduleName::new(name)?;
        let key = key.map(|key| format!("run:{name}:{key}"));
        if let Some(key) = &key
            && let Some(holder) = self.store().unique_holder(&UniqueKey::new(key)?).await?
        {
            return Ok(RunAnswer::Existing(holder));
        }
        let tasks = self.tasks().await?;
        let read = self.store().schedules().await?;
        let now = read.now;
        let mut found = read.rows.into_iter().find(|row| row.0 == name).map(|row| (row.1, row.2));
        for _ in 0..TRIES {
            let Some((text, lives)) = found else {
                return Ok(RunAnswer::Unknown);
            };
            let (row, job) = Row::read(&text).ok_or_else(|| unreadable(&name))?;
            let obeys = !force && row.definition.overlap != Overlap::Allow;
            if let (true, true, Some(job)) = (obeys, lives, job) {
                return Ok(RunAnswer::Overlap(job));
            }
            let mut request = Request::scheduled(&tasks, &row.definition)?.with_limits(&row.definition);
            request.options.unique.clone_from(&key);
            request.options.unique_for = key.as_ref().map(|_| RUN_KEY_KEPT);
            let new = request.check(&mut Common::default())?;
            let id = new.id;
            let mut after = row.clone();
            after.note((now.as_secs()) as i64, Fate::ByHand, 0, Some(id), 1);
            let step = ScheduleStep {
                name: name.clone(),
                expected: Some(text.clone()),
                new: Some(after.write(Some(id))),
                from: None,
                before: None,
                previous_lives: obeys.then_some(false),
                tell: true,
                jobs: vec![new],
            };
            match self.store().step_schedule(step).await?.answer {
                StepAnswer::Done(accepted) => {
                    return Ok(match accepted.first() {
                        Some(Accepted::Existing(holder) | Accepted::Conflict(holder)) => RunAnswer::Existing(*holder),
                        _ => RunAnswer::Enqueued(id),
                    });
                }
                StepAnswer::Lost(now) => found = now.map(|text| (text, false)),
                StepAnswer::Previous(lives) => found = Some((text, lives)),
                StepAnswer::Early | StepAnswer::Past => found = Some((text, lives)),
            }
        }
        Err(contended(&name))
    }

    /// Enqueues the jobs of the ticks after `from` and up to `to`, whatever became of them; each under its tick's identity, so that one whose job has not ended
    /// is not enqueued again. At most 1,000 ticks. `None` when there is no such schedule.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what can be no name, more ticks, a span that ends before it begins or in the future, and when the task takes other arguments by
    /// now; [`Error::Unreachable`].
    pub async fn backfill_schedule(
        &self,
        name: &str,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Result<Option<Vec<(Tick, Enqueued)>>, Error> {
        let name = ScheduleName::new(name)?;
        let read = self.store().schedules().await?;
        let now = DateTime::from_timestamp_millis(read.now.as_millis() as i64).unwrap_or_default();
        if from >= to || to > now {
            return Err(Invalid::new(
                "span",
                format!("{from} to {to}"),
                "from an instant to a later one, none in the future",
            )
            .into());
        }
        let Some(row) = read.rows.iter().find(|row| row.0 == name) else {
            return Ok(None);
        };
        let (row, _) = Row::read(&row.1).ok_or_else(|| unreadable(&name))?;
        let timing = row.definition.timing().ok_or_else(|| unreadable(&name))?;
        let tasks = self.tasks().await?;
        let (mut ticks, mut requests, mut at) = (Vec::new(), Vec::new(), from);
        while let Ok(tick) = timing.next_after(at) {
            if tick.at > to {
                break;
            }
            if ticks.len() == BACKFILL_MAX {
                return Err(Invalid::new(
                    "span",
                    format!("{from} to {to}"),
                    format!("at most {BACKFILL_MAX} ticks: take it in parts"),
                )
                .into());
            }
            at = tick.at;
            let of = TickOf {
                schedule: name.clone(),
                at: tick.at,
                nominal: tick.nominal,
                missed: 0,
            };
            ticks.push(tick);
            requests.push(Request::scheduled(&tasks, &row.definition)?.of_tick(of, &row.definition));
        }
        let answers = self.enqueue_many(requests).await?;
        let answers: Result<Vec<_>, _> = answers.into_iter().collect();
        Ok(Some(ticks.into_iter().zip(answers?).collect()))
    }

    /// Compares and sets until nobody comes before. `change` answers `None` to leave all as it is, and `Some(None)` to remove the row.
    async fn change(
        &self,
        name: &ScheduleName,
        mut change: impl FnMut(Option<Row>, Option<JobId>, u64) -> Option<Option<String>>,
    ) -> Result<(), Error> {
        let mut strange = false;
        self.change_text(name, |text, now_ms| match text.map(Row::read) {
            Some(None) => {
                strange = true;
                None
            }
            Some(Some((row, job))) => change(Some(row), job, now_ms),
            None => change(None, None, now_ms),
        })
        .await?;
        if strange { Err(unreadable(name)) } else { Ok(()) }
    }

    async fn change_text(
        &self,
        name: &ScheduleName,
        mut change: impl FnMut(Option<&str>, u64) -> Option<Option<String>>,
    ) -> Result<(), Error> {
        let read = self.store().schedules().await?;
        let mut now = read.now;
        let mut text = read.rows.into_iter().find(|row| row.0 == *name).map(|row| row.1);
        for _ in 0..TRIES {
            let Some(new) = change(text.as_deref(), now.as_millis() as u64) else {
                return Ok(());
            };
            let step = ScheduleStep {
                name: name.clone(),
                expected: text.clone(),
                new,
                from: None,
                before: None,
                previous_lives: None,
                tell: true,
                jobs: Vec::new(),
            };
            let stepped = self.store().step_schedule(step).await?;
            now = stepped.now;
            match stepped.answer {
                StepAnswer::Lost(current) => text = current,
                _ => return Ok(()),
            }
        }
        Err(contended(name))
    }
}

impl Request {
    /// A job of a schedule: by what workers have told of its task; of one that nobody has told of, as it stands.
    pub(crate) fn scheduled(tasks: &Tasks, definition: &Definition) -> Result<Self, Error> {
        match tasks.get(&definition.task) {
            Some(manifest) => Self::named(&definition.task, manifest, &definition.args),
            None => Ok(Self::unchecked(&definition.task, &definition.args)),
        }
    }

    /// The job of a tick, as the store takes it.
    pub(crate) fn tick_job(tasks: &Tasks, definition: &Definition, tick: TickOf) -> Result<NewJob, Error> {
        Self::scheduled(tasks, definition)?
            .of_tick(tick, definition)
            .check(&mut Common::default())
    }
}

/// Checks that the task is there, and takes these arguments.
///
/// # Errors
/// [`Error::Invalid`].
pub(crate) fn check_schedule(tasks: &Tasks, definition: &Definition) -> Result<(), Error> {
    let manifest = tasks.find(&definition.task)?;
    if definition.lock_at_least_ms.is_some() && manifest.locks.is_empty() {
        let allowed = format!("a task with a lock: `{}` has none to keep", definition.task);
        return Err(Invalid::new("lock_at_least", "set", allowed).into());
    }
    Request::named(&definition.task, manifest, &definition.args).map(drop)
}

fn unreadable(name: &ScheduleName) -> Error {
    Error::Internal {
        what: format!("schedule {name}: its row cannot be read: a later release wrote it, act with that one"),
    }
}

fn contended(name: &ScheduleName) -> Error {
    Error::Unreachable {
        action: format!("schedule {name}: others changed it {TRIES} times meanwhile"),
        source: None,
    }
}
