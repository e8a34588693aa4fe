//! `linchpin enqueue`: a job by its task's name, or many from standard input.

use std::io::BufRead;
use std::time::{Duration, SystemTime};

use clap::Args;
use linchpin::client::{Enqueue, Tasks};
use linchpin::names::QueueName;
use linchpin::store::new_job::Priority;
use linchpin::{Client, Enqueued};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::command::work::{read_args, read_job};
use crate::failure::{Answer, Failure};
use crate::output::{Output, line};
use crate::session::Session;

/// Jobs of one call to the client; it sends them in smaller batches.
const BULK: usize = 10_000;

/// Which job.
#[derive(Args)]
pub struct Options {
    /// The task's name; `-` reads jobs from standard input, one a line: `TASK JSON`, or {"task": .., "args": {..}}.
    task: String,
    /// The job's arguments, one JSON object; `{}` when left out.
    #[arg(value_name = "JSON")]
    args: Option<String>,
    /// Runs it no sooner than after this long, such as 30s or 2h.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, conflicts_with = "at")]
    delay: Option<Duration>,
    /// Runs it no sooner than at this instant, such as 2030-01-31T09:30:00Z.
    #[arg(long, value_name = "INSTANT", value_parser = humantime::parse_rfc3339_weak)]
    at: Option<SystemTime>,
    /// The queue in place of the task's.
    #[arg(long, value_name = "NAME")]
    queue: Option<QueueName>,
    /// The job's own identity: while a job holds it, the same job again changes nothing, and another is refused.
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
    /// The priority within the queue, in place of the task's.
    #[arg(long, value_name = "high|normal|low", value_parser = priority)]
    priority: Option<Priority>,
    /// Enqueues also a task that no worker has told of yet, with arguments as they are; a worker that knows it gives it its locks.
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

fn priority(word: &str) -> Result<Priority, String> {
    match word {
        "high" => Ok(Priority::High),
        "normal" => Ok(Priority::Normal),
        "low" => Ok(Priority::Low),
        _ => Err("it is high, normal or low".into()),
    }
}

/// Enqueues.
///
/// # Errors
/// Usage, for a task or arguments that are wrong: then nothing was enqueued. When the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    let client = options.session.shared_client().await?;
    let tasks = if options.unchecked {
        Tasks::default()
    } else {
        client.tasks().await?
    };
    let answer = match options.task.as_str() {
        "-" => lines(&client, &tasks, &options).await?,
        _ => one(&client, &tasks, &options).await?,
    };
    client.close().await?;
    Ok(answer)
}

async fn one(client: &Client, tasks: &Tasks, options: &Options) -> Result<Answer, Failure> {
    let args = read_args(options.args.as_deref().unwrap_or("{}"))?;
    let enqueued = job(client, tasks, options, &options.task, &args)?.await?;
    let said = json!({"job": enqueued.id().to_string(), "new": enqueued.is_new()});
    options.output.print(&said, |_| match enqueued {
        Enqueued::New(id) => format!("{id}"),
        Enqueued::Existing(id) => format!("{id} (it was there already)"),
    })?;
    Ok(Answer::Yes)
}

fn job(client: &Client, tasks: &Tasks, options: &Options, task: &str, args: &Map<String, Value>) -> Result<Enqueue, Failure> {
    let mut job = match options.unchecked {
        true => client.enqueue_unchecked(task, args)?,
        false => client.enqueue_named(tasks, task, args)?,
    };
    if let Some(delay) = options.delay {
        job = job.delay(delay);
    }
    if let Some(at) = options.at {
        job = job.at(at);
    }
    if let Some(queue) = &options.queue {
        job = job.queue(queue.as_str());
    }
    if let Some(key) = &options.unique {
        job = job.unique(key);
    }
    if let Some(priority) = options.priority {
        job = job.priority(priority);
    }
    Ok(job)
}

/// A line that is an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    task: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// Reads all lines first: with one that is wrong nothing is enqueued.
async fn lines(client: &Client, tasks: &Tasks, options: &Options) -> Result<Answer, Failure> {
    if options.args.is_some() || options.unique.is_some() {
        return Err(Failure::usage("with `-` the jobs stand in the lines: leave JSON and --unique out"));
    }
    let (mut jobs, mut problems) = (Vec::new(), Vec::new());
    for (number, text) in std::io::stdin().lock().lines().enumerate() {
        let text = text.map_err(|error| Failure::new("read standard input", error))?;
        if text.trim().is_empty() {
            continue;
        }
        match read_line(&text).and_then(|(task, args)| job(client, tasks, options, &task, &args)) {
            Ok(job) => jobs.push(job),
            Err(failure) => problems.push(format!("line {}: {failure}", number + 1)),
        }
    }
    if !problems.is_empty() {
        let more = problems.len().saturating_sub(20);
        problems.truncate(20);
        if more > 0 {
            problems.push(format!("and {more} lines more"));
        }
        return Err(Failure::usage(format!("nothing was enqueued:\n{}", problems.join("\n"))));
    }
    let (mut new, mut existing, mut refused) = (0u64, 0u64, Vec::new());
    while !jobs.is_empty() {
        let rest = jobs.split_off(jobs.len().min(BULK));
        for answer in client.enqueue_many(jobs).await? {
            match answer {
                Ok(Enqueued::New(_)) => new += 1,
                Ok(Enqueued::Existing(_)) => existing += 1,
                Err(error) => refused.push(error.to_string()),
            }
        }
        jobs = rest;
    }
    let said = json!({"new": new, "existing": existing, "refused": refused.len()});
    options.output.print(&said, |_| {
        format!("{new} new, {existing} were there already, {} refused", refused.len())
    })?;
    for error in refused.iter().take(20) {
        line(error)?;
    }
    Ok(if refused.is_empty() { Answer::Yes } else { Answer::No })
}

fn read_line(text: &str) -> Result<(String, Map<String, Value>), Failure> {
    if text.trim_start().starts_with('{') {
        let line: Line = serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("{error}; a line is {{\"task\": .., \"args\": {{..}}}} or TASK JSON")))?;
        return Ok((line.task, line.args));
    }
    let (task, args) = read_job(text)?;
    Ok((task.to_owned(), args))
}
