//! `linchpin work`: a worker of the configured tasks, and of those compiled into the binary.

use clap::Args;
use linchpin::client::{End, Tasks};
use linchpin::config::{Config, TaskConfig};
use linchpin::names::ProcessId;
use linchpin::store::settle::Outcome;
use linchpin::worker::{Summary, WorkerBuilder};
use linchpin::{Client, Enqueued, TaskList, Worker};

use crate::command::job::read_job;
use crate::exec;
use crate::failure::{Answer, Failure};
use crate::logging;
use crate::output::line;
use crate::session::Session;

pub(super) const NO_TASK: &str = "there is no task to work on: add a `[tasks.NAME]` with `exec` to the configuration (docs/configuration.md has one), and name it with --config";

/// What to work on.
#[derive(Args)]
pub struct Options {
    /// A queue to serve in place of the configured ones; again for more, the first is emptied first.
    #[arg(long = "queue", value_name = "NAME")]
    queues: Vec<String>,
    /// Attempts at once, in place of the configured number.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Enqueues this one job, runs it through the whole path without retries, and stops.
    #[arg(long, value_name = "TASK JSON", conflicts_with = "queues")]
    once: Option<String>,
    #[command(flatten)]
    session: Session,
}

/// Works until told to stop. SIGINT or SIGTERM once lets handlers end, twice ends at once.
///
/// # Errors
/// Usage, for a configuration that is wrong; when the store cannot be used at the start.
pub async fn run(options: Options, tasks: TaskList) -> Result<Answer, Failure> {
    let mut config = options.session.configuration()?;
    logging::install(&config.log)?;
    if !options.queues.is_empty() {
        config.worker.queues = options.queues;
    }
    if let Some(concurrency) = options.concurrency {
        config.worker.concurrency = concurrency;
    }
    check(&config, &tasks, &options.session)?;
    let client = options.session.connect(&config).await?;
    match options.once {
        Some(job) => once(&client, &config, tasks, &job).await,
        None => {
            let worker = builder(&client, &config, tasks, &config.worker.queues).build()?;
            let summary = worker.run(signals()).await?;
            tracing::info!(summary = %told(&summary), "worker ended");
            client.close().await?;
            Ok(Answer::Yes)
        }
    }
}

/// What only this machine and this binary can say of a configuration.
///
/// # Errors
/// Usage.
fn check(config: &Config, tasks: &TaskList, session: &Session) -> Result<(), Failure> {
    if names_no_task(config, tasks) {
        return Err(Failure::usage(format!("{NO_TASK}{}", session.unnamed_file())));
    }
    for (name, task) in &config.tasks {
        if let TaskConfig::Command(command) = task
            && let Some(directory) = command.directory.as_ref().filter(|directory| !directory.is_dir())
        {
            let place = directory.display();
            return Err(Failure::usage(format!(
                "tasks.{name}.directory: `{place}` is no directory here: make it, or name another"
            )));
        }
    }
    Ok(())
}

/// Whether a worker would have nothing to do.
pub(super) fn names_no_task(config: &Config, tasks: &TaskList) -> bool {
    tasks.is_empty() && !config.tasks.values().any(|task| matches!(task, TaskConfig::Command(_)))
}

/// The configured worker.
fn builder(client: &Client, config: &Config, tasks: TaskList, queues: &[String]) -> WorkerBuilder {
    let settings = &config.worker;
    let mut worker = Worker::builder(client)
        .concurrency(settings.concurrency)
        .lease(settings.lease)
        .shutdown_grace(settings.shutdown_grace)
        .mismatch_window(settings.mismatch_window)
        .attempts_log(settings.attempts_log)
        .tasks(tasks);
    for queue in queues {
        worker = worker.queue(queue);
    }
    for (name, value) in &settings.labels {
        worker = worker.label(name, value);
    }
    for schedule in &config.schedules {
        worker = worker.schedule(schedule.clone());
    }
    for (name, task) in &config.tasks {
        worker = match task {
            TaskConfig::Command(command) => worker.defined(exec::registration(name, (**command).clone())),
            TaskConfig::Overrides(limits) => worker.limits(name, |spec| {
                spec.retries = limits.retries.unwrap_or(spec.retries);
                spec.timeout = limits.timeout.unwrap_or(spec.timeout);
                spec.backoff = limits.backoff.unwrap_or(spec.backoff);
            }),
        };
    }
    worker
}

/// The tasks of the configuration and of this binary, as a worker would tell others of them.
pub(super) fn manifests(client: &Client, config: &Config, tasks: TaskList) -> Tasks {
    builder(client, config, tasks, &[]).manifests()
}

/// Runs one job in a queue of its own, so that nobody else takes it and it brings nobody else.
async fn once(client: &Client, config: &Config, tasks: TaskList, job: &str) -> Result<Answer, Failure> {
    let queue = format!("once.{}", ProcessId::random());
    let worker = builder(client, config, tasks, std::slice::from_ref(&queue));
    let (task, args) = read_job(job)?;
    let job = client.enqueue_named(&worker.manifests(), task, &args)?.queue(&queue).retries(0);
    let worker = worker.build()?;
    let id = match job.await? {
        Enqueued::New(id) => id,
        Enqueued::Existing(id) => {
            line(&format!(
                "{task}: job {id} holds its unique key already; `linchpin explain {id}` says why it has not ended"
            ))?;
            return Ok(Answer::No);
        }
    };
    let mut end = None;
    worker
        .run(async {
            tokio::select! {
                ended = client.wait(id) => end = Some(ended),
                () = signals() => {}
            }
        })
        .await?;
    let Some(ended) = end else {
        let left = format!("job {id} was interrupted and nobody serves its queue: `linchpin jobs delete {id}` removes it");
        return Err(Failure::new("work --once", left));
    };
    let ended = ended?;
    let seen = client.attempts(0, usize::MAX).await?;
    client.close().await?;
    let record = seen
        .iter()
        .rev()
        .map(|entry| &entry.record)
        .find(|record| record.job == id.to_string());
    let ran = record.map_or(String::new(), |record| format!(" after {} ms", record.ran_ms));
    let error = record.map_or(String::new(), |record| format!(": {}", record.error));
    let (answer, word, why) = match ended {
        End::Done => (Answer::Yes, "done".to_owned(), String::new()),
        // it had ended before anybody waited
        End::Gone if record.is_some_and(|record| matches!(record.outcome, Outcome::Done | Outcome::Skipped)) => {
            (Answer::Yes, "done".to_owned(), String::new())
        }
        End::Dead(death) => (Answer::No, format!("dead ({})", death.as_str()), error),
        End::Deleted => (Answer::No, "deleted".to_owned(), String::new()),
        End::Gone => (Answer::No, "gone".to_owned(), String::new()),
    };
    line(&format!("{task} {id}: {word}{ran}{why}"))?;
    Ok(answer)
}

fn told(summary: &Summary) -> String {
    format!(
        "done {}, failed {}, snoozed {}, dead {}, returned {}, lost {}",
        summary.done, summary.failed, summary.snoozed, summary.dead, summary.returned, summary.lost
    )
}

/// Resolves at the first SIGINT or SIGTERM; the second ends the process at once.
async fn signals() {
    signal().await;
    tracing::info!("stopping: handlers may end; a second signal ends the worker at once");
    tokio::spawn(async {
        signal().await;
        exec::kill_all();
        std::process::exit(130);
    });
}

async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
