//! The commands, one a file: each has its `Options` and a `run` that says [`Answer`] or [`Failure`].

mod attempts;
mod config;
mod cron;
mod enqueue;
mod explain;
mod job;
mod jobs;
mod locks;
mod queues;
mod schedules;
mod tasks;
mod work;
mod workers;

use clap::Subcommand;
use linchpin::TaskList;

use crate::bench;
use crate::failure::{Answer, Failure};
use crate::logging;
use crate::torture;

/// What can be done.
#[derive(Subcommand)]
pub enum Command {
    /// Runs the jobs of the configured tasks until told to stop.
    Work(work::Options),
    /// Enqueues a job by its task's name, or many from standard input.
    Enqueue(enqueue::Options),
    /// Lists and shows jobs; cancels, retries and deletes them.
    Jobs(jobs::Options),
    /// Explains why a job is not running.
    Explain(explain::Options),
    /// Lists, pauses and resumes queues.
    Queues(queues::Options),
    /// Lists and shows locks, their holders and who waits; takes one from its holder.
    Locks(locks::Options),
    /// Lists the tasks that workers have registered.
    Tasks(tasks::Options),
    /// Lists the workers.
    Workers(workers::Options),
    /// Shows the attempts log: every attempt, its lock and how it ended.
    Attempts(attempts::Options),
    /// Lists and shows schedules; runs, pauses, resumes, backfills and deletes them.
    Schedules(schedules::Options),
    /// Explains crontab lines; needs no store.
    Cron(cron::Options),
    /// Checks a configuration, or shows what is in force.
    Config(config::Options),
    /// Measures a store and this build against the store's own floor.
    Bench(bench::Options),
    /// Proves on this store that each job takes effect exactly once: workers under kills, pauses, cuts and silence.
    Torture(torture::Options),
    /// A worker process of `torture`; its orders come on standard input.
    #[command(hide = true, name = "torture-worker")]
    TortureWorker,
    /// The enqueueing process of `bench latency`; its orders come on standard input.
    #[command(hide = true, name = "bench-producer")]
    BenchProducer,
}

impl Command {
    /// Does it. `tasks` are those compiled into the binary.
    pub async fn run(self, tasks: TaskList) -> Result<Answer, Failure> {
        if !matches!(self, Self::Work(_)) {
            logging::quiet();
        }
        match self {
            Self::Work(options) => work::run(options, tasks).await,
            Self::Enqueue(options) => enqueue::run(options, tasks).await,
            Self::Config(options) => config::run(options, &tasks),
            Self::Jobs(options) => jobs::run(options).await,
            Self::Explain(options) => explain::run(options).await,
            Self::Queues(options) => queues::run(options).await,
            Self::Locks(options) => locks::run(options).await,
            Self::Tasks(options) => tasks::run(options).await,
            Self::Workers(options) => workers::run(options).await,
            Self::Attempts(options) => attempts::run(options).await,
            Self::Schedules(options) => schedules::run(options).await,
            Self::Cron(options) => cron::run(options),
            Self::Bench(options) => bench::run(options).await.map(|()| Answer::Yes),
            Self::Torture(options) => torture::run(options).await,
            Self::TortureWorker => torture::work_as_told().await.map(|()| Answer::Yes),
            Self::BenchProducer => bench::produce().await.map(|()| Answer::Yes),
        }
    }
}
