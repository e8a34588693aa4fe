//! `schedules list`.

use clap::Args;
use linchpin::client::ScheduleView;
use linchpin::schedule::{Missed, Overlap, Zone};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::{millis, span};

/// All schedules.
#[derive(Args)]
pub(super) struct Options {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// A schedule as JSON has it.
#[derive(Serialize)]
pub(super) struct Shown {
    pub name: String,
    pub state: &'static str,
    pub when: String,
    pub tz: Option<String>,
    pub task: String,
    pub args: Map<String, Value>,
    pub queue: Option<String>,
    pub missed: Missed,
    pub overlap: Overlap,
    pub next: Option<Instant>,
    pub lag_ms: u64,
    pub waiting: usize,
    pub job: Option<String>,
    pub job_lives: bool,
    pub generation: u64,
    pub brought: bool,
    pub counts: linchpin::schedule::Counts,
    pub past: Vec<linchpin::schedule::Outcome>,
}

/// A tick, on the clock of its zone and in UTC.
#[derive(Serialize)]
pub(super) struct Instant {
    pub local: String,
    pub utc: String,
}

impl Instant {
    pub(super) fn of(at: chrono::DateTime<chrono::Utc>, tz: Option<&str>) -> Self {
        let zone = tz.and_then(|tz| Zone::parse(tz).ok()).unwrap_or(Zone::UTC);
        Self {
            local: zone.show(at).format("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            utc: at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }
}

impl Shown {
    pub(super) fn of(view: &ScheduleView) -> Self {
        Self {
            name: view.name.to_string(),
            state: match (view.orphaned, view.paused, view.next) {
                (true, _, _) => "orphaned",
                (_, true, _) => "paused",
                (_, _, None) => "ended",
                _ if !view.lag.is_zero() && view.lag.as_secs() >= 5 => "overdue",
                _ => "ticking",
            },
            when: view.when.clone(),
            tz: view.tz.clone(),
            task: view.task.clone(),
            args: view.args.clone(),
            queue: view.queue.clone(),
            missed: view.missed,
            overlap: view.overlap,
            next: view.next.map(|tick| Instant::of(tick.at, view.tz.as_deref())),
            lag_ms: millis(view.lag),
            waiting: view.waiting,
            job: view.job.map(|(job, _)| job.to_string()),
            job_lives: view.job.is_some_and(|(_, lives)| lives),
            generation: view.generation,
            brought: view.brought,
            counts: view.counts,
            past: view.past.clone(),
        }
    }

    /// What became of the latest tick, in a few words.
    fn last(&self) -> String {
        let Some(last) = self.past.last() else { return "-".into() };
        match last.late_ms {
            late @ 1000.. => format!("{}, late by {}", last.fate.as_str(), span(std::time::Duration::from_millis(late))),
            _ => last.fate.as_str().into(),
        }
    }
}

pub(super) async fn run(options: Options) -> Result<Answer, Failure> {
    let views = options.session.shared_client().await?.schedules().await?;
    let shown: Vec<Shown> = views.iter().map(Shown::of).collect();
    options.output.print(&shown, |shown| {
        let rows = shown.iter().map(|shown| {
            vec![
                shown.name.clone(),
                shown.state.into(),
                match &shown.tz {
                    Some(tz) if tz != "UTC" => format!("{} {tz}", shown.when),
                    Some(_) => shown.when.clone(),
                    None => format!("every {}", shown.when),
                },
                shown.task.clone(),
                shown.next.as_ref().map_or_else(|| "-".into(), |next| next.local.clone()),
                shown.last(),
            ]
        });
        let header = ["SCHEDULE", "STATE", "WHEN", "TASK", "NEXT", "LAST"];
        table(
            &header,
            rows,
            "there is no schedule: `[[schedules]]` in the configuration of a worker, `#[task(cron = ..)]` or `client.schedule` make some",
        )
    })?;
    Ok(Answer::Yes)
}
