//! `schedules run|pause|resume|backfill|delete`.

use chrono::{DateTime, Utc};
use clap::Args;
use linchpin::client::RunAnswer;
use linchpin::names::ScheduleName;
use serde::Serialize;
use serde_json::json;

use super::list::Instant;
use super::{Named, none};
use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;

/// One run by hand.
#[derive(Args)]
pub(super) struct Run {
    /// The schedule.
    name: ScheduleName,
    /// Makes it once: another run under this key within 24 h answers the first one's job.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Also while the job of the tick before has not ended.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

pub(super) async fn run(run: Run) -> Result<Answer, Failure> {
    let client = run.session.shared_client().await?;
    let answer = client.run_schedule(run.name.as_str(), run.key.as_deref(), run.force).await;
    let _ = client.close().await;
    let (job, word, good) = match answer? {
        RunAnswer::Enqueued(job) => (job, "enqueued", Answer::Yes),
        RunAnswer::Existing(job) => (job, "existing", Answer::Yes),
        RunAnswer::Overlap(job) => (job, "overlap", Answer::No),
        RunAnswer::Unknown => return none(&run.name),
    };
    run.output.print(&json!({"job": job.to_string(), "answer": word}), |_| match word {
        "enqueued" => job.to_string(),
        "existing" => format!("{job} (a run under this key was enqueued before)"),
        _ => format!("nothing was enqueued: job {job} of the schedule has not ended; --force enqueues all the same"),
    })?;
    Ok(good)
}

#[derive(Serialize)]
struct Changed {
    schedule: String,
    done: &'static str,
}

fn changed(named: &Named, found: bool, done: &'static str) -> Result<Answer, Failure> {
    if !found {
        return none(&named.name);
    }
    let changed = Changed {
        schedule: named.name.to_string(),
        done,
    };
    named
        .output
        .print(&changed, |changed| format!("schedule {} {}", changed.schedule, changed.done))?;
    Ok(Answer::Yes)
}

pub(super) async fn pause(named: Named, pause: bool) -> Result<Answer, Failure> {
    let client = named.session.shared_client().await?;
    match pause {
        true => changed(&named, client.pause_schedule(named.name.as_str()).await?, "paused"),
        false => changed(&named, client.resume_schedule(named.name.as_str()).await?, "resumed"),
    }
}

pub(super) async fn delete(named: Named) -> Result<Answer, Failure> {
    let client = named.session.shared_client().await?;
    changed(&named, client.delete_schedule(named.name.as_str()).await?, "deleted")
}

/// A span of the past.
#[derive(Args)]
pub(super) struct Backfill {
    /// The schedule.
    name: ScheduleName,
    /// Ticks after this instant, such as 2026-03-01T00:00:00Z.
    from: DateTime<Utc>,
    /// And up to this one.
    to: DateTime<Utc>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Serialize)]
struct Filled {
    #[serde(flatten)]
    tick: Instant,
    job: String,
    new: bool,
}

pub(super) async fn backfill(backfill: Backfill) -> Result<Answer, Failure> {
    let client = backfill.session.shared_client().await?;
    let name = backfill.name.as_str();
    let tz = client.schedule_view(name).await?.and_then(|view| view.tz);
    let filled = client.backfill_schedule(name, backfill.from, backfill.to).await;
    let _ = client.close().await;
    let Some(filled) = filled? else { return none(&backfill.name) };
    let filled: Vec<Filled> = filled
        .into_iter()
        .map(|(tick, enqueued)| Filled {
            tick: Instant::of(tick.at, tz.as_deref()),
            job: enqueued.id().to_string(),
            new: enqueued.is_new(),
        })
        .collect();
    backfill.output.print(&filled, |filled| {
        let rows = filled.iter().map(|filled| {
            let word = if filled.new { "" } else { "it was there already" };
            vec![filled.tick.local.clone(), filled.job.clone(), word.into()]
        });
        table(&["TICK", "JOB", ""], rows, "no tick in this span")
    })?;
    Ok(Answer::Yes)
}
