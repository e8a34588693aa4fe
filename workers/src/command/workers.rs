//! `linchpin workers`: who is there.

use clap::{Args, Subcommand};
use linchpin::store::circumstances::WorkerView;
use serde_json::{Value, json};

use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::{millis, span};

/// What to do with workers.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the workers that spoke within the last 10 minutes. They speak every 10 s; one silent for a minute counts as gone.
    List(All),
}

#[derive(Args)]
struct All {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Does it.
///
/// # Errors
/// When the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    let Verb::List(all) = options.verb;
    let workers = all.session.shared_client().await?.workers().await?;
    let listed: Vec<Value> = workers.iter().map(for_programs).collect();
    all.output.print(&listed, |_| {
        let header = ["WORKER", "STATE", "HEARD", "RUNNING", "QUEUES", "TASKS", "LABELS"];
        table(
            &header,
            workers.iter().map(for_people),
            "no worker has spoken within the last 10 minutes",
        )
    })?;
    Ok(Answer::Yes)
}

fn for_people(worker: &WorkerView) -> Vec<String> {
    let queues: Vec<&str> = worker.queues.iter().map(|queue| queue.as_str()).collect();
    let labels: Vec<String> = worker.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    vec![
        worker.worker.to_string(),
        if worker.is_live() { "live".into() } else { "silent".into() },
        format!("{} ago", span(worker.silent_for)),
        format!("{}/{}", worker.running, worker.concurrency),
        queues.join(", "),
        worker.tasks.len().to_string(),
        labels.join(" "),
    ]
}

fn for_programs(worker: &WorkerView) -> Value {
    let labels: serde_json::Map<String, Value> = worker.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "worker": worker.worker.as_str(),
        "live": worker.is_live(),
        "silent_for_ms": millis(worker.silent_for),
        "running": worker.running,
        "concurrency": worker.concurrency,
        "queues": worker.queues.iter().map(|queue| queue.as_str()).collect::<Vec<_>>(),
        "tasks": worker.tasks.iter().map(|task| task.as_str()).collect::<Vec<_>>(),
        "labels": labels,
    })
}
