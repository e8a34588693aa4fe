//! A job with its options, and the checks that it passes before anything is sent.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::client::digest;
use crate::client::enqueue::Enqueue;
use crate::error::{Error, Invalid};
use crate::job::{FollowUp, Job, JobSpec, lock_set};
use crate::limits::{DELAY_MAX, PAYLOAD_MAX_BYTES, PAYLOAD_MAX_DEPTH};
use crate::manifest::{self, Manifest};
use crate::names::{JobId, QueueName, TaskName, UniqueKey};
use crate::schedule::Definition;
use crate::store::new_job::{Body, Due, Header, NewJob, OnBusy, Priority, TickOf, Unique};

/// A job with its options. Made from a job, or from what [`Client::enqueue`](crate::Client::enqueue) returns.
#[derive(Debug)]
pub struct Request {
    terms: Terms,
    args: Result<Vec<u8>, serde_json::Error>,
    locks: Vec<String>,
    unique: Option<String>,
    tick: Option<TickOf>,
    pub(super) options: Options,
}

/// What one job sets beyond its task's options.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub due: Option<Due>,
    pub priority: Option<Priority>,
    pub queue: Option<String>,
    pub unique: Option<String>,
    pub unique_for: Option<Duration>,
    pub retries: Option<u32>,
    pub timeout: Option<Duration>,
    pub lock_at_least: Option<Duration>,
    pub expires_in: Option<Duration>,
}

/// What jobs enqueued together have in common: names checked once, and ids that follow each other.
#[derive(Debug, Default)]
pub(super) struct Common {
    task: Option<TaskName>,
    queue: Option<QueueName>,
    last: Option<JobId>,
}

impl Common {
    fn task(&mut self, name: &str) -> Result<TaskName, Error> {
        if let Some(task) = self.task.as_ref().filter(|task| task.as_str() == name) {
            return Ok(task.clone());
        }
        Ok(self.task.insert(TaskName::new(name)?).clone())
    }

    fn queue(&mut self, name: &str) -> Result<QueueName, Error> {
        if let Some(queue) = self.queue.as_ref().filter(|queue| queue.as_str() == name) {
            return Ok(queue.clone());
        }
        Ok(self.queue.insert(QueueName::new(name)?).clone())
    }

    fn next_id(&mut self) -> JobId {
        let id = self.last.and_then(JobId::following).unwrap_or_else(JobId::random);
        self.last = Some(id);
        id
    }
}

/// What a request takes from its task.
#[derive(Debug)]
struct Terms {
    name: Cow<'static, str>,
    queue: Cow<'static, str>,
    priority: Priority,
    on_busy: OnBusy,
    wait_timeout: Option<Duration>,
    has_unique: bool,
    unique_for: Option<Duration>,
    expires_in: Option<Duration>,
    crash_limit: u32,
}

impl Terms {
    fn of(spec: &'static JobSpec) -> Self {
        Self {
            name: spec.name.into(),
            queue: spec.queue.into(),
            priority: spec.priority,
            on_busy: spec.on_busy,
            wait_timeout: spec.wait_timeout,
            has_unique: spec.unique.is_some(),
            unique_for: spec.unique_for,
            expires_in: spec.expires_in,
            crash_limit: spec.crash_limit,
        }
    }

    fn told(name: &str, manifest: &Manifest) -> Self {
        let ms = |ms: Option<u64>| ms.map(Duration::from_millis);
        Self {
            name: name.to_owned().into(),
            queue: manifest.queue.clone().into(),
            priority: manifest.priority(),
            on_busy: manifest.on_busy(),
            wait_timeout: ms(manifest.wait_timeout_ms),
            has_unique: manifest.unique.is_some(),
            unique_for: ms(manifest.unique_for_ms),
            expires_in: ms(manifest.expires_in_ms),
            crash_limit: manifest.crash_limit,
        }
    }
}

impl<J: Job> From<J> for Request {
    fn from(job: J) -> Self {
        Self {
            terms: Terms::of(J::SPEC),
            args: serde_json::to_vec(&job),
            locks: job.lock_keys(),
            unique: job.unique_key(),
            tick: None,
            options: Options::default(),
        }
    }
}

impl From<Enqueue> for Request {
    fn from(enqueue: Enqueue) -> Self {
        enqueue.into_request()
    }
}

impl<J: Job> FollowUp for J {
    fn into_new_job(self) -> Result<NewJob, Error> {
        Request::from(self).check(&mut Common::default())
    }
}

impl FollowUp for Enqueue {
    fn into_new_job(self) -> Result<NewJob, Error> {
        Request::from(self).check(&mut Common::default())
    }
}

impl Request {
    /// A job of a task that is known by its manifest alone.
    pub(super) fn named(name: &str, manifest: &Manifest, args: &Map<String, Value>) -> Result<Self, Error> {
        manifest.check(name, args)?;
        let rendered = |template: &String| manifest::render(template, args);
        Ok(Self {
            terms: Terms::told(name, manifest),
            args: serde_json::to_vec(args),
            locks: manifest.locks.iter().map(rendered).collect::<Result<_, _>>()?,
            unique: manifest.unique.as_ref().map(rendered).transpose()?,
            tick: None,
            options: Options::default(),
        })
    }

    /// A job of a task that nothing is known of: every option at its default, without a lock. A worker that knows the task gives it the
    /// locks it should have.
    pub(super) fn unchecked(name: &str, args: &Map<String, Value>) -> Self {
        let spec = JobSpec::new("", &[]);
        Self {
            terms: Terms {
                name: name.to_owned().into(),
                queue: spec.queue.into(),
                priority: spec.priority,
                on_busy: spec.on_busy,
                wait_timeout: None,
                has_unique: false,
                unique_for: None,
                expires_in: None,
                crash_limit: spec.crash_limit,
            },
            args: serde_json::to_vec(args),
            locks: Vec::new(),
            unique: None,
            tick: None,
            options: Options::default(),
        }
    }

    /// The job of a tick of a schedule: under the tick's identity, for the tick's handler to see.
    pub(super) fn of_tick(mut self, tick: TickOf, definition: &Definition) -> Self {
        self.options.unique = Some(format!("tick:{}@{}", tick.schedule, tick.at.timestamp()));
        self.tick = Some(tick);
        self.with_limits(definition)
    }

    /// With what a schedule says of its jobs. The task's own unique key does not count for them.
    pub(super) fn with_limits(mut self, definition: &Definition) -> Self {
        let ms = |ms: Option<u64>| ms.map(Duration::from_millis);
        self.unique = None;
        self.terms.has_unique = false;
        self.terms.unique_for = None;
        self.options.queue.clone_from(&definition.queue);
        self.options.priority = definition.priority;
        self.options.retries = definition.retries;
        self.options.timeout = ms(definition.timeout_ms);
        self.options.lock_at_least = ms(definition.lock_at_least_ms);
        self.options.expires_in = ms(definition.expires_in_ms);
        self
    }

    /// Checks everything and draws the job's id; `batch` remembers what the jobs of one call have in common.
    pub(super) fn check(self, batch: &mut Common) -> Result<NewJob, Error> {
        let Self { terms, options, .. } = self;
        let mut problems = Vec::new();
        check_options(&terms, &options, &mut problems);

        let task = keep(batch.task(&terms.name), &mut problems);
        let queue = keep(batch.queue(options.queue.as_deref().unwrap_or(&terms.queue)), &mut problems);
        let locks = keep(lock_set(self.locks), &mut problems);
        let key = options
            .unique
            .or(self.unique)
            .and_then(|key| keep(UniqueKey::new(key), &mut problems));
        let args = keep(check_args(&terms.name, self.args), &mut problems);

        let (Some(task), Some(queue), Some(locks), Some(args), true) = (task, queue, locks, args, problems.is_empty()) else {
            return Err(Error::Invalid(problems));
        };
        let kept_for = options.unique_for.or(terms.unique_for);
        let unique = key.map(|key| Unique {
            digest: digest::digest(&terms.name, &args),
            key,
            kept_for,
        });
        Ok(NewJob {
            id: batch.next_id(),
            header: Header {
                queue,
                priority: options.priority.unwrap_or(terms.priority),
                locks,
                on_busy: terms.on_busy,
                wait_timeout: terms.wait_timeout,
                unique: unique
                    .as_ref()
                    .filter(|unique| unique.kept_for.is_none())
                    .map(|unique| unique.key.clone()),
                crash_limit: terms.crash_limit.max(1),
                expires_in: options.expires_in.or(terms.expires_in),
            },
            body: Body {
                task,
                retries: options.retries,
                timeout: options.timeout,
                lock_at_least: options.lock_at_least,
                tick: self.tick,
                args: Bytes::from(args),
            },
            due: options.due.unwrap_or(Due::Now),
            unique,
        })
    }
}

fn check_args(task: &str, args: Result<Vec<u8>, serde_json::Error>) -> Result<Vec<u8>, Error> {
    let args = args.map_err(|error| Invalid::new("arguments", task, format!("what JSON can hold ({error})")))?;
    if args.len() > PAYLOAD_MAX_BYTES {
        let advice = format!("arguments of at most {PAYLOAD_MAX_BYTES} bytes as JSON: keep the data elsewhere and enqueue its address");
        return Err(Invalid::new("payload", format!("{} bytes", args.len()), advice).into());
    }
    if args.first() != Some(&b'{') {
        return Err(Invalid::new("arguments", task, "one JSON object: a struct with named fields").into());
    }
    // each level takes two bytes at least
    let depth = if args.len() < 2 * PAYLOAD_MAX_DEPTH {
        0
    } else {
        digest::depth(&args)
    };
    if depth > PAYLOAD_MAX_DEPTH {
        return Err(Invalid::new(
            "payload",
            format!("{depth} levels deep"),
            format!("at most {PAYLOAD_MAX_DEPTH} levels"),
        )
        .into());
    }
    Ok(args)
}

fn check_options(terms: &Terms, options: &Options, problems: &mut Vec<Invalid>) {
    let delay = match options.due {
        Some(Due::After(delay)) => Some(delay),
        Some(Due::At(at)) => at.duration_since(SystemTime::now()).ok(),
        _ => None,
    };
    let snooze = match terms.on_busy {
        OnBusy::Snooze(delay) => Some(delay),
        _ => None,
    };
    let mut bounded = |what, value: Option<Duration>, least: Duration| {
        if let Some(value) = value.filter(|value| !(least..=DELAY_MAX).contains(value)) {
            let days = DELAY_MAX.as_secs() / 86_400;
            problems.push(Invalid::new(what, format!("{value:?}"), format!("from {least:?} to {days} days")));
        }
    };
    let tick = Duration::from_millis(1);
    bounded("delay", delay, Duration::ZERO);
    bounded("snooze delay", snooze, tick);
    bounded("timeout", options.timeout, tick);
    bounded("wait_timeout", terms.wait_timeout, tick);
    bounded("expires_in", options.expires_in.or(terms.expires_in), tick);
    bounded("unique_for", options.unique_for.or(terms.unique_for), tick);
    if options.unique_for.is_some() && options.unique.is_none() && !terms.has_unique {
        problems.push(Invalid::new("unique_for", &terms.name, "a job with a unique key: set `unique` too"));
    }
}

/// Keeps a value, or notes what is wrong with it.
fn keep<T>(checked: Result<T, Error>, problems: &mut Vec<Invalid>) -> Option<T> {
    match checked {
        Ok(value) => Some(value),
        Err(Error::Invalid(more)) => {
            problems.extend(more);
            None
        }
        Err(other) => {
            problems.push(Invalid::new("job", other, "a valid job"));
            None
        }
    }
}
