//! `linchpin jobs show`, and how a job is named on the command line.

use clap::Args;
use linchpin::Client;
use linchpin::names::JobId;
use linchpin::store::new_job::{OnBusy, Priority};
use linchpin::store::turn::Envelope;
use linchpin::store::view::{JobView, Progress};
use serde_json::{Value, json};

use super::list::add_state;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;
use crate::words::{age, detail, millis, span};

/// Which job.
#[derive(Args, Debug, Clone)]
#[group(required = true, multiple = false)]
pub struct Which {
    /// The job's id.
    #[arg(value_name = "JOB")]
    job: Option<JobId>,
    /// The job that holds this unique key.
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
}

impl Which {
    /// What is known about it; `None`, after a word to standard error, when there is no such job.
    ///
    /// # Errors
    /// When the key is none, or the store cannot be used.
    pub async fn view(&self, client: &Client) -> Result<Option<JobView>, Failure> {
        let (view, name) = match (&self.job, &self.unique) {
            (Some(id), _) => (client.job(*id).await?, format!("no job {id}")),
            (None, Some(key)) => (client.job_by_key(key).await?, format!("no job holds the unique key {key:?}")),
            (None, None) => return Err(Failure::usage("name a job by its id, or by --unique KEY")),
        };
        if view.is_none() {
            eprintln!("linchpin: {name}: done, deleted, or never enqueued here (nothing is kept of those)");
        }
        Ok(view)
    }
}

/// Which job, and how to print it.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    which: Which,
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
    let client = options.session.shared_client().await?;
    let Some(view) = options.which.view(&client).await? else {
        options.output.json_only(&Value::Null)?;
        return Ok(Answer::No);
    };
    options.output.print(&for_programs(&view), |_| for_people(&view))?;
    Ok(Answer::Yes)
}

fn for_people(view: &JobView) -> String {
    let mut lines: Vec<(&str, String)> = vec![("job", view.id.to_string())];
    let state = match detail(&view.state) {
        detail if detail.is_empty() => view.state.name().to_string(),
        detail => format!("{}, {detail}", view.state.name()),
    };
    lines.push(("state", state));
    if let Some(progress) = &view.progress {
        lines.push(("progress", said(progress)));
    }
    match &view.envelope {
        Ok(envelope) => describe(envelope, &mut lines),
        Err(undecodable) => lines.push(("unreadable", undecodable.reason.clone())),
    }
    lines.push(("made", format!("{} ago", span(age(view.id)))));
    lines.push(("failed", format!("{} charged attempts", view.tries.charged)));
    if view.tries.suspect {
        lines.push((
            "suspect",
            format!("its last attempt ended with its worker ({} strikes)", view.tries.strikes),
        ));
    }
    if view.tries.mismatches > 0 {
        let since = span(view.tries.mismatched_for);
        lines.push((
            "given back",
            format!("{} times in {since}, by workers that could not run it", view.tries.mismatches),
        ));
    }
    for error in &view.errors {
        lines.push(("error", error.trim_end().replace('\n', "\n             ")));
    }
    let lines: Vec<String> = lines.into_iter().map(|(name, value)| format!("{name:<12} {value}")).collect();
    lines.join("\n")
}

fn said(progress: &Progress) -> String {
    let Progress { done, total, note } = progress;
    let far = match total {
        0 => done.to_string(),
        total => format!("{done} of {total} ({:.0} %)", *done as f64 * 100.0 / *total as f64),
    };
    if note.is_empty() { far } else { format!("{far}, {note}") }
}

fn describe(envelope: &Envelope, lines: &mut Vec<(&str, String)>) {
    let (header, body) = (&envelope.header, &envelope.body);
    lines.push(("task", body.task.to_string()));
    lines.push(("arguments", String::from_utf8_lossy(&body.args).into_owned()));
    lines.push(("queue", format!("{}, {} priority", header.queue, priority(header.priority))));
    if !header.locks.is_empty() {
        let keys: Vec<&str> = header.locks.iter().map(|key| key.as_str()).collect();
        lines.push(("locks", format!("{} ({} when held)", keys.join(", "), on_busy(header.on_busy))));
    }
    if let Some(timeout) = header.wait_timeout {
        lines.push(("waits", format!("at most {} for its locks", span(timeout))));
    }
    if let Some(key) = &header.unique {
        lines.push(("unique", key.to_string()));
    }
    if let Some(retries) = body.retries {
        lines.push(("retries", format!("{retries}, of its own")));
    }
    if let Some(timeout) = body.timeout {
        lines.push(("timeout", format!("{}, of its own", span(timeout))));
    }
}

fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::High => "high",
        Priority::Normal => "normal",
        Priority::Low => "low",
    }
}

fn on_busy(on_busy: OnBusy) -> String {
    match on_busy {
        OnBusy::Wait => "waits".into(),
        OnBusy::Skip => "skips".into(),
        OnBusy::Fail => "fails".into(),
        OnBusy::Snooze(delay) => format!("snoozes {}", span(delay)),
    }
}

fn for_programs(view: &JobView) -> Value {
    let mut value = json!({
        "job": view.id.to_string(),
        "made_at_ms": view.id.made_at_ms(),
        "charged": view.tries.charged,
        "suspect": view.tries.suspect,
        "strikes": view.tries.strikes,
        "mismatches": view.tries.mismatches,
        "errors": view.errors,
        "progress": view.progress.as_ref().map(|said| json!({"done": said.done, "total": said.total, "note": said.note})),
    });
    add_state(&mut value, &view.state);
    match &view.envelope {
        Err(undecodable) => value["unreadable"] = json!(undecodable.reason),
        Ok(Envelope { header, body }) => {
            value["task"] = json!(body.task.as_str());
            // as it was sent: numbers keep their digits
            value["arguments"] = serde_json::from_slice(&body.args).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body.args)));
            value["queue"] = json!(header.queue.as_str());
            value["priority"] = json!(priority(header.priority));
            value["locks"] = json!(header.locks.iter().map(|key| key.as_str()).collect::<Vec<_>>());
            value["unique"] = json!(header.unique.as_ref().map(|key| key.as_str()));
            value["retries"] = json!(body.retries);
            value["timeout_ms"] = json!(body.timeout.map(millis));
            value["wait_timeout_ms"] = json!(header.wait_timeout.map(millis));
            value["crash_limit"] = json!(header.crash_limit);
        }
    }
    value
}
