//! The tasks one worker runs, by name. Types end here: nothing further in is generic over a task.

use std::collections::HashMap;

use futures::future::BoxFuture;

use crate::attempt::{Attempt, DataMap, DataNeed};
use crate::job::{Job, JobSpec};
use crate::task::{Task, TaskResult, TaskSpec};

/// A task as a worker takes it: its specification and how to run its jobs.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// What producers know of its jobs.
    pub job: &'static JobSpec,
    /// What workers know of it.
    pub task: &'static TaskSpec,
    needs: fn() -> Vec<DataNeed>,
    prepare: Prepare,
}

/// Decodes a job's arguments.
type Prepare = fn(&[u8]) -> Result<Box<dyn Prepared>, serde_json::Error>;

impl Registration {
    /// The registration of a task.
    pub fn of<T: Task>() -> Self {
        Self {
            job: T::Job::SPEC,
            task: T::SPEC,
            needs: T::data_needs,
            prepare: |args| Ok(Box::new(Decoded::<T>(serde_json::from_slice(args)?))),
        }
    }

    /// The shared data its handler takes.
    pub fn needs(&self) -> Vec<DataNeed> {
        (self.needs)()
    }

    /// Decodes a job's arguments.
    pub(crate) fn prepare(&self, args: &[u8]) -> Result<Box<dyn Prepared>, serde_json::Error> {
        (self.prepare)(args)
    }

    /// The names whose jobs it runs.
    pub fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.job.name).chain(self.task.also.iter().copied())
    }

    /// One line of JSON for the manifest: what the command line and schedules need to know.
    pub(crate) fn manifest(&self) -> String {
        serde_json::json!({
            "also": self.task.also,
            "fields": self.job.fields,
            "queue": self.job.queue,
            "priority": self.job.priority,
            "locks": self.job.locks,
            "unique": self.job.unique,
            "retries": self.task.retries,
            "timeout_ms": self.task.timeout.as_millis() as u64,
            "crash_limit": self.job.crash_limit,
        })
        .to_string()
    }
}

/// A job decoded for its task.
pub(crate) trait Prepared: Send {
    /// Its lock keys, rendered from its arguments.
    fn lock_keys(&self) -> Vec<String>;

    /// Runs its handler.
    fn run(self: Box<Self>, attempt: Attempt, data: DataMap) -> BoxFuture<'static, TaskResult>;
}

struct Decoded<T: Task>(T::Job);

impl<T: Task> Prepared for Decoded<T> {
    fn lock_keys(&self) -> Vec<String> {
        self.0.lock_keys()
    }

    fn run(self: Box<Self>, attempt: Attempt, data: DataMap) -> BoxFuture<'static, TaskResult> {
        Box::pin(T::run(self.0, attempt, data))
    }
}

/// The tasks of one worker, by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tasks: Vec<Registration>,
    by_name: HashMap<&'static str, usize>,
    twice: Vec<&'static str>,
}

impl Registry {
    /// Adds a task under its name and its former names.
    pub fn add<T: Task>(&mut self) {
        self.insert(Registration::of::<T>());
    }

    fn insert(&mut self, registration: Registration) {
        let at = self.tasks.len();
        self.tasks.push(registration);
        for name in registration.all_names() {
            if self.by_name.insert(name, at).is_some() {
                self.twice.push(name);
            }
        }
    }

    /// The names of the tasks, in the order they were added.
    pub fn names(&self) -> Vec<&'static str> {
        self.tasks.iter().map(|task| task.job.name).collect()
    }

    /// The tasks, in the order they were added.
    pub fn tasks(&self) -> &[Registration] {
        &self.tasks
    }

    /// Names that more than one task claims.
    pub(crate) fn twice(&self) -> &[&'static str] {
        &self.twice
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Registration> {
        self.by_name.get(name).and_then(|at| self.tasks.get(*at))
    }

    /// What to say about a name nobody here has.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let nearest = self
            .by_name
            .keys()
            .map(|known| (strsim::levenshtein(name, known), *known))
            .filter(|(distance, known)| *distance <= known.len().max(name.len()) / 2)
            .min();
        match nearest {
            Some((_, known)) => format!("no such task in this worker; the nearest is `{known}`"),
            None => "no such task in this worker".to_owned(),
        }
    }
}
