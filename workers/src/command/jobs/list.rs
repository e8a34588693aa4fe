//! `linchpin jobs list`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use linchpin::store::page::{Cursor, JobFilter, JobRow, StateName};
use linchpin::store::view::State;
use serde::Serialize;
use serde_json::{Value, json};

use super::Kind;
use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::{age, cut, detail, millis, span};

/// Which jobs, and how many.
#[derive(Args)]
pub struct Options {
    /// Only jobs in this state.
    #[arg(long, value_name = "STATE", value_parser = states())]
    state: Option<StateName>,
    #[command(flatten)]
    kind: Kind,
    /// How many at most, 1 to 1000.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Goes on behind a page: the cursor that it ended with. The other options must be the same.
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

fn states() -> impl clap::builder::TypedValueParser<Value = StateName> {
    PossibleValuesParser::new(StateName::ALL.map(StateName::as_str)).try_map(|word| word.parse::<StateName>())
}

#[derive(Serialize)]
struct Page {
    jobs: Vec<Value>,
    next: Option<String>,
    #[serde(skip)]
    rows: Vec<Vec<String>>,
}

/// Does it.
///
/// # Errors
/// When the cursor is of another list, or the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    let client = options.session.shared_client().await?;
    let filter = JobFilter {
        state: options.state,
        queue: options.kind.queue,
        task: options.kind.task,
    };
    let limit = usize::from(options.limit);
    let mut jobs: Vec<JobRow> = Vec::new();
    let mut next = options.after;
    // a page of the store may be short and not be the last
    loop {
        let page = client.jobs(&filter, next.as_ref(), limit - jobs.len()).await?;
        jobs.extend(page.jobs);
        next = page.next;
        if next.is_none() || jobs.len() == limit {
            break;
        }
    }
    let page = Page {
        jobs: jobs.iter().map(for_programs).collect(),
        next: next.map(|next| next.to_string()),
        rows: jobs.iter().map(for_people).collect(),
    };
    options.output.print(&page, |page| {
        let header = ["JOB", "STATE", "TASK", "QUEUE", "AGE", "FAILED", "DETAIL"];
        let mut text = table(&header, page.rows.clone(), "no such jobs");
        if let Some(next) = &page.next {
            text.push_str(&format!("\nmore: --after {next}"));
        }
        text
    })?;
    Ok(Answer::Yes)
}

fn for_people(job: &JobRow) -> Vec<String> {
    let unreadable = || "?".to_owned();
    let detail = match (&job.state, &job.last_error) {
        (State::Scheduled { .. }, Some(error)) => format!("{}: {error}", detail(&job.state)),
        (State::Ready, _) if job.suspect => "suspect: its last attempt ended with its worker".into(),
        (state, _) => detail(state),
    };
    vec![
        job.id.to_string(),
        job.state.name().to_string(),
        job.task.as_ref().map_or_else(unreadable, ToString::to_string),
        job.queue.as_ref().map_or_else(unreadable, ToString::to_string),
        span(age(job.id)),
        job.charged.to_string(),
        cut(&detail, 80),
    ]
}

fn for_programs(job: &JobRow) -> Value {
    let mut value = json!({
        "job": job.id.to_string(),
        "task": job.task.as_ref().map(ToString::to_string),
        "queue": job.queue.as_ref().map(ToString::to_string),
        "made_at_ms": job.id.made_at_ms(),
        "charged": job.charged,
        "suspect": job.suspect,
        "last_error": job.last_error,
    });
    add_state(&mut value, &job.state);
    if let Some(dead_for) = job.dead_for {
        value["dead_for_ms"] = json!(millis(dead_for));
    }
    value
}

/// Adds a state and what belongs to it.
pub fn add_state(value: &mut Value, state: &State) {
    value["state"] = json!(state.name().as_str());
    match state {
        State::Scheduled { due_in } => value["due_in_ms"] = json!(millis(*due_in)),
        State::Ready => {}
        State::Parked { behind, waited } => {
            value["behind"] = json!(behind.as_str());
            value["waited_ms"] = json!(millis(*waited));
        }
        State::Active { token, cancel_requested } => {
            value["token"] = json!(token.as_str());
            value["worker"] = json!(token.process().as_str());
            value["cancel_requested"] = json!(cancel_requested);
        }
        State::Dead { death, reason } => {
            value["death"] = json!(death.as_str());
            value["reason"] = json!(reason);
        }
    }
}
