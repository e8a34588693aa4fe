//! The tasks one worker runs, by name. Types end here: nothing further in is generic over a task.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::attempt::{Attempt, DataMap, DataNeed};
use crate::job::{Job, JobSpec};
use crate::manifest::{self, Manifest};
use crate::task::{Task, TaskResult, TaskSpec};

/// A task as a worker takes it: its specification and how to run its jobs.
#[derive(Clone)]
pub struct Registration {
    /// What producers know of its jobs.
    pub job: &'static JobSpec,
    /// What workers know of it.
    pub task: &'static TaskSpec,
    needs: fn() -> Vec<DataNeed>,
    prepare: Prepare,
}

type Decoding = Result<Box<dyn Prepared>, serde_json::Error>;
type Handler = dyn Fn(Attempt, Map<String, Value>) -> BoxFuture<'static, TaskResult> + Send + Sync;

/// Decodes a job's arguments.
#[derive(Clone)]
enum Prepare {
    Compiled(fn(&[u8]) -> Decoding),
    Defined(Arc<Definition>),
}

/// What a task that is defined while the program runs has in place of code.
struct Definition {
    manifest: Manifest,
    run: Box<Handler>,
}

impl Registration {
    /// The registration of a task.
    pub fn of<T: Task>() -> Self {
        Self {
            job: T::Job::SPEC,
            task: T::SPEC,
            needs: T::data_needs,
            prepare: Prepare::Compiled(|args| Ok(Box::new(Decoded::<T>(serde_json::from_slice(args)?)))),
        }
    }

    /// The registration of a task that is defined while the program runs, for example by a configuration. Its jobs are objects of the
    /// arguments that `job` names; `run` gets them as they are. The specifications live as long as the program: make them once.
    pub fn defined<F>(job: JobSpec, task: TaskSpec, run: impl Fn(Attempt, Map<String, Value>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = TaskResult> + Send + 'static,
    {
        Self {
            job: Box::leak(Box::new(job)),
            task: Box::leak(Box::new(task)),
            needs: Vec::new,
            prepare: Prepare::Defined(Arc::new(Definition {
                manifest: Manifest::of(&job, task.also, task.retries, task.timeout),
                run: Box::new(move |attempt, args| Box::pin(run(attempt, args))),
            })),
        }
    }

    /// The shared data its handler takes.
    pub fn needs(&self) -> Vec<DataNeed> {
        (self.needs)()
    }

    /// Decodes a job's arguments.
    pub(crate) fn prepare(&self, args: &[u8]) -> Result<Box<dyn Prepared>, serde_json::Error> {
        match &self.prepare {
            Prepare::Compiled(decode) => decode(args),
            Prepare::Defined(definition) => {
                let args: Map<String, Value> = serde_json::from_slice(args)?;
                definition.manifest.check(self.job.name, &args).map_err(serde::de::Error::custom)?;
                let locks = self.job.locks.iter().map(|template| manifest::render(template, &args));
                Ok(Box::new(Checked {
                    locks: locks.collect::<Result<_, _>>().map_err(serde::de::Error::custom)?,
                    args,
                    definition: definition.clone(),
                }))
            }
        }
    }

    /// The names whose jobs it runs.
    pub fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.job.name).chain(self.task.also.iter().copied())
    }

    /// What others are told of it.
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest::of(self.job, self.task.also, self.task.retries, self.task.timeout)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("job", self.job)
            .field("task", self.task)
            .finish()
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

/// A job of a task that was defined while the program runs.
struct Checked {
    locks: Vec<String>,
    args: Map<String, Value>,
    definition: Arc<Definition>,
}

impl Prepared for Checked {
    fn lock_keys(&self) -> Vec<String> {
        self.locks.clone()
    }

    fn run(self: Box<Self>, attempt: Attempt, _: DataMap) -> BoxFuture<'static, TaskResult> {
        (self.definition.run)(attempt, self.args)
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

    /// Adds a registration under its names.
    pub fn insert(&mut self, registration: Registration) {
        let at = self.tasks.len();
        for name in registration.all_names() {
            if self.by_name.insert(name, at).is_some() {
                self.twice.push(name);
            }
        }
        self.tasks.push(registration);
    }

    /// Gives a task other limits; says whether there is one of that name.
    pub(crate) fn limit(&mut self, name: &str, change: impl FnOnce(&mut TaskSpec)) -> bool {
        let Some(task) = self.tasks.iter_mut().find(|task| task.job.name == name) else {
            return false;
        };
        let mut spec = *task.task;
        change(&mut spec);
        task.task = Box::leak(Box::new(spec));
        true
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
