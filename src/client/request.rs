//! A job with its options, and the checks that it passes before anything is sent.

use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::client::digest;
use crate::client::enqueue::Enqueue;
use crate::error::{Error, Invalid};
use crate::job::{Job, JobSpec, lock_set};
use crate::limits::{DELAY_MAX, PAYLOAD_MAX_BYTES, PAYLOAD_MAX_DEPTH};
use crate::names::{JobId, QueueName, TaskName, UniqueKey};
use crate::store::new_job::{Body, Due, Header, NewJob, OnBusy, Priority, Unique};

/// A job with its options. Made from a job, or from what [`Client::enqueue`](crate::Client::enqueue) returns.
#[derive(Debug)]
pub struct Request {
    spec: &'static JobSpec,
    args: Result<Vec<u8>, serde_json::Error>,
    locks: Vec<String>,
    unique: Option<String>,
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

impl<J: Job> From<J> for Request {
    fn from(job: J) -> Self {
        Self {
            spec: J::SPEC,
            args: serde_json::to_vec(&job),
            locks: job.lock_keys(),
            unique: job.unique_key(),
            options: Options::default(),
        }
    }
}

impl From<Enqueue> for Request {
    fn from(enqueue: Enqueue) -> Self {
        enqueue.into_request()
    }
}

impl Request {
    /// Checks everything and draws the job's id; `batch` remembers what the jobs of one call have in common.
    pub(super) fn check(self, batch: &mut Common) -> Result<NewJob, Error> {
        let Self { spec, options, .. } = self;
        let mut problems = Vec::new();
        check_options(spec, &options, &mut problems);

        let task = keep(batch.task(spec.name), &mut problems);
        let queue = keep(batch.queue(options.queue.as_deref().unwrap_or(spec.queue)), &mut problems);
        let locks = keep(lock_set(self.locks), &mut problems);
        let key = options
            .unique
            .or(self.unique)
            .and_then(|key| keep(UniqueKey::new(key), &mut problems));
        let args = keep(check_args(spec.name, self.args), &mut problems);

        let (Some(task), Some(queue), Some(locks), Some(args), true) = (task, queue, locks, args, problems.is_empty()) else {
            return Err(Error::Invalid(problems));
        };
        let kept_for = options.unique_for.or(spec.unique_for);
        let unique = key.map(|key| Unique {
            digest: digest::digest(spec.name, &args),
            key,
            kept_for,
        });
        Ok(NewJob {
            id: batch.next_id(),
            header: Header {
                queue,
                priority: options.priority.unwrap_or(spec.priority),
                locks,
                on_busy: spec.on_busy,
                wait_timeout: spec.wait_timeout,
                unique: unique
                    .as_ref()
                    .filter(|unique| unique.kept_for.is_none())
                    .map(|unique| unique.key.clone()),
                crash_limit: spec.crash_limit.max(1),
                expires_in: options.expires_in.or(spec.expires_in),
            },
            body: Body {
                task,
                retries: options.retries,
                timeout: options.timeout,
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

fn check_options(spec: &JobSpec, options: &Options, problems: &mut Vec<Invalid>) {
    let delay = match options.due {
        Some(Due::After(delay)) => Some(delay),
        Some(Due::At(at)) => at.duration_since(SystemTime::now()).ok(),
        _ => None,
    };
    let snooze = match spec.on_busy {
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
    bounded("wait_timeout", spec.wait_timeout, tick);
    bounded("expires_in", options.expires_in.or(spec.expires_in), tick);
    bounded("unique_for", options.unique_for.or(spec.unique_for), tick);
    if options.unique_for.is_some() && options.unique.is_none() && spec.unique.is_none() {
        problems.push(Invalid::new("unique_for", spec.name, "a job with a unique key: set `unique` too"));
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
