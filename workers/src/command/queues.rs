//! `linchpin queues`: what waits where; stops and allows claims from a queue.

use std::time::Duration;

use clap::{Args, Subcommand};
use linchpin::names::QueueName;
use linchpin::store::circumstances::QueueView;
use serde::Serialize;

use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::{age, millis, span};

/// What to do with queues.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the queues that hold ready jobs, are paused, or are served by a live worker.
    List(All),
    /// Stops claims from a queue; what is active goes on.
    Pause(Named),
    /// Allows claims from a queue again.
    Resume(Named),
}

#[derive(Args)]
struct All {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Args)]
struct Named {
    /// The queue.
    queue: QueueName,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Serialize)]
struct Changed {
    queue: String,
    paused: bool,
}

/// Does it.
///
/// # Errors
/// When the queue's name is none, or the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    let (named, paused) = match options.verb {
        Verb::List(all) => return list(all).await,
        Verb::Pause(named) => (named, true),
        Verb::Resume(named) => (named, false),
    };
    let client = named.session.shared_client().await?;
    match paused {
        true => client.pause(named.queue.as_str()).await?,
        false => client.resume(named.queue.as_str()).await?,
    }
    let changed = Changed {
        queue: named.queue.to_string(),
        paused,
    };
    named.output.print(&changed, |changed| {
        let word = if changed.paused { "paused" } else { "resumed" };
        format!("queue {} {word}", changed.queue)
    })?;
    Ok(Answer::Yes)
}

#[derive(Serialize)]
struct Listed {
    queue: String,
    ready: u64,
    paused: bool,
    workers: u64,
    oldest_job: Option<String>,
    oldest_age_ms: Option<u64>,
}

impl Listed {
    fn of(view: &QueueView) -> Self {
        Self {
            queue: view.queue.to_string(),
            ready: view.ready,
            paused: view.paused,
            workers: view.workers,
            oldest_job: view.oldest.map(|id| id.to_string()),
            oldest_age_ms: view.oldest.map(|id| millis(age(id))),
        }
    }

    fn row(&self) -> Vec<String> {
        let oldest = self.oldest_age_ms.map(|ms| span(Duration::from_millis(ms)));
        vec![
            self.queue.clone(),
            self.ready.to_string(),
            if self.paused { "yes".into() } else { "-".into() },
            self.workers.to_string(),
            oldest.unwrap_or_else(|| "-".into()),
        ]
    }
}

async fn list(all: All) -> Result<Answer, Failure> {
    let queues = all.session.shared_client().await?.queues().await?;
    let listed: Vec<Listed> = queues.iter().map(Listed::of).collect();
    all.output.print(&listed, |listed| {
        let header = ["QUEUE", "READY", "PAUSED", "WORKERS", "OLDEST"];
        table(
            &header,
            listed.iter().map(Listed::row),
            "no queue holds ready jobs, is paused, or is served",
        )
    })?;
    Ok(Answer::Yes)
}
