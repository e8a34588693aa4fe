//! Schedules on Redis: the rows, and a step that compares, sets and enqueues.

use std::time::Duration;

use redis::Value;

use super::RedisStore;
use super::arguments::Arguments;
use super::circumstances::{read_fields, too_short};
use super::enqueue::{push_jobs, read_answers};
use super::script::Name;
use super::view::number;
use super::wire::millis;
use crate::error::Error;
use crate::limits::ENQUEUE_BATCH_MAX;
use crate::names::ScheduleName;
use crate::store::new_job::Accepted;
use crate::store::schedules::{ScheduleRows, ScheduleStep, StepAnswer, Stepped};

impl RedisStore {
    pub(super) async fn run_schedules(&self) -> Result<ScheduleRows, Error> {
        let what = "list schedules";
        let fields = read_fields(self.patiently(Name::Schedules, &Arguments::default(), what).await?, what)?;
        let [now, version, rows @ ..] = fields.as_slice() else {
            return Err(too_short());
        };
        // what is no text or has no such name is none of ours
        let row = |row: &[Vec<u8>]| {
            let name = ScheduleName::new(std::str::from_utf8(&row[0]).ok()?).ok()?;
            Some((name, String::from_utf8(row[1].clone()).ok()?, row[2] == b"1"))
        };
        let mut rows: Vec<_> = rows.chunks_exact(3).filter_map(row).collect();
        rows.sort();
        Ok(ScheduleRows {
            now: Duration::from_millis(number(now)),
            version: number(version),
            rows,
        })
    }

    pub(super) async fn run_step_schedule(&self, step: ScheduleStep) -> Result<Stepped, Error> {
        if step.jobs.len() > ENQUEUE_BATCH_MAX {
            return Err(crate::error::Invalid::new("batch", step.jobs.len(), format!("at most {ENQUEUE_BATCH_MAX} jobs")).into());
        }
        let instant = |at: Option<Duration>| at.map(|at| millis(at).to_string()).unwrap_or_default();
        let mut a = Arguments::default();
        a.push(step.name.as_str())
            .push(step.expected.as_deref().unwrap_or_default())
            .push(step.new.as_deref().unwrap_or_default())
            .push(instant(step.from))
            .push(instant(step.before))
            .push(match step.previous_lives {
                None => "",
                Some(false) => "0",
                Some(true) => "1",
            })
            .push(if step.tell { "1" } else { "0" });
        for _ in 0..6 {
            a.push("");
        }
        push_jobs(&mut a, &step.jobs, None);
        let what = format!("schedule {}", step.name);
        let value = self.patiently(Name::Step, &a, &what).await?;
        let Value::BulkString(text) = value else {
            return Err(Error::Internal {
                what: format!("{what}: the script answered {value:?}"),
            });
        };
        read(&text, &step).ok_or_else(|| Error::Internal {
            what: format!("{what}: the script answered {:?}", String::from_utf8_lossy(&text)),
        })
    }
}

/// `?`, the instant and why not; or the instant and what enqueue.lua answers.
fn read(text: &[u8], step: &ScheduleStep) -> Option<Stepped> {
    let refused = text.first() == Some(&b'?');
    let text = if refused { &text[1..] } else { text };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (now, rest) = text.split_at(digits);
    let now = Duration::from_millis(std::str::from_utf8(now).ok()?.parse().ok()?);
    let answer = match (refused, rest) {
        (false, rest) => StepAnswer::Done(read_answers(rest, step.jobs.len())?),
        (true, b"E") => StepAnswer::Early,
        (true, b"P") => StepAnswer::Past,
        (true, b"M0") => StepAnswer::Previous(false),
        (true, b"M1") => StepAnswer::Previous(true),
        (true, [b'L', row @ ..]) => {
            let row = Some(String::from_utf8_lossy(row).into_owned()).filter(|row| !row.is_empty());
            match row == step.new {
                // a resend of what was done: no two steps write the same row
                true => StepAnswer::Done(vec![Accepted::New; step.jobs.len()]),
                false => StepAnswer::Lost(row),
            }
        }
        _ => return None,
    };
    Some(Stepped { now, answer })
}
