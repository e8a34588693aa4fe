//! `linchpin enqueue`: a job by its task's name, or many from standard input.

mod choices;
mod lines;

use std::time::Duration;

use clap::Args;
use linchpin::client::{Enqueue, Tasks};
use linchpin::{Client, Enqueued, TaskList};
use serde_json::{Map, Value, json};

use crate::command::job::read_args;
use crate::command::work::manifests;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;
use choices::Choices;

/// After how long without an answer people are told that it goes on; the client sends again for up to two minutes.
const SILENCE: Duration = Duration::from_secs(3);

/// Which job.
#[derive(Args)]
pub struct Options {
    /// The task's name; `-` reads jobs from standard input, one a line: `TASK JSON`, or {"task": .., "args": {..}, "unique": ..}.
    task: String,
    /// The job's arguments, one JSON object; `{}` when left out.
    #[arg(value_name = "JSON")]
    args: Option<String>,
    #[command(flatten)]
    choices: Choices,
    /// Enqueues also a task that is not in the configuration and that no worker has told of yet, with arguments as they are; a worker that knows it gives it its locks.
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Enqueues.
///
/// # Errors
/// Usage, for a task or arguments that are wrong: then nothing was enqueued. When the store cannot be used.
pub async fn run(options: Options, own: TaskList) -> Result<Answer, Failure> {
    options.choices.check()?;
    let config = options.session.configuration()?;
    let client = options.session.shared(&config).await?;
    let tasks = if options.unchecked {
        Tasks::default()
    } else {
        // what workers have told counts; what none has told of yet is as it stands here
        client.tasks().await?.or(manifests(&client, &config, own))
    };
    let answer = match options.task.as_str() {
        "-" => lines::run(&client, &tasks, &options).await,
        _ => one(&client, &tasks, &options).await,
    };
    // what was accepted stays so: a close that is not answered changes nothing
    let _ = client.close().await;
    answer
}

async fn one(client: &Client, tasks: &Tasks, options: &Options) -> Result<Answer, Failure> {
    let args = read_args(options.args.as_deref().unwrap_or("{}"))?;
    let job = job(client, tasks, options, &options.task, &args)?;
    let enqueued = aloud(async { job.await }).await?;
    let said = json!({"job": enqueued.id().to_string(), "new": enqueued.is_new()});
    options.output.print(&said, |_| match enqueued {
        Enqueued::New(id) => format!("{id}"),
        Enqueued::Existing(id) => format!("{id} (it was there already)"),
    })?;
    Ok(Answer::Yes)
}

fn job(client: &Client, tasks: &Tasks, options: &Options, task: &str, args: &Map<String, Value>) -> Result<Enqueue, Failure> {
    let job = match options.unchecked {
        true => client.enqueue_unchecked(task, args)?,
        false => client.enqueue_named(tasks, task, args)?,
    };
    Ok(options.choices.apply(job))
}

/// Waits, and says so on standard error when it takes long.
async fn aloud<T>(waiting: impl Future<Output = T>) -> T {
    let mut waiting = std::pin::pin!(waiting);
    tokio::select! { biased;
        done = &mut waiting => return done,
        () = tokio::time::sleep(SILENCE) => {}
    }
    eprintln!("linchpin: the store does not answer; sent again and again for up to two minutes");
    waiting.await
}
