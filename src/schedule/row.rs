//! A schedule as it stands in the store, and what is to be done about it at an instant. Nothing here asks a clock or a store: the same row and
//! instant give the same plan on every replica.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::definition::{Definition, Missed, Overlap};
use crate::limits::{OUTCOMES_KEPT, SCHEDULE_ORPHANED, TICK_LATE, TICKS_KEPT_MAX, TICKS_MISSED_MAX};
use crate::names::{JobId, ProcessId, ScheduleName};
use crate::store::schedules::{NO_JOB, job_of};

/// What became of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// Its job was enqueued.
    Fired,
    /// Skipped: the job of the tick before had not ended.
    Overlap,
    /// Skipped: the schedule was paused.
    Paused,
    /// Skipped: it was missed.
    Misfire,
    /// Dropped: beyond a limit.
    Dropped,
    /// Enqueued by hand, beside the ticks.
    ByHand,
    /// Its job could not be made: the task takes other arguments.
    Refused,
}

impl Fate {
    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Fired => "fired",
            Fate::Overlap => "overlap",
            Fate::Paused => "paused",
            Fate::Misfire => "misfire",
            Fate::Dropped => "dropped",
            Fate::ByHand => "by_hand",
            Fate::Refused => "refused",
        }
    }
}

/// A tick, or several in a row, and what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The tick, the latest of several: seconds since 1970.
    pub at: i64,
    /// What became of it.
    pub fate: Fate,
    /// How much later than it should it was decided, in milliseconds.
    pub late_ms: u64,
    /// Its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// How many ticks this stands for, where more than one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub ticks: u64,
}

fn one() -> u64 {
    1
}

fn is_one(n: &u64) -> bool {
    *n == 1
}

/// How many ticks ended how, since the schedule was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Fired.
    pub fired: u64,
    /// Skipped: the job of the tick before had not ended.
    pub overlap: u64,
    /// Skipped: paused.
    pub paused: u64,
    /// Skipped: missed.
    pub misfire: u64,
    /// Dropped beyond a limit.
    pub dropped: u64,
    /// Enqueued by hand.
    pub by_hand: u64,
    /// Without a job, because the task takes other arguments.
    pub refused: u64,
}

/// A tick that is to be fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Due {
    /// Seconds since 1970.
    pub at: i64,
    /// Ticks before it that fire no more.
    pub missed: u64,
}

/// A schedule's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub definition: Definition,
    /// Workers bring it with them: when none does any more, it is orphaned.
    pub brought: bool,
    pub generation: u64,
    /// When a worker that brings it last said so: milliseconds since 1970.
    pub seen: u64,
    pub paused: bool,
    /// The next tick, in seconds since 1970; none after the last.
    pub next: Option<i64>,
    /// Ticks that wait for the job before them.
    pub waiting: VecDeque<Due>,
    /// The replica that fired last: the others let it be first.
    pub by: String,
    pub counts: Counts,
    pub past: VecDeque<Outcome>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    /// Nothing before this instant, in milliseconds since 1970; never, when nothing will come.
    Wait(Option<u64>),
    /// The row is to be this, and these ticks are to be fired.
    Step(Box<Change>),
}

/// A change of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub row: Row,
    pub fire: Vec<Due>,
    /// Only from this instant on.
    pub from: u64,
    /// Only before this one.
    pub before: Option<u64>,
    /// What was assumed of the job of the latest tick.
    pub previous_lives: Option<bool>,
}

impl Row {
    /// A schedule that was never seen before: its first tick is the next after now.
    pub(crate) fn first(definition: Definition, brought: bool, generation: u64, now_ms: u64) -> Self {
        let next = definition.timing().and_then(|timing| timing.after((now_ms / 1000) as i64));
        Self {
            definition,
            brought,
            generation,
            seen: now_ms,
            paused: false,
            next,
            waiting: VecDeque::new(),
            by: String::new(),
            counts: Counts::default(),
            past: VecDeque::new(),
        }
    }

    /// Another definition: it counts from now on, never for what has passed.
    pub(crate) fn edited(&self, definition: Definition, brought: bool, generation: u64, now_ms: u64) -> Self {
        let mut row = Self::first(definition, brought, generation, now_ms);
        if row.definition.when == self.definition.when {
            row.next = self.next;
        }
        row.paused = self.paused;
        row.by.clone_from(&self.by);
        row.counts = self.counts;
        row.past.clone_from(&self.past);
        row.waiting.clone_from(&self.waiting);
        row
    }

    /// As it stands in the store.
    pub(crate) fn write(&self, job: Option<JobId>) -> String {
        let id = job.map_or_else(|| NO_JOB.to_owned(), |job| job.to_string());
        format!("{id}{}", serde_json::to_string(self).unwrap_or_default())
    }

    /// Reads a row, and the job of its latest tick; `None` when it is none of ours, or of a later release.
    pub(crate) fn read(text: &str) -> Option<(Self, Option<JobId>)> {
        let row = serde_json::from_str(text.get(JobId::LEN..)?).ok()?;
        Some((row, job_of(text)))
    }

    /// No worker has brought it for ten minutes: it does not tick until one does.
    pub(crate) fn is_orphaned(&self, now_ms: u64) -> bool {
        self.brought && now_ms.saturating_sub(self.seen) > SCHEDULE_ORPHANED.as_millis() as u64
    }

    /// On with the next tick after now.
    pub(crate) fn skip_to(&mut self, now_ms: u64) {
        let now = (now_ms / 1000) as i64;
        if self.next.is_some_and(|next| next <= now) {
            self.next = self.definition.timing().and_then(|timing| timing.after(now));
        }
    }

    /// Whether the job of the latest tick is to be cancelled while it lives: a tick waits to replace it.
    pub(crate) fn replaces(&self) -> bool {
        self.definition.overlap == Overlap::Replace && !self.waiting.is_empty() && !self.paused
    }

    fn asked_again(&self) -> Duration {
        if self.replaces() { REPLACING_ASKED } else { WAITING_ASKED }
    }

    /// Notes what became of ticks.
    pub(crate) fn note(&mut self, at: i64, fate: Fate, late_ms: u64, job: Option<JobId>, ticks: u64) {
        if ticks == 0 {
            return;
        }
        let count = match fate {
            Fate::Fired => &mut self.counts.fired,
            Fate::Overlap => &mut self.counts.overlap,
            Fate::Paused => &mut self.counts.paused,
            Fate::Misfire => &mut self.counts.misfire,
            Fate::Dropped => &mut self.counts.dropped,
            Fate::ByHand => &mut self.counts.by_hand,
            Fate::Refused => &mut self.counts.refused,
        };
        *count += ticks;
        self.past.push_back(Outcome {
            at,
            fate,
            late_ms,
            job: job.map(|job| job.to_string()),
            ticks,
        });
        while self.past.len() > OUTCOMES_KEPT {
            self.past.pop_front();
        }
    }

    /// What is to be done at an instant, if the job of the latest tick lives or not.
    pub(crate) fn plan(&self, name: &ScheduleName, now_ms: u64, previous_lives: bool, me: &ProcessId) -> Plan {
        if self.is_orphaned(now_ms) {
            return Plan::Wait(None);
        }
        let fires = |tick| self.definition.fires_at(name, tick);
        let due = self.next.filter(|tick| fires(*tick) <= now_ms);
        let starts = !self.waiting.is_empty() && !previous_lives && !self.paused;
        if due.is_none() && !starts {
            let retry = (!self.waiting.is_empty() && !self.paused).then(|| now_ms + self.asked_again().as_millis() as u64);
            return Plan::Wait(self.next.map(fires).into_iter().chain(retry).min());
        }
        let mut change = Change::none(self.clone());
        let mut busy = previous_lives;
        if starts {
            change.start_waiting(&mut busy);
        }
        if let Some(first) = due {
            let Some(missed) = self.missed(first, now_ms, &fires) else {
                return Plan::Wait(None);
            };
            change.from = fires(missed.latest);
            change.before = missed.next.map(fires);
            change.row.next = missed.next;
            change.row.by = me.to_string();
            self.decide(&mut change, missed, now_ms, busy, &fires);
        }
        Plan::Step(Box::new(change))
    }

    /// The ticks that are due.
    fn missed(&self, first: i64, now_ms: u64, fires: &impl Fn(i64) -> u64) -> Option<DueTicks> {
        let timing = self.definition.timing()?;
        let mut ticks = DueTicks {
            kept: VecDeque::from([first]),
            count: 1,
            latest: first,
            next: None,
        };
        loop {
            let next = timing.after(ticks.latest);
            match next.filter(|next| fires(*next) <= now_ms) {
                Some(next) if ticks.count < TICKS_MISSED_MAX => {
                    ticks.latest = next;
                    ticks.count += 1;
                    ticks.kept.push_back(next);
                    if ticks.kept.len() > TICKS_KEPT_MAX as usize {
                        ticks.kept.pop_front();
                    }
                }
                // more than anybody counts: on from now
                Some(_) => {
                    let now = (now_ms / 1000) as i64;
                    ticks.next = timing.after(now);
                    return Some(ticks);
                }
                None => {
                    ticks.next = next;
                    return Some(ticks);
                }
            }
        }
    }

    fn decide(&self, change: &mut Change, ticks: DueTicks, now_ms: u64, mut busy: bool, fires: &impl Fn(i64) -> u64) {
        let late = |tick| now_ms.saturating_sub(fires(tick));
        let row = &mut change.row;
        if self.paused {
            row.note(ticks.latest, Fate::Paused, late(ticks.latest), None, ticks.count);
            return;
        }
        let in_time = |tick: &i64, window: u64| late(*tick) <= window;
        let window = match self.definition.missed {
            Missed::Skip => self.definition.catchup_ms.min(TICK_LATE.as_millis() as u64),
            _ => self.definition.catchup_ms,
        };
        let most = match self.definition.missed {
            Missed::FireOnce | Missed::Skip => 1,
            Missed::FireAll { limit } => limit as usize,
        };
        let good: Vec<i64> = ticks.kept.iter().copied().filter(|tick| in_time(tick, window)).collect();
        let chosen = &good[good.len().saturating_sub(most)..];
        let passed = ticks.count - chosen.len() as u64;
        let fate = match (self.definition.missed, good.len() > chosen.len()) {
            (Missed::FireAll { .. }, true) => Fate::Dropped,
            _ => Fate::Misfire,
        };
        if passed > 0 {
            let last = ticks.kept.iter().rev().find(|tick| !chosen.contains(tick));
            let last = last.copied().unwrap_or(ticks.latest);
            row.note(last, fate, late(last), None, passed);
        }
        for (i, at) in chosen.iter().copied().enumerate() {
            let missed = if i == 0 { passed } else { 0 };
            let due = Due { at, missed };
            if self.definition.overlap == Overlap::Allow {
                change.fire.push(due);
                continue;
            }
            // taken for granted from here on
            change.previous_lives.get_or_insert(busy && change.fire.is_empty());
            if !busy && change.row.waiting.is_empty() {
                change.fire.push(due);
                busy = true;
                continue;
            }
            let row = &mut change.row;
            match self.definition.overlap {
                Overlap::Skip | Overlap::Allow => row.note(at, Fate::Overlap, late(at), None, 1),
                Overlap::QueueOne if row.waiting.is_empty() => row.waiting.push_back(due),
                Overlap::QueueOne => row.note(at, Fate::Overlap, late(at), None, 1),
                Overlap::QueueAll { limit } if row.waiting.len() < limit as usize => row.waiting.push_back(due),
                Overlap::QueueAll { .. } => row.note(at, Fate::Dropped, late(at), None, 1),
                Overlap::Replace => {
                    while let Some(older) = row.waiting.pop_front() {
                        row.note(older.at, Fate::Overlap, late(older.at), None, 1);
                    }
                    row.waiting.push_back(due);
                }
            }
        }
    }
}

/// How often it is asked whether the job has ended that a tick waits for; sooner where that job was cancelled.
const WAITING_ASKED: Duration = Duration::from_secs(1);
const REPLACING_ASKED: Duration = Duration::from_millis(200);

struct DueTicks {
    /// The latest of them.
    kept: VecDeque<i64>,
    count: u64,
    latest: i64,
    /// The first that is not due.
    next: Option<i64>,
}

impl Change {
    /// Nothing to fire.
    pub(crate) fn none(row: Row) -> Self {
        Self {
            row,
            fire: Vec::new(),
            from: 0,
            before: None,
            previous_lives: None,
        }
    }

    /// The job that a tick waited for has ended.
    fn start_waiting(&mut self, busy: &mut bool) {
        if let Some(due) = self.row.waiting.pop_front() {
            self.fire.push(due);
            self.previous_lives = Some(false);
            *busy = true;
        }
    }
}

#[cfg(test)]
mod tests;
