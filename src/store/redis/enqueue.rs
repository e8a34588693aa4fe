//! Enqueue on Redis: one batch, one trip, and a resend that never makes a second job.

use std::time::{Instant, SystemTime};

use redis::Value;

use super::RedisStore;
use super::arguments::Arguments;
use super::connection::{Fault, Pause};
use super::lanes::Lane;
use super::script::Name;
use super::wire::{millis, write_job, write_locks};
use crate::error::{Error, Invalid};
use crate::limits::{ENQUEUE_BATCH_MAX, RESEND_DEADLINE};
use crate::names::{JobId, ProcessId};
use crate::store::new_job::{Accepted, Due, Header, NewJob};

/// How long an enqueue that could not even be sent is tried.
const CONNECT_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// Position (from 0) of the argument that is written over.
const RESEND: usize = 4;

impl RedisStore {
    pub(super) async fn run_enqueue(&self, process: &ProcessId, jobs: Vec<NewJob>) -> Result<Vec<Accepted>, Error> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        if jobs.len() > ENQUEUE_BATCH_MAX {
            return Err(Invalid::new("batch", jobs.len(), format!("at most {ENQUEUE_BATCH_MAX} jobs")).into());
        }
        let action = || self.action(&format!("enqueue {} job(s)", jobs.len()));
        let unknown = || Error::Unknown {
            action: action(),
            ids: jobs.iter().map(|job| job.id).collect(),
        };
        let script = self.scripts.script(Name::Enqueue);
        let begun = Instant::now();
        let mut lane = self.lanes.take(process);
        let mut sent = false;
        lane.number += 1;
        let mut arguments = arguments(process, lane, self.refresh_lanes(process), &jobs);
        let mut pause = Pause::new();
        loop {
            match self.commands.run(script, self.keys.prefix(), &arguments, || ()).await {
                Ok(value) => match answers(&value, &jobs) {
                    Some(accepted) => {
                        self.lanes.give_back(process, lane);
                        return Ok(accepted);
                    }
                    None if sent => return Err(unknown()),
                    None => {
                        // a first sending that the lane did not take was not applied
                        lane = self.lanes.fresh();
                        lane.number = 1;
                        arguments = self::arguments(process, lane, true, &jobs);
                        if begun.elapsed() > CONNECT_PATIENCE {
                            return Err(Error::Internal {
                                what: format!("{}: the script answered {value:?}", action()),
                            });
                        }
                    }
                },
                Err(Fault::Unknown(cause)) => {
                    if begun.elapsed() > RESEND_DEADLINE {
                        return Err(unknown());
                    }
                    tracing::debug!(cause, "enqueue unanswered, sending again");
                    sent = true;
                    arguments.replace(RESEND, b"1");
                }
                Err(Fault::Unsent(_) | Fault::Later { .. }) if sent && begun.elapsed() <= RESEND_DEADLINE => {}
                Err(Fault::Later { code, .. }) if code != "OOM" && code != "MISCONF" && begun.elapsed() <= CONNECT_PATIENCE => {}
                Err(Fault::Unsent(_)) if begun.elapsed() <= CONNECT_PATIENCE => {}
                Err(_) if sent => return Err(unknown()),
                Err(fault) => {
                    lane.number -= 1;
                    self.lanes.give_back(process, lane);
                    return Err(fault.into_error(action()));
                }
            }
            pause.wait().await;
        }
    }
}

/// The answers in the script's reply; `None` when the lane did not take it.
fn answers(value: &Value, jobs: &[NewJob]) -> Option<Vec<Accepted>> {
    let Value::BulkString(text) = value else { return None };
    match text.first() {
        Some(b'!') => None,
        _ => read_answers(text, jobs.len()),
    }
}

/// `n` when all are new, or a letter a job and the holder's id behind all but N.
pub(super) fn read_answers(text: &[u8], jobs: usize) -> Option<Vec<Accepted>> {
    if text == b"n" {
        return Some(vec![Accepted::New; jobs]);
    }
    let mut accepted = Vec::with_capacity(jobs);
    let mut rest = text;
    while let Some((letter, tail)) = rest.split_first() {
        if *letter == b'N' {
            accepted.push(Accepted::New);
            rest = tail;
            continue;
        }
        let (id, tail) = tail.split_at_checked(JobId::LEN)?;
        let id = JobId::decode(id)?;
        accepted.push(if *letter == b'E' {
            Accepted::Existing(id)
        } else {
            Accepted::Conflict(id)
        });
        rest = tail;
    }
    (accepted.len() == jobs).then_some(accepted)
}

/// The arguments of enqueue.lua, in its order.
fn arguments(process: &ProcessId, lane: Lane, refresh: bool, jobs: &[NewJob]) -> Arguments {
    let first = &jobs[0].header;
    let one_list = |job: &NewJob| job.header.queue == first.queue && job.header.priority == first.priority;
    let plain = jobs.iter().all(|job| job.is_plain() && one_list(job)).then_some(first);
    let mut a = Arguments::with_capacity(10 + 4 * jobs.len(), jobs.len() * 300);
    a.push(process.as_str())
        .int(lane.lane.into())
        .int(lane.number)
        .push(format!("{}|", lane.number - 1))
        .push("0");
    a.push(if refresh { "1" } else { "0" });
    push_jobs(&mut a, jobs, plain);
    a
}

/// The arguments of enqueue.lua from the number of jobs on; `plain` where all are plain and of this list.
pub(super) fn push_jobs(a: &mut Arguments, jobs: &[NewJob], plain: Option<&Header>) {
    a.int(jobs.len() as u64);
    match plain {
        Some(first) => a.push(first.queue.as_str()).push([first.priority.digit() as u8]),
        None => a.push("").push(""),
    };
    let mut apart = Vec::new();
    let bodies_apart = a.len();
    a.push("0");
    for job in jobs {
        let body = a.push(job.id.encode()).write(|value| write_job(value, job));
        apart.extend(body.map(|body| (job.id, body)));
    }
    for job in jobs {
        a.write(|entry| {
            if plain.is_none() {
                entry.push(job.header.priority.digit() as u8);
                entry.extend_from_slice(job.header.queue.as_str().as_bytes());
                entry.push(b'|');
            }
            entry.extend_from_slice(&job.id.encode());
            if !job.header.locks.is_empty() {
                entry.push(b'|');
                write_locks(entry, &job.header.locks);
            }
        });
    }
    if plain.is_none() {
        for job in jobs {
            a.push(extra(job));
        }
    }
    if !apart.is_empty() {
        a.replace(bodies_apart, apart.len().to_string().as_bytes());
    }
    for (id, body) in &apart {
        a.push(id.encode()).push(body);
    }
}

fn extra(job: &NewJob) -> String {
    let due = match job.due {
        Due::Now => String::new(),
        Due::After(delay) => format!("+{}", millis(delay)),
        Due::At(at) => format!("={}", at.duration_since(SystemTime::UNIX_EPOCH).map(millis).unwrap_or(0)),
    };
    let expires = job.header.expires_in.map(|d| millis(d).to_string()).unwrap_or_default();
    let Some(unique) = &job.unique else {
        return format!("{due};;;{expires};");
    };
    let digest: String = unique.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = unique.kept_for.map(|d| millis(d).to_string()).unwrap_or_default();
    format!("{due};{digest};{kept};{expires};{}", unique.key.wire())
}
