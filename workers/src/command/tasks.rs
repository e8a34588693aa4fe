//! `linchpin tasks`: what workers have registered.

use clap::{Args, Subcommand};
use linchpin::store::circumstances::WorkerView;
use serde_json::{Value, json};

use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::span;

/// What to do with tasks.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the tasks that a worker ever registered, with their options and how many live workers know them.
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
    let client = all.session.shared_client().await?;
    let workers = client.workers().await?;
    let tasks = client.store().tasks().await?;
    let listed: Vec<Value> = tasks.iter().map(|(task, line)| listed(task, line, &workers)).collect();
    all.output.print(&listed, |listed| {
        let header = ["TASK", "ARGUMENTS", "QUEUE", "LOCKS", "UNIQUE", "RETRIES", "TIMEOUT", "WORKERS"];
        table(&header, listed.iter().map(row), "no worker has registered a task here yet")
    })?;
    Ok(Answer::Yes)
}

/// The manifest's line with the task's name and its live workers added.
fn listed(task: &str, line: &str, workers: &[WorkerView]) -> Value {
    let live = workers.iter().filter(|worker| worker.is_live());
    let knowing = live
        .filter(|worker| worker.tasks.iter().any(|known| known.as_str() == task))
        .count();
    let mut listed: Value = serde_json::from_str(line)
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    listed["task"] = json!(task);
    listed["workers"] = json!(knowing);
    listed
}

fn row(listed: &Value) -> Vec<String> {
    let text = |name: &str| match &listed[name] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items.iter().map(|item| item.as_str().unwrap_or("?")).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    let timeout = listed["timeout_ms"].as_u64().map(std::time::Duration::from_millis);
    vec![
        text("task"),
        arguments(listed),
        text("queue"),
        text("locks"),
        text("unique"),
        text("retries"),
        timeout.map_or_else(|| "-".to_owned(), span),
        text("workers"),
    ]
}

/// `sku: string, qty: uint?`: a question mark stands behind what may be missing.
fn arguments(listed: &Value) -> String {
    let args = listed["args"].as_array().map(Vec::as_slice).unwrap_or_default();
    let written = |arg: &Value| {
        let optional = if arg["optional"] == true { "?" } else { "" };
        format!(
            "{}: {}{optional}",
            arg["name"].as_str().unwrap_or("?"),
            match arg["kind"].as_str() {
                Some("word") => "string", // as a configuration has it
                kind => kind.unwrap_or("?"),
            }
        )
    };
    match args {
        [] => "-".to_owned(),
        args => args.iter().map(written).collect::<Vec<_>>().join(", "),
    }
}
