//! The read model on Redis.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::{Cmd, Value};

use super::RedisStore;
use super::arguments::Arguments;
use super::connection::{Fault, Pause};
use super::progress::progress_of;
use super::script::Name;
use super::wire::{Reader, death_of};
use crate::error::Error;
use crate::limits::ATTEMPTS_KEPT;
use crate::names::{JobId, LockKey, OwnerToken, QueueName, UniqueKey};
use crate::store::turn::Tries;
use crate::store::view::{AttemptEntry, Census, JobView, State};

/// Rounds of a scan: bounds what a namespace of millions costs a reader.
const SCAN_ROUNDS_MAX: usize = 10_000;

impl RedisStore {
    pub(super) async fn read(&self, command: &Cmd, what: &str) -> Result<Value, Error> {
        let mut pause = Pause::new();
        let mut tries = 0;
        loop {
            match self.commands.send(command, || ()).await {
                Ok(value) => return Ok(value),
                Err(Fault::Unknown(_) | Fault::Unsent(_) | Fault::Later { .. }) if tries < 6 => tries += 1,
                Err(fault) => return Err(fault.into_error(self.action(what))),
            }
            pause.wait().await;
        }
    }

    pub(super) async fn run_job(&self, id: JobId) -> Result<Option<JobView>, Error> {
        let mut a = Arguments::default();
        a.push(id.encode());
        let value = self.patiently(Name::View, &a, &format!("job {id}")).await?;
        let row: Vec<Vec<u8>> = redis::from_redis_value(value).map_err(|e| Error::Internal {
            what: format!("job {id}: {e}"),
        })?;
        let [value, body, rest @ ..] = row.as_slice() else {
            return Ok(None);
        };
        job_view(id, value, body, rest).map(Some)
    }

    pub(super) async fn run_unique_holder(&self, key: &UniqueKey) -> Result<Option<JobId>, Error> {
        let mut command = Cmd::new();
        command.arg("GET").arg(self.keys.unique(&key.wire()));
        let held: Option<Vec<u8>> = redis::from_redis_value(self.read(&command, &format!("unique key `{key}`")).await?).unwrap_or_default();
        Ok(held.and_then(|row| JobId::decode(row.get(..JobId::LEN)?)))
    }

    /// Keys of the whole server that match, in rounds.
    pub(super) async fn scan(&self, pattern: &str) -> Result<Vec<String>, Error> {
        let mut cursor = "0".to_owned();
        let mut found = BTreeSet::new();
        for _ in 0..SCAN_ROUNDS_MAX {
            let mut command = Cmd::new();
            command.arg("SCAN").arg(&cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000);
            let value = self.read(&command, "scan").await?;
            let (next, keys): (String, Vec<String>) = redis::from_redis_value(value).map_err(|e| Error::Internal {
                what: format!("scan: {e}"),
            })?;
            found.extend(keys);
            if next == "0" {
                break;
            }
            cursor = next;
        }
        Ok(found.into_iter().collect())
    }

    /// The queues whose lists are not empty.
    pub(super) async fn held_queues(&self) -> Result<BTreeSet<QueueName>, Error> {
        let lists = self.scan(&self.keys.queues()).await?;
        Ok(lists.iter().filter_map(|key| self.keys.queue_of(key)).collect())
    }

    pub(super) async fn run_census(&self) -> Result<Census, Error> {
        let queues: Vec<QueueName> = self.held_queues().await?.into_iter().collect();
        let mut a = Arguments::default();
        for queue in &queues {
            a.push(queue.as_str());
        }
        let value = self.patiently(Name::Census, &a, "census").await?;
        let Value::Array(row) = value else {
            return Err(Error::Internal {
                what: "the census script answered no list".into(),
            });
        };
        let count = |i: usize| match row.get(i) {
            Some(Value::Int(n)) => *n as u64,
            _ => 0,
        };
        let paused: String = row
            .get(6)
            .cloned()
            .and_then(|v| redis::from_redis_value(v).ok())
            .unwrap_or_default();
        let mut paused: Vec<QueueName> = paused.split(',').filter_map(|q| QueueName::new(q).ok()).collect();
        paused.sort();
        let ready = queues
            .into_iter()
            .enumerate()
            .map(|(i, q)| (q, count(7 + i)))
            .filter(|(_, n)| *n > 0)
            .collect();
        Ok(Census {
            ready,
            scheduled: count(0),
            parked: count(1),
            active: count(2),
            dead: count(3),
            jobs: count(4),
            workers: count(5),
            paused,
        })
    }

    pub(super) async fn run_attempts(&self, after: u64, limit: usize) -> Result<Vec<AttemptEntry>, Error> {
        let mut command = Cmd::new();
        command
            .arg("XRANGE")
            .arg(self.keys.attempts())
            .arg(after + 1)
            .arg("+")
            .arg("COUNT")
            // the log keeps no more than that
            .arg(limit.clamp(1, ATTEMPTS_KEPT as usize));
        let value = self.read(&command, "attempts").await?;
        Ok(super::log::entries(value)
            .into_iter()
            .filter(|entry| entry.number > after)
            .collect())
    }

    pub(super) async fn run_keys(&self) -> Result<Vec<(String, u64)>, Error> {
        let mut out = Vec::new();
        for key in self.scan(&self.keys.everything()).await? {
            if key.ends_with(":test_clock") {
                continue;
            }
            let mut command = Cmd::new();
            command.arg("MEMORY").arg("USAGE").arg(&key).arg("SAMPLES").arg(0);
            let bytes: Option<u64> = redis::from_redis_value(self.read(&command, "memory usage").await?).unwrap_or_default();
            if let Some(bytes) = bytes {
                out.push((key[self.keys.prefix().len()..].to_owned(), bytes));
            }
        }
        Ok(out)
    }
}

/// A job of its stored value, its body apart, and `owner, place, tries, cancel mark, instant, now, progress`.
pub(super) fn job_view(id: JobId, value: &[u8], body: &[u8], rest: &[Vec<u8>]) -> Result<JobView, Error> {
    let [owner, place, tries, cancel, instant, now, progress, ..] = rest else {
        return Err(Error::Internal {
            what: format!("job {id}: the script answered {} fields", rest.len() + 2),
        });
    };
    let now_ms = number(now);
    let envelope = Reader::default()
        .envelope(value, (!body.is_empty()).then_some(body))
        .map(|(envelope, _)| envelope);
    let (tries, errors) = read_tries(tries, now_ms);
    Ok(JobView {
        id,
        state: state_of(id, [owner, place, cancel, instant], now_ms)?,
        envelope,
        tries,
        errors,
        progress: progress_of(progress),
    })
}

/// A state of `owner, place, cancel mark, instant`.
pub(super) fn state_of(id: JobId, [owner, place, cancel, instant]: [&Vec<u8>; 4], now_ms: u64) -> Result<State, Error> {
    if !owner.is_empty() {
        return Ok(State::Active {
            token: token_of(owner),
            cancel_requested: !cancel.is_empty(),
        });
    }
    Ok(match place.first() {
        Some(b's') => State::Scheduled {
            due_in: Duration::from_millis(number(instant).saturating_sub(now_ms)),
        },
        Some(b'p') => {
            let text = String::from_utf8_lossy(&place[1..]);
            let (since, key) = text.split_once('|').unwrap_or_default();
            let behind = LockKey::from_wire(key).ok_or_else(|| Error::Internal {
                what: format!("job {id} is parked behind {key:?}"),
            })?;
            State::Parked {
                behind,
                waited: Duration::from_millis(now_ms.saturating_sub(number(since.as_bytes()))),
            }
        }
        Some(b'd') => {
            let text = String::from_utf8_lossy(place);
            let reason = text.splitn(4, '|').nth(3).unwrap_or_default().to_owned();
            State::Dead {
                death: death_of(place.get(1).copied()),
                reason,
            }
        }
        _ => State::Ready,
    })
}

/// How long a job has been dead, of its place and the instant that belongs to it.
pub(super) fn dead_for(place: &[u8], instant: &[u8], now_ms: u64) -> Option<Duration> {
    let dead = place.first() == Some(&b'd') && !instant.is_empty();
    dead.then(|| Duration::from_millis(now_ms.saturating_sub(number(instant))))
}

/// A token as the store keeps it.
pub(super) fn token_of(text: &[u8]) -> OwnerToken {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.rsplitn(3, '.');
    let (count, lane, process) = (parts.next(), parts.next(), parts.next());
    OwnerToken::from_parts(process.unwrap_or_default(), lane.unwrap_or_default(), count.unwrap_or_default())
}

pub(super) fn number(text: &[u8]) -> u64 {
    std::str::from_utf8(text).ok().and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) as u64
}

/// `charged|strikes|mark|mismatches|since|by` and the errors, separated by \x01.
pub(super) fn read_tries(row: &[u8], now_ms: u64) -> (Tries, Vec<String>) {
    let text = String::from_utf8_lossy(row);
    let Some((head, errors)) = text.split_once('\n') else {
        return (Tries::default(), Vec::new());
    };
    let mut fields = head.split('|');
    let mut field = || fields.next().unwrap_or_default();
    let charged = number(field().as_bytes()) as u32;
    let strikes = number(field().as_bytes()) as u32;
    let suspect = !field().is_empty();
    let mismatches = number(field().as_bytes()) as u32;
    let since = number(field().as_bytes());
    let mismatched_for = if mismatches > 0 {
        Duration::from_millis(now_ms.saturating_sub(since))
    } else {
        Duration::ZERO
    };
    let errors = errors.split('\u{1}').filter(|e| !e.is_empty()).map(str::to_owned).collect();
    (
        Tries {
            charged,
            strikes,
            suspect,
            mismatches,
            mismatched_for,
        },
        errors,
    )
}
