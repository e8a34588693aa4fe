//! A schedule as people and programs see it.

use std::time::Duration;

use chrono::DateTime;
use serde_json::{Map, Value};

use crate::names::{JobId, ScheduleName};
use crate::schedule::{Counts, Missed, Outcome, Overlap, Row, Tick, When};

/// A schedule as it stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScheduleView {
    /// Its name.
    pub name: ScheduleName,
    /// The crontab line, or the period.
    pub when: String,
    /// The zone of a crontab line.
    pub tz: Option<String>,
    /// The task of its jobs.
    pub task: String,
    /// Their arguments.
    pub args: Map<String, Value>,
    /// Their queue, where it is not the task's.
    pub queue: Option<String>,
    /// What happens to missed ticks.
    pub missed: Missed,
    /// What happens while the job of the tick before has not ended.
    pub overlap: Overlap,
    /// Ticks that are later than this are skipped.
    pub catchup_window: Duration,
    /// Whether it is paused.
    pub paused: bool,
    /// Workers brought it, and none has for ten minutes: it does not tick.
    pub orphaned: bool,
    /// Workers bring it with them; else it was defined at run time.
    pub brought: bool,
    /// The generation of its definition.
    pub generation: u64,
    /// The next tick; none after the year 2100.
    pub next: Option<Tick>,
    /// How late the next tick is by now.
    pub lag: Duration,
    /// Ticks that wait for the job before them.
    pub waiting: usize,
    /// The job of the latest tick, and whether it has yet to end.
    pub job: Option<(JobId, bool)>,
    /// What became of the latest ticks, the oldest first, at most 10.
    pub past: Vec<Outcome>,
    /// How many ticks ended how.
    pub counts: Counts,
}

/// The view of a row; `None` of one that a later release wrote.
pub(super) fn view(name: ScheduleName, text: &str, lives: bool, now_ms: u64) -> Option<ScheduleView> {
    let Some((row, job)) = Row::read(text) else {
        tracing::warn!(schedule = %name, "its row cannot be read: a later release wrote it, ask with that one");
        return None;
    };
    let orphaned = row.is_orphaned(now_ms);
    let definition = row.definition;
    let timing = definition.timing();
    let next = row.next.and_then(|at| {
        let before = DateTime::from_timestamp(at - 1, 0)?;
        timing.as_ref()?.next_after(before).ok()
    });
    let lag = row.next.map_or(0, |at| now_ms.saturating_sub(definition.fires_at(&name, at)));
    let (when, tz) = match definition.when {
        When::Cron { line, tz } => (line, Some(tz)),
        When::Every(period) => (period, None),
    };
    Some(ScheduleView {
        name,
        when,
        tz,
        task: definition.task,
        args: definition.args,
        queue: definition.queue,
        missed: definition.missed,
        overlap: definition.overlap,
        catchup_window: Duration::from_millis(definition.catchup_ms),
        paused: row.paused,
        orphaned,
        brought: row.brought,
        generation: row.generation,
        next,
        lag: Duration::from_millis(lag),
        waiting: row.waiting.len(),
        job: job.map(|job| (job, lives)),
        past: row.past.into(),
        counts: row.counts,
    })
}
