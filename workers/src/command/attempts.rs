//! `linchpin attempts`: the log of attempts, its end or as it is written.

use std::collections::VecDeque;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use linchpin::Client;
use linchpin::names::{JobId, TaskName};
use linchpin::store::settle::Outcome;
use linchpin::store::view::AttemptEntry;
use serde_json::{Value, json};

use crate::failure::{Answer, Failure};
use crate::output::{Output, Reader, line, table};
use crate::session::Session;
use crate::words::{cut, span};

/// Entries read at once.
const PAGE: usize = 1000;

/// Which attempts.
#[derive(Args)]
pub struct Options {
    /// Goes on with each attempt as it ends, until Ctrl-C. With --json one object a line.
    #[arg(long, short)]
    follow: bool,
    /// Only entries after this number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// The last so many entries; with --follow, before going on.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    limit: u16,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Args)]
struct Filter {
    /// Only of this job.
    #[arg(long, value_name = "JOB")]
    job: Option<JobId>,
    /// Only of this task.
    #[arg(long, value_name = "TASK")]
    task: Option<TaskName>,
    /// Only those that ended so; may be given several times.
    #[arg(long, value_name = "OUTCOME", value_parser = outcomes())]
    outcome: Vec<Outcome>,
    /// Only under this lock.
    #[arg(long, value_name = "KEY")]
    lock: Option<String>,
    /// Only by this worker.
    #[arg(long, value_name = "WORKER")]
    worker: Option<String>,
}

fn outcomes() -> impl clap::builder::TypedValueParser<Value = Outcome> {
    PossibleValuesParser::new(Outcome::ALL.map(Outcome::as_str)).try_map(|word| {
        let found = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
        found.ok_or("no outcome")
    })
}

impl Filter {
    fn takes(&self, entry: &AttemptEntry) -> bool {
        let record = &entry.record;
        self.job.is_none_or(|job| record.job == job.to_string())
            && self.task.as_ref().is_none_or(|task| record.task == task.as_str())
            && (self.outcome.is_empty() || self.outcome.contains(&record.outcome))
            && self
                .lock
                .as_ref()
                .is_none_or(|key| record.lock_keys.split(',').any(|held| held == key) || record.lock_keys == *key)
            && self.worker.as_ref().is_none_or(|worker| record.worker == *worker)
    }
}

/// Does it.
///
/// # Errors
/// When the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    let client = options.session.shared_client().await?;
    let (entries, last) = tail(&client, &options).await?;
    if !options.follow {
        let listed: Vec<Value> = entries.iter().map(for_programs).collect();
        options.output.print(&listed, |_| {
            let header = ["NO", "JOB", "TASK", "TRY", "OUTCOME", "RAN", "WAITED", "WORKER", "LOCK", "ERROR"];
            table(&header, entries.iter().map(cells), "no such attempts in the log")
        })?;
        return Ok(Answer::Yes);
    }
    for entry in &entries {
        if say(options.output, entry)? == Reader::Gone {
            return Ok(Answer::Yes);
        }
    }
    let mut follow = client.follow(Some(last)).await?;
    while let Some(entry) = follow.next().await {
        if options.filter.takes(&entry) && say(options.output, &entry)? == Reader::Gone {
            break;
        }
    }
    Ok(Answer::Yes)
}

/// The last entries that the filter takes, and the number of the last of all.
async fn tail(client: &Client, options: &Options) -> Result<(VecDeque<AttemptEntry>, u64), Failure> {
    let most = usize::from(options.limit);
    let (mut kept, mut last) = (VecDeque::new(), options.after);
    loop {
        let page = client.attempts(last, PAGE).await?;
        let Some(end) = page.last() else { return Ok((kept, last)) };
        last = end.number;
        kept.extend(page.into_iter().filter(|entry| options.filter.takes(entry)));
        kept.drain(..kept.len().saturating_sub(most));
    }
}

fn say(output: Output, entry: &AttemptEntry) -> Result<Reader, Failure> {
    if output.is_json() {
        return line(&for_programs(entry).to_string());
    }
    // a table grows with its rows; these come one by one
    let widths = [6, 22, 16, 2, 10, 6, 6, 12, 0, 0];
    let cells: Vec<String> = cells(entry)
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    line(cells.join("  ").trim_end())
}

fn cells(entry: &AttemptEntry) -> Vec<String> {
    let record = &entry.record;
    let waited = match record.waited_ms {
        0 => "-".into(),
        ms => span(Duration::from_millis(ms)),
    };
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    vec![
        entry.number.to_string(),
        record.job.clone(),
        record.task.clone(),
        record.number.to_string(),
        record.outcome.as_str().to_owned(),
        span(Duration::from_millis(record.ran_ms)),
        waited,
        or_dash(&record.worker),
        or_dash(&record.lock_keys),
        cut(&record.error, 80),
    ]
}

fn for_programs(entry: &AttemptEntry) -> Value {
    let record = &entry.record;
    json!({
        "number": entry.number,
        "job": record.job,
        "task": record.task,
        "attempt": record.number,
        "outcome": record.outcome.as_str(),
        "error": record.error,
        "ran_ms": record.ran_ms,
        "waited_ms": record.waited_ms,
        "lock": record.lock.as_str(),
        "lock_keys": record.lock_keys,
        "fence": record.fence.0,
        "worker": record.worker,
        "nested": record.nested.iter().map(|nested| json!({"key": nested.key, "lock": nested.lock.as_str(), "times": nested.times})).collect::<Vec<_>>(),
        "nested_omitted": record.nested_omitted,
    })
}
