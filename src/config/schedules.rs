//! `[[schedules]]`: jobs that come due by themselves.

use std::time::Duration;

use super::section::Section;
use super::tasks::{RETRIES_MAX, TICK, priority};
use crate::limits::{CATCHUP_WINDOW, DELAY_MAX, LEASE_MAX, TICKS_KEPT_MAX};
use crate::names::{QueueName, ScheduleName, TaskName};
use crate::schedule::{Cron, Every, Missed, Overlap, Schedule, Zone};

pub(super) fn read(root: &mut Section<'_>) -> Vec<Schedule> {
    let mut schedules: Vec<Schedule> = Vec::new();
    root.each_of("schedules", "name", |mut section| {
        let schedule = one(&mut section);
        if let Some(schedule) = &schedule
            && schedules.iter().any(|other| other.name() == schedule.name())
        {
            section.refuse_here("a schedule of this name stands above: each has a name of its own");
        }
        section.finish();
        schedules.extend(schedule);
    });
    schedules
}

fn one(section: &mut Section<'_>) -> Option<Schedule> {
    let name = required(section, "name", |name| ScheduleName::new(name).err().map(|error| error.to_string()));
    let task = required(section, "task", |task| TaskName::new(task).err().map(|error| error.to_string()));
    let when = when(section, name.as_deref().unwrap_or("schedule"));
    let args = section.json("args");
    let missed = missed(section);
    let overlap = overlap(section);
    let window = section.duration_or("catchup_window", CATCHUP_WINDOW, TICK..=DELAY_MAX);
    let jitter = section.duration_or("jitter", Duration::ZERO, Duration::ZERO..=DELAY_MAX);
    let spread = section.duration_or("spread", Duration::ZERO, Duration::ZERO..=DELAY_MAX);
    let queue = section.text("queue");
    if let Some(Err(error)) = queue.as_ref().map(QueueName::new) {
        section.refuse::<()>("queue", error.to_string());
    }
    let priority = section.has("priority").then(|| priority(section));
    let retries = section.number("retries", 0..=RETRIES_MAX);
    let timeout = section.duration("timeout", TICK..=DELAY_MAX);
    let least = section.duration("lock_at_least", TICK..=LEASE_MAX);
    let expires_in = section.duration("expires_in", TICK..=DELAY_MAX);
    let generation = section.number("generation", 0..=i64::MAX as u64);
    let mut schedule = when?
        .task(task?, args)
        .missed(missed)
        .overlap(overlap)
        .catchup_window(window)
        .jitter(jitter)
        .spread(spread);
    name?;
    if let Some(queue) = queue {
        schedule = schedule.queue(queue);
    }
    if let Some(priority) = priority {
        schedule = schedule.priority(priority);
    }
    if let Some(retries) = retries {
        schedule = schedule.retries(retries as u32);
    }
    if let Some(timeout) = timeout {
        schedule = schedule.timeout(timeout);
    }
    if let Some(least) = least {
        schedule = schedule.lock_at_least(least);
    }
    if let Some(after) = expires_in {
        schedule = schedule.expires_in(after);
    }
    if let Some(generation) = generation {
        schedule = schedule.generation(generation);
    }
    Some(schedule)
}

fn required(section: &mut Section<'_>, key: &'static str, wrong: impl Fn(&str) -> Option<String>) -> Option<String> {
    if !section.has(key) {
        section.missing(key, "text in quotes");
        return None;
    }
    let text = section.text(key)?;
    match wrong(&text) {
        Some(why) => section.refuse(key, why),
        None => Some(text),
    }
}

fn when(section: &mut Section<'_>, name: &str) -> Option<Schedule> {
    let (cron, every, tz) = (section.text("cron"), section.text("every"), section.text("tz"));
    match (cron, every) {
        (Some(_), Some(_)) => section.refuse("every", "`cron` is set too: keep one of the two"),
        (None, None) => {
            section.refuse_here("it never ticks: add `cron = \"0 3 * * *\"` or `every = \"15m\"`");
            None
        }
        (Some(line), None) => {
            if let Err(error) = Cron::parse(&line) {
                section.refuse::<()>("cron", error.to_string());
            }
            let schedule = Schedule::cron(name, line);
            let Some(tz) = tz else { return Some(schedule) };
            if let Err(error) = Zone::parse(&tz) {
                section.refuse::<()>("tz", error.to_string());
            }
            Some(schedule.tz(tz))
        }
        (None, Some(period)) => {
            if let Err(error) = Every::parse(&period) {
                section.refuse::<()>("every", error.to_string());
            }
            match tz {
                Some(_) => section.refuse("tz", "`every` counts from 1970 in UTC: use `cron` for the time of a place"),
                None => Some(Schedule::every(name, period)),
            }
        }
    }
}

/// A word, or a word and a number behind a blank.
fn limited(text: &str, word: &str) -> Option<u32> {
    let limit = text.strip_prefix(word)?.strip_prefix(' ')?.trim().parse().ok()?;
    (1..=TICKS_KEPT_MAX).contains(&limit).then_some(limit)
}

fn missed(section: &mut Section<'_>) -> Missed {
    let text = section.text_or("missed", "fire_once", |_| Ok(()));
    match text.as_str() {
        "fire_once" => Missed::FireOnce,
        "skip" => Missed::Skip,
        text => match limited(text, "fire_all") {
            Some(limit) => Missed::FireAll { limit },
            None => section
                .refuse(
                    "missed",
                    format!("{text:?} is not allowed: it takes \"fire_once\", \"skip\" or \"fire_all 10\" (1 to {TICKS_KEPT_MAX})"),
                )
                .unwrap_or_default(),
        },
    }
}

fn overlap(section: &mut Section<'_>) -> Overlap {
    let text = section.text_or("overlap", "skip", |_| Ok(()));
    match text.as_str() {
        "skip" => Overlap::Skip,
        "queue_one" => Overlap::QueueOne,
        "allow" => Overlap::Allow,
        "replace" => Overlap::Replace,
        text => match limited(text, "queue_all") {
            Some(limit) => Overlap::QueueAll { limit },
            None => section
                .refuse(
                    "overlap",
                    format!(
                        "{text:?} is not allowed: it takes \"skip\", \"queue_one\", \"queue_all 10\" (1 to {TICKS_KEPT_MAX}), \"allow\" or \"replace\""
                    ),
                )
                .unwrap_or_default(),
        },
    }
}
