//! What a schedule is: when it ticks, which job a tick enqueues, and what happens when ticks are missed or overlap.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{Cron, Every, Timing, Zone};
use crate::error::{Error, Invalid};
use crate::job::Job;
use crate::limits::{CATCHUP_WINDOW, DELAY_MAX, LEASE_MAX, SCHEDULE_ARGS_MAX_BYTES, TICKS_KEPT_MAX};
use crate::names::{QueueName, ScheduleName, TaskName};
use crate::store::new_job::Priority;

/// What happens to ticks that came while nobody could fire them: the server or all workers were away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// One job for the latest of them, which learns how many there were.
    #[default]
    FireOnce,
    /// None, unless the latest is at most a minute late.
    Skip,
    /// A job for each, up to this many (1 to 100); of more the oldest are dropped.
    FireAll {
        /// The most.
        limit: u32,
    },
}

/// What happens to a tick while the job of the tick before it, retries included, has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is skipped.
    #[default]
    Skip,
    /// It waits for that end; while one waits, others are skipped.
    QueueOne,
    /// It waits for that end, in a line of up to this many (1 to 100); beyond, it is dropped.
    QueueAll {
        /// The most that wait.
        limit: u32,
    },
    /// Its job is enqueued all the same.
    Allow,
    /// That job is cancelled; this one starts when it has ended.
    Replace,
}

/// When a schedule ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
    Cron { line: String, tz: String },
    Every(String),
}

/// A schedule without its name: canonical, so that equal definitions are equal text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definition {
    pub when: When,
    pub task: String,
    pub args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_at_least_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    pub missed: Missed,
    pub overlap: Overlap,
    pub catchup_ms: u64,
    pub jitter_ms: u64,
    pub spread_ms: u64,
}

/// A schedule: its name is its identity. Nothing is checked before it is handed to a client or a worker, which name everything that is wrong.
///
/// ```
/// use linchpin::schedule::{Overlap, Schedule};
/// use linchpin::{TaskResult, task};
///
/// #[task]
/// async fn report(shop: String) -> TaskResult {
///     Ok(())
/// }
///
/// let nightly = Schedule::cron("nightly", "0 3 * * *")
///     .tz("Europe/Berlin")
///     .job(report { shop: "north".into() })
///     .overlap(Overlap::QueueOne);
/// assert_eq!(nightly.name(), "nightly");
/// ```
#[derive(Debug, Clone)]
#[must_use = "a schedule ticks only once it is handed to a client or a worker"]
pub struct Schedule {
    name: String,
    definition: Definition,
    /// Higher goes before lower in a rolling deploy.
    pub(crate) generation: Option<u64>,
    /// Its job is a job's own type: it has the arguments that the task takes.
    typed: bool,
    problems: Vec<Invalid>,
}

impl Schedule {
    fn new(name: impl Into<String>, when: When) -> Self {
        Self {
            name: name.into(),
            definition: Definition {
                when,
                task: String::new(),
                args: Map::new(),
                queue: None,
                priority: None,
                retries: None,
                timeout_ms: None,
                lock_at_least_ms: None,
                expires_in_ms: None,
                missed: Missed::default(),
                overlap: Overlap::default(),
                catchup_ms: CATCHUP_WINDOW.as_millis() as u64,
                jitter_ms: 0,
                spread_ms: 0,
            },
            generation: None,
            typed: false,
            problems: Vec::new(),
        }
    }

    /// Ticks by a crontab line, see [`Cron`]; in UTC, unless [`Schedule::tz`] says otherwise.
    pub fn cron(name: impl Into<String>, line: impl Into<String>) -> Self {
        let (line, tz) = (line.into(), Zone::UTC.name().to_owned());
        Self::new(name, When::Cron { line, tz })
    }

    /// Ticks by an even period counted from 1970, see [`Every`]: `30s`, `15m`, `6h`, `1d`.
    pub fn every(name: impl Into<String>, period: impl Into<String>) -> Self {
        Self::new(name, When::Every(period.into()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_typed(&self) -> bool {
        self.typed
    }

    /// The zone whose clock the crontab line reads: an IANA name. Default `UTC`.
    pub fn tz(mut self, zone: impl Into<String>) -> Self {
        match &mut self.definition.when {
            When::Cron { tz, .. } => *tz = zone.into(),
            When::Every(period) => self.problems.push(Invalid::new(
                "tz",
                zone.into(),
                format!("none: `every = \"{period}\"` counts from 1970 in UTC, use a crontab line for the time of a place"),
            )),
        }
        self
    }

    /// The job of every tick. A `unique` template of its task does not count here: a tick has its own identity.
    pub fn job<J: Job>(mut self, job: J) -> Self {
        match serde_json::to_value(&job) {
            Ok(Value::Object(args)) => self.definition.args = args,
            _ => self.problems.push(Invalid::new(
                "arguments",
                J::SPEC.name,
                "one JSON object: a struct with named fields",
            )),
        }
        self.definition.task = J::SPEC.name.to_owned();
        self.typed = true;
        self
    }

    /// The job of every tick by its task's name and arguments, for tasks that are not in this program.
    pub fn task(mut self, task: impl Into<String>, args: Map<String, Value>) -> Self {
        self.definition.task = task.into();
        self.definition.args = args;
        self.typed = false;
        self
    }

    /// The queue in place of the task's.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.definition.queue = Some(queue.into());
        self
    }

    /// The priority in place of the task's.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.definition.priority = Some(priority);
        self
    }

    /// Charged retries in place of the task's.
    pub fn retries(mut self, retries: u32) -> Self {
        self.definition.retries = Some(retries);
        self
    }

    /// The limit of an attempt in place of the task's.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.definition.timeout_ms = Some(timeout.as_millis() as u64);
        self
    }

    /// Keeps the locks of a tick's job until they were held for this long, up to 1 h, once the job is done: for jobs that end so quickly that
    /// another holder of the lock, by a clock of its own, may come for the same thing. The task has to have a lock. Default: they are free with
    /// the job's end.
    pub fn lock_at_least(mut self, least: Duration) -> Self {
        self.definition.lock_at_least_ms = Some(least.as_millis() as u64);
        self
    }

    /// Buries a tick's job when no attempt has started after this long.
    pub fn expires_in(mut self, after: Duration) -> Self {
        self.definition.expires_in_ms = Some(after.as_millis() as u64);
        self
    }

    /// What happens to missed ticks. Default [`Missed::FireOnce`].
    pub fn missed(mut self, missed: Missed) -> Self {
        self.definition.missed = missed;
        self
    }

    /// What happens while the job of the tick before has not ended. Default [`Overlap::Skip`].
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.definition.overlap = overlap;
        self
    }

    /// Ticks that are later than this are skipped, whatever [`Schedule::missed`] says. Default 24 h.
    pub fn catchup_window(mut self, window: Duration) -> Self {
        self.definition.catchup_ms = window.as_millis() as u64;
        self
    }

    /// Fires each tick later by up to this long, by a hash of name and tick: the same on every replica. Default none.
    pub fn jitter(mut self, up_to: Duration) -> Self {
        self.definition.jitter_ms = up_to.as_millis() as u64;
        self
    }

    /// Fires all ticks later by up to this long, by a hash of the name: spreads schedules that share a line. Default none.
    pub fn spread(mut self, up_to: Duration) -> Self {
        self.definition.spread_ms = up_to.as_millis() as u64;
        self
    }

    /// In a rolling deploy the definition of the highest generation counts. Default: when the worker that brings it started, by the store's clock.
    pub fn generation(mut self, generation: u64) -> Self {
        self.generation = Some(generation);
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is wrong.
    pub(crate) fn check(self) -> Result<(ScheduleName, Definition), Error> {
        let Self {
            name,
            definition,
            mut problems,
            ..
        } = self;
        let checked = ScheduleName::new(&name);
        definition.check(&mut problems);
        match (checked, problems.is_empty()) {
            (Ok(name), true) => Ok((name, definition)),
            (Err(Error::Invalid(mut more)), _) => {
                more.append(&mut problems);
                Err(Error::Invalid(more))
            }
            (Err(other), _) => Err(other),
            (Ok(_), false) => Err(Error::Invalid(problems)),
        }
    }
}

impl Definition {
    fn check(&self, problems: &mut Vec<Invalid>) {
        match &self.when {
            When::Cron { line, tz } => {
                if let Err(error) = Cron::parse(line) {
                    problems.push(Invalid::new("cron", line, error.to_string()));
                }
                problems.extend(Zone::parse(tz).err());
            }
            When::Every(period) => problems.extend(Every::parse(period).err()),
        }
        let mut note = |error: Option<Error>| {
            if let Some(Error::Invalid(more)) = error {
                problems.extend(more);
            }
        };
        note(match self.task.is_empty() {
            true => Some(Invalid::new("task", "none", "a task's name: which job does a tick enqueue?").into()),
            false => TaskName::new(&self.task).err(),
        });
        note(self.queue.as_ref().and_then(|queue| QueueName::new(queue).err()));
        let args = serde_json::to_vec(&self.args).map(|args| args.len()).unwrap_or(usize::MAX);
        if args > SCHEDULE_ARGS_MAX_BYTES {
            let allowed = format!("at most {SCHEDULE_ARGS_MAX_BYTES} bytes as JSON: keep the data elsewhere");
            problems.push(Invalid::new("arguments", format!("{args} bytes"), allowed));
        }
        let limits = [
            (
                "missed",
                matches!(self.missed, Missed::FireAll { limit } if !(1..=TICKS_KEPT_MAX).contains(&limit)),
            ),
            (
                "overlap",
                matches!(self.overlap, Overlap::QueueAll { limit } if !(1..=TICKS_KEPT_MAX).contains(&limit)),
            ),
        ];
        for (what, wrong) in limits {
            if wrong {
                problems.push(Invalid::new(what, "limit", format!("1 to {TICKS_KEPT_MAX}")));
            }
        }
        let most = DELAY_MAX.as_millis() as u64;
        if let Some(ms) = self.lock_at_least_ms.filter(|ms| !(1..=LEASE_MAX.as_millis() as u64).contains(ms)) {
            problems.push(Invalid::new("lock_at_least", format!("{ms} ms"), "1 ms to 1 h"));
        }
        for (what, ms, least) in [
            ("catchup_window", Some(self.catchup_ms), 1),
            ("jitter", Some(self.jitter_ms), 0),
            ("spread", Some(self.spread_ms), 0),
            ("timeout", self.timeout_ms, 1),
            ("expires_in", self.expires_in_ms, 1),
        ] {
            if let Some(ms) = ms.filter(|ms| !(least..=most).contains(ms)) {
                let days = DELAY_MAX.as_secs() / 86_400;
                problems.push(Invalid::new(what, format!("{ms} ms"), format!("from {least} ms to {days} days")));
            }
        }
    }

    /// How it ticks. Of a definition that was checked; of another, it does not.
    pub(crate) fn timing(&self) -> Option<Timing> {
        match &self.when {
            When::Cron { line, tz } => Some(Timing::Cron(Cron::parse(line).ok()?, Zone::parse(tz).ok()?)),
            When::Every(period) => Every::parse(period).ok().map(Timing::Every),
        }
    }

    /// When a tick fires: by jitter and spread later than it is. Milliseconds since 1970.
    pub(crate) fn fires_at(&self, name: &ScheduleName, tick: i64) -> u64 {
        let late = part_of(self.jitter_ms, &[name.as_str().as_bytes(), &tick.to_le_bytes()])
            + part_of(self.spread_ms, &[name.as_str().as_bytes()]);
        tick.max(0) as u64 * 1000 + late
    }
}

/// A part of a span, by a hash.
fn part_of(span: u64, of: &[&[u8]]) -> u64 {
    if span == 0 {
        return 0;
    }
    let mut hash = Sha256::new();
    of.iter().for_each(|bytes| hash.update(bytes));
    let digest = hash.finalize();
    let mut number = [0; 8];
    number.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(number) % (span + 1)
}
