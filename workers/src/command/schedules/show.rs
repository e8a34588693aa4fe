//! `schedules show` and `schedules next`.

use clap::Args;
use linchpin::client::ScheduleView;
use linchpin::names::ScheduleName;
use linchpin::schedule::{Cron, Every, Tick, Zone};
use serde::Serialize;

use super::list::{Instant, Shown};
use super::{Named, none};
use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::span;

pub(super) async fn run(named: Named) -> Result<Answer, Failure> {
    let client = named.session.shared_client().await?;
    let Some(view) = client.schedule_view(named.name.as_str()).await? else {
        return none(&named.name);
    };
    named.output.print(&Shown::of(&view), |shown| people(&view, shown))?;
    Ok(Answer::Yes)
}

fn people(view: &ScheduleView, shown: &Shown) -> String {
    let words = match (&view.tz, Cron::parse(&view.when)) {
        (Some(tz), Ok(cron)) => format!("{} ({}, {tz})", view.when, cron.words()),
        (Some(tz), Err(_)) => format!("{} ({tz})", view.when),
        (None, _) => format!("every {}", view.when),
    };
    let counts = view.counts;
    let mut lines = vec![
        format!("schedule {}: {}", shown.name, shown.state),
        format!("  when      {words}"),
        format!("  job       {} {}", shown.task, serde_json::Value::Object(shown.args.clone())),
        format!(
            "  policies  missed {}, overlap {}, within {}",
            word(&view.missed),
            word(&view.overlap),
            span(view.catchup_window)
        ),
        match &shown.next {
            Some(next) if view.lag.as_secs() >= 1 => format!("  next      {} ({}), late by {}", next.local, next.utc, span(view.lag)),
            Some(next) => format!("  next      {} ({})", next.local, next.utc),
            None => "  next      none up to the end of the year 2100".into(),
        },
        match (&shown.job, shown.job_lives) {
            (Some(job), true) => format!("  latest    job {job}, which has not ended: `linchpin explain {job}`"),
            (Some(job), false) => format!("  latest    job {job}, which has ended"),
            (None, _) => "  latest    none yet".into(),
        },
        format!(
            "  ticks     {} fired, {} skipped for an overlap, {} while paused, {} missed, {} dropped, {} refused, {} by hand",
            counts.fired, counts.overlap, counts.paused, counts.misfire, counts.dropped, counts.refused, counts.by_hand
        ),
        match (view.brought, view.orphaned) {
            (_, true) => "  from      workers, none of which brings it any more: `linchpin schedules delete` removes it".into(),
            (true, _) => format!("  from      workers, generation {}", view.generation),
            (false, _) => "  from      a client".into(),
        },
    ];
    if view.waiting > 0 {
        lines.push(format!("  waiting   {} ticks wait for the job before them", view.waiting));
    }
    if !view.past.is_empty() {
        let rows = view.past.iter().rev().map(|outcome| {
            let at = chrono::DateTime::from_timestamp(outcome.at, 0).unwrap_or_default();
            vec![
                Instant::of(at, view.tz.as_deref()).local,
                match outcome.ticks {
                    1 => outcome.fate.as_str().into(),
                    ticks => format!("{} ({ticks} ticks)", outcome.fate.as_str()),
                },
                span(std::time::Duration::from_millis(outcome.late_ms)),
                outcome.job.clone().unwrap_or_else(|| "-".into()),
            ]
        });
        lines.push(table(&["TICK", "FATE", "LATE BY", "JOB"], rows, ""));
    }
    lines.join("\n")
}

/// A policy as it stands in a configuration.
fn word(policy: &impl Serialize) -> String {
    match serde_json::to_value(policy) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(map)) => map.into_iter().map(|(word, of)| format!("{word} {}", of["limit"])).collect(),
        _ => String::new(),
    }
}

/// The next ticks of a schedule.
#[derive(Args)]
pub(super) struct Next {
    /// The schedule.
    name: ScheduleName,
    /// How many.
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    number: u64,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Serialize)]
struct Ahead {
    #[serde(flatten)]
    at: Instant,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<&'static str>,
}

pub(super) async fn next(next: Next) -> Result<Answer, Failure> {
    let client = next.session.shared_client().await?;
    let Some(view) = client.schedule_view(next.name.as_str()).await? else {
        return none(&next.name);
    };
    let ticks: Vec<Ahead> = ahead(&view)
        .take(next.number as usize)
        .map(|tick| Ahead {
            at: Instant::of(tick.at, view.tz.as_deref()),
            mark: tick.pass.map(|pass| pass.name()),
        })
        .collect();
    next.output.print(&ticks, |ticks| {
        let rows = ticks
            .iter()
            .map(|tick| vec![tick.at.local.clone(), tick.at.utc.clone(), tick.mark.unwrap_or_default().into()]);
        table(&["LOCAL", "UTC", ""], rows, "no further tick up to the end of the year 2100")
    })?;
    Ok(Answer::Yes)
}

/// The next tick and those after it.
fn ahead(view: &ScheduleView) -> impl Iterator<Item = Tick> + use<> {
    let (when, zone) = (view.when.clone(), view.tz.as_deref().map(Zone::parse));
    let (cron, every) = (Cron::parse(&when).ok(), Every::parse(&when).ok());
    let after = move |at| match (&zone, &cron, every) {
        (Some(Ok(zone)), Some(cron), _) => cron.next_after(at, *zone).ok(),
        (None, _, Some(every)) => every.next_after(at).ok(),
        _ => None,
    };
    std::iter::successors(view.next, move |tick| after(tick.at))
}
