//! `linchpin queues`: stops and allows claims from a queue.

use clap::{Args, Subcommand};
use linchpin::names::QueueName;
use serde::Serialize;

use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;

/// What to do with queues.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the paused queues.
    List(All),
    /// Stops claims from a queue; what is active goes on.
    Pause(Named),
    /// Allows claims from a queue again.
    Resume(Named),
}

#[derive(Args)]
struct All {
    #[command(flatten)]
    session: Session,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Named {
    /// The queue.
    queue: QueueName,
    #[command(flatten)]
    session: Session,
    #[command(flatten)]
    output: Output,
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

async fn list(all: All) -> Result<Answer, Failure> {
    let paused = all.session.shared_client().await?.census().await?.paused;
    let names: Vec<String> = paused.iter().map(ToString::to_string).collect();
    all.output.print(&names, |names| {
        table(&["PAUSED"], names.iter().map(|name| vec![name.clone()]), "no queue is paused")
    })?;
    Ok(Answer::Yes)
}
