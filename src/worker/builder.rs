//! Building a worker: every problem at once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;

use crate::attempt::{DataMap, Workshop};
use crate::client::{Tasks, check_schedule};
use crate::error::{Error, Invalid};
use crate::limits::{
    CONCURRENCY, CONCURRENCY_MAX, LEASE, LEASE_MAX, LEASE_MIN, MISMATCH_WINDOW, QUEUE, QUEUES_MAX, SHUTDOWN_GRACE, WINDOW_MAX,
};
use crate::names::{ProcessId, QueueName, TaskName};
use crate::registry::{Registration, Registry};
use crate::schedule::Schedule;
use crate::store::Store;
use crate::store::view::WorkerCard;
use crate::task::{Task, TaskSchedule, TaskSpec};
use crate::task_list::TaskList;
use crate::worker::ticker::{Brought, Timetable};
use crate::worker::{Plan, Vitals, Worker};

/// Builds a [`Worker`]. Methods are named like the configuration keys.
#[must_use = "build() makes the worker"]
pub struct WorkerBuilder {
    store: Arc<dyn Store>,
    queues: Vec<String>,
    concurrency: usize,
    lease: Duration,
    shutdown_grace: Duration,
    mismatch_window: Duration,
    attempts_log: bool,
    labels: Vec<(String, String)>,
    registry: Registry,
    data: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    schedules: Vec<Schedule>,
    problems: Vec<Invalid>,
}

impl WorkerBuilder {
    /// Begins a worker on a store.
    pub fn on(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            queues: Vec::new(),
            concurrency: CONCURRENCY,
            lease: LEASE,
            shutdown_grace: SHUTDOWN_GRACE,
            mismatch_window: MISMATCH_WINDOW,
            attempts_log: true,
            labels: Vec::new(),
            registry: Registry::default(),
            data: HashMap::new(),
            schedules: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Serves a queue too; the first given is emptied first. Default `default` alone.
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queues.push(name.into());
        self
    }

    /// Serves these queues instead of those named before.
    #[cfg(feature = "testing")]
    pub(crate) fn only_queues(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.queues = names.into_iter().collect();
        self
    }

    /// Runs this many attempts at once, 1 to 10,000. Default 20.
    pub fn concurrency(mut self, attempts: usize) -> Self {
        self.concurrency = attempts;
        self
    }

    /// Lets a claim go on this long without renewing, 1 s to 1 h: what a killed worker held is free again after it. Default 15 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Waits this long for handlers when the worker ends. Default 25 s.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.shutdown_grace = grace;
        self
    }

    /// Gives jobs of unknown tasks or unfit arguments back uncharged for this long (a rolling deploy). Default 15 min.
    pub fn mismatch_window(mut self, window: Duration) -> Self {
        self.mismatch_window = window;
        self
    }

    /// Writes the attempts log or not. Default on.
    pub fn attempts_log(mut self, on: bool) -> Self {
        self.attempts_log = on;
        self
    }

    /// Labels the worker for people, for example with its host name.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((name.into(), value.into()));
        self
    }

    /// Shares a value with handlers that take `Data<T>`.
    pub fn data<T: Any + Send + Sync>(mut self, value: T) -> Self {
        if self.data.insert(TypeId::of::<T>(), Arc::new(value)).is_some() {
            let name = std::any::type_name::<T>();
            self.problems.push(Invalid::new("data", name, "one value per type"));
        }
        self
    }

    /// Runs a task's jobs.
    pub fn task<T: Task>(mut self) -> Self {
        self.registry.add::<T>();
        self
    }

    /// Runs the jobs of several tasks: see [`tasks!`](crate::tasks).
    pub fn tasks(mut self, tasks: TaskList) -> Self {
        tasks.register(&mut self.registry);
        self
    }

    /// Runs the jobs of a task that is defined while the program runs: see [`Registration::defined`].
    pub fn defined(mut self, task: Registration) -> Self {
        self.registry.insert(task);
        self
    }

    /// Gives a task that was added before other limits than its code: retries, backoff, timeout.
    pub fn limits(mut self, task: &str, change: impl FnOnce(&mut TaskSpec)) -> Self {
        if !self.registry.limit(task, change) {
            let allowed = format!(
                "a task that was added before its limits are changed: {}",
                self.registry.unknown(task)
            );
            self.problems.push(Invalid::new("task name", task, allowed));
        }
        self
    }

    /// Brings a schedule: it is defined when the worker starts, and ticks on every worker of the namespace, once a tick in all. It stays when this
    /// worker ends; ten minutes after the last worker that brings it, it stops.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// What the worker will tell others of its tasks: enough to enqueue their jobs by name.
    pub fn manifests(&self) -> Tasks {
        self.registry
            .tasks()
            .iter()
            .map(|task| (task.job.name.to_owned(), task.manifest()))
            .collect()
    }

    /// Checks everything and makes the worker.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem: no task, a name twice, data that a handler needs and nobody gave, a value out of
    /// range, too many or unfit queue names.
    pub fn build(mut self) -> Result<Worker, Error> {
        let queues = self.checked_queues();
        self.check_tasks();
        let data = DataMap::from_entries(std::mem::take(&mut self.data));
        self.check_needs(&data);
        self.check_numbers();
        let brought = self.checked_schedules();
        if !self.problems.is_empty() {
            return Err(Error::Invalid(self.problems));
        }
        let own = self.registry.tasks().iter();
        let timetable = Timetable {
            brought,
            own: own.map(|task| (task.job.name.to_owned(), task.manifest())).collect(),
        };
        let worker = ProcessId::random();
        let (tell, ends) = unbounded_channel();
        let manifest = self.manifest();
        let mut labels = vec![
            ("pid".to_owned(), std::process::id().to_string()),
            ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        labels.extend(self.labels);
        let card = WorkerCard {
            worker: worker.clone(),
            labels,
            queues: queues.clone(),
            concurrency: self.concurrency,
            running: 0,
            tasks: manifest,
        };
        let shop = Workshop::new(
            worker,
            self.store.clone(),
            self.registry,
            data,
            self.lease,
            self.mismatch_window,
            tell,
        );
        Ok(Worker {
            shop: Arc::new(shop),
            store: self.store,
            plan: Plan {
                queues,
                concurrency: self.concurrency,
                shutdown_grace: self.shutdown_grace,
                log: self.attempts_log,
            },
            card,
            ends,
            vitals: Arc::new(Vitals::default()),
            timetable,
        })
    }

    fn manifest(&self) -> Vec<(String, String)> {
        let line = |task: &Registration| (task.job.name.to_owned(), task.manifest().line());
        self.registry.tasks().iter().map(line).collect()
    }

    fn checked_schedules(&mut self) -> Vec<Brought> {
        let tasks = self.manifests();
        let mut brought: Vec<Brought> = Vec::new();
        let own = self.registry.tasks().iter().filter_map(own_schedule);
        for schedule in own.chain(std::mem::take(&mut self.schedules)) {
            let (given, typed, generation) = (schedule.name().to_owned(), schedule.is_typed(), schedule.generation);
            let checked = schedule.check().and_then(|(name, definition)| {
                if !typed || tasks.get(&definition.task).is_some() {
                    check_schedule(&tasks, &definition)?;
                }
                Ok((name, definition))
            });
            match checked {
                Ok((name, _)) if brought.iter().any(|other| other.name == name) => {
                    self.problems.push(Invalid::new("schedule", name, "each schedule once"));
                }
                Ok((name, definition)) => brought.push(Brought {
                    name,
                    definition,
                    generation,
                }),
                Err(error) => {
                    let of = |problem: Invalid| Invalid {
                        allowed: format!("{} (schedule `{given}`)", problem.allowed),
                        ..problem
                    };
                    self.problems.extend(entries(error).into_iter().map(of));
                }
            }
        }
        brought
    }

    fn checked_queues(&mut self) -> Vec<QueueName> {
        if self.queues.is_empty() {
            self.queues.push(QUEUE.to_owned());
        }
        if self.queues.len() > QUEUES_MAX {
            let allowed = format!("at most {QUEUES_MAX} queues for one worker: run several workers");
            self.problems.push(Invalid::new("queues", self.queues.len(), allowed));
        }
        let mut queues: Vec<QueueName> = Vec::new();
        for name in &self.queues {
            match QueueName::new(name) {
                Ok(queue) if queues.contains(&queue) => self.problems.push(Invalid::new("queue", name, "each queue once")),
                Ok(queue) => queues.push(queue),
                Err(error) => self.problems.extend(entries(error)),
            }
        }
        queues
    }

    fn check_tasks(&mut self) {
        if self.registry.tasks().is_empty() {
            self.problems
                .push(Invalid::new("tasks", "none", "at least one: add `.task::<name>()`"));
        }
        for name in self.registry.tasks().iter().flat_map(Registration::all_names) {
            if let Err(error) = TaskName::new(name) {
                self.problems.extend(entries(error));
            }
        }
        for name in self.registry.twice() {
            let allowed = "one task per name: register it once, or rename one (`also` names count)";
            self.problems.push(Invalid::new("task name", name, allowed));
        }
    }

    fn check_needs(&mut self, data: &DataMap) {
        for task in self.registry.tasks() {
            for need in task.needs() {
                if !data.has(&need) {
                    let allowed = format!("task `{}` takes it: add `.data(value)` of that type", task.job.name);
                    self.problems.push(Invalid::new("data", need.name, allowed));
                }
            }
        }
    }

    fn check_numbers(&mut self) {
        if self.concurrency == 0 || self.concurrency > CONCURRENCY_MAX {
            let allowed = format!("1 to {CONCURRENCY_MAX}");
            self.problems.push(Invalid::new("concurrency", self.concurrency, allowed));
        }
        if self.lease < LEASE_MIN || self.lease > LEASE_MAX {
            let allowed = format!("{LEASE_MIN:?} to {LEASE_MAX:?}: three renewals have to fit");
            self.problems.push(Invalid::new("lease", format!("{:?}", self.lease), allowed));
        }
        for (what, window) in [("shutdown_grace", self.shutdown_grace), ("mismatch_window", self.mismatch_window)] {
            if window > WINDOW_MAX {
                self.problems
                    .push(Invalid::new(what, format!("{window:?}"), format!("at most {WINDOW_MAX:?}")));
            }
        }
    }
}

/// The schedule that a task has of itself: under its name, without arguments.
fn own_schedule(task: &Registration) -> Option<Schedule> {
    let name = task.job.name;
    let schedule = match task.task.schedule? {
        TaskSchedule::Cron { line, tz } => Schedule::cron(name, line).tz(tz),
        TaskSchedule::Every(period) => Schedule::every(name, period),
    };
    Some(schedule.task(name, serde_json::Map::new()))
}

fn entries(error: Error) -> Vec<Invalid> {
    match error {
        Error::Invalid(entries) => entries,
        other => vec![Invalid::new("worker", other, "see the message")],
    }
}
