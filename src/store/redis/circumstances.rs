//! What stands around a job, queues, workers and their tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::{Cmd, Value};

use super::RedisStore;
use super::connection::Arguments;
use super::script::Name;
use super::view::{dead_for, job_view, number, token_of};
use crate::error::Error;
use crate::limits::{LANE_KEPT, POSITION_MAX, WORKERS_LISTED_MAX};
use crate::names::{Fence, JobId, LockKey, ProcessId, QueueName, TaskName};
use crate::store::circumstances::{Circumstances, Holder, LockView, QueueView, WorkerView, since};

/// Queues that one script counts.
const QUEUES_PIECE: usize = 100;

/// Who works, and what may not be worked at.
pub(super) struct Crew {
    pub(super) workers: Vec<WorkerView>,
    paused: Vec<QueueName>,
}

impl RedisStore {
    pub(super) async fn run_circumstances(&self, id: JobId) -> Result<Option<Circumstances>, Error> {
        let mut a = Arguments::default();
        a.push(id.encode()).int(POSITION_MAX as u64);
        let value = self.patiently(Name::Circumstances, &a, &format!("explain job {id}")).await?;
        let fields = read_fields(value, "explain a job")?;
        let [value, body, rest @ ..] = fields.as_slice() else {
            return Ok(None);
        };
        let job = job_view(id, value, body, rest)?;
        let [_, place, _, _, instant, now, around @ ..] = rest else {
            return Err(too_short());
        };
        let [paused, deadline, fence, gives_up, position, lock @ ..] = around else {
            return Err(too_short());
        };
        let now_ms = number(now);
        let until = |ms: &[u8]| (!ms.is_empty()).then(|| Duration::from_millis(number(ms).saturating_sub(now_ms)));
        Ok(Some(Circumstances {
            job,
            paused: !paused.is_empty(),
            active_for: (!fence.is_empty()).then(|| since(number(fence), now_ms * 1000)),
            lease_left: until(deadline),
            dead_for: dead_for(place, instant, now_ms),
            lock: lock_view(lock, now_ms),
            gives_up_in: until(gives_up),
            ahead: (!position.is_empty()).then(|| number(position)),
        }))
    }

    pub(super) async fn run_workers(&self) -> Result<Crew, Error> {
        let mut a = Arguments::default();
        a.int(WORKERS_LISTED_MAX as u64).int(LANE_KEPT.as_millis() as u64);
        let fields = read_fields(self.patiently(Name::Workers, &a, "list workers").await?, "list workers")?;
        let [now, paused, rows @ ..] = fields.as_slice() else {
            return Err(too_short());
        };
        let paused = String::from_utf8_lossy(paused);
        Ok(Crew {
            workers: rows.chunks_exact(3).map(|row| worker_view(row, number(now))).collect(),
            paused: paused.split(',').filter_map(|queue| QueueName::new(queue).ok()).collect(),
        })
    }

    pub(super) async fn run_queues(&self) -> Result<Vec<QueueView>, Error> {
        let crew = self.run_workers().await?;
        let mut serving: BTreeMap<QueueName, u64> = BTreeMap::new();
        for queue in self.held_queues().await?.into_iter().chain(crew.paused) {
            serving.entry(queue).or_default();
        }
        for queue in crew
            .workers
            .iter()
            .filter(|worker| worker.is_live())
            .flat_map(|worker| &worker.queues)
        {
            *serving.entry(queue.clone()).or_default() += 1;
        }
        let serving: Vec<(QueueName, u64)> = serving.into_iter().collect();
        let mut views = Vec::with_capacity(serving.len());
        for piece in serving.chunks(QUEUES_PIECE) {
            let mut a = Arguments::default();
            for (queue, _) in piece {
                a.push(queue.as_str());
            }
            let fields = read_fields(self.patiently(Name::Queues, &a, "list queues").await?, "list queues")?;
            for ((queue, workers), row) in piece.iter().zip(fields.chunks_exact(3)) {
                let ready = number(&row[0]);
                let paused = number(&row[1]) == 1;
                // it went away between the look for queues and this one
                if ready == 0 && !paused && *workers == 0 {
                    continue;
                }
                views.push(QueueView {
                    queue: queue.clone(),
                    ready,
                    paused,
                    oldest: row[2].chunks_exact(JobId::LEN).filter_map(JobId::decode).min(),
                    workers: *workers,
                });
            }
        }
        Ok(views)
    }

    pub(super) async fn run_tasks(&self) -> Result<Vec<(String, String)>, Error> {
        let mut command = Cmd::new();
        command.arg("HGETALL").arg(self.keys.tasks());
        let tasks: BTreeMap<String, String> =
            redis::from_redis_value(self.read(&command, "list tasks").await?).map_err(|e| Error::Internal {
                what: format!("list tasks: {e}"),
            })?;
        Ok(tasks.into_iter().collect())
    }
}

fn read_fields(value: Value, what: &str) -> Result<Vec<Vec<u8>>, Error> {
    redis::from_redis_value(value).map_err(|e| Error::Internal {
        what: format!("{what}: {e}"),
    })
}

fn too_short() -> Error {
    Error::Internal {
        what: "a script of the read model answered too few fields".into(),
    }
}

/// `key, waiters, holder's token, its fence, ttl, its job`; the last four only where somebody holds it.
pub(super) fn lock_view(fields: &[Vec<u8>], now_ms: u64) -> Option<LockView> {
    let [key, waiters, holder @ ..] = fields else { return None };
    let holder = match holder {
        [token, fence, ttl, job] => Some(Holder {
            token: token_of(token),
            fence: Fence(number(fence)),
            job: JobId::decode(job),
            held_for: since(number(fence), now_ms * 1000),
            left: Duration::from_millis(number(ttl)),
        }),
        _ => None,
    };
    Some(LockView {
        key: LockKey::from_wire(std::str::from_utf8(key).ok()?)?,
        holder,
        waiters: number(waiters),
    })
}

/// A card as `card_json` writes it.
#[derive(serde::Deserialize, Default)]
struct Card {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    queues: Vec<String>,
    #[serde(default)]
    tasks: Vec<String>,
    #[serde(default)]
    concurrency: usize,
    #[serde(default)]
    running: usize,
}

/// `worker, ms when it spoke, card`.
fn worker_view(row: &[Vec<u8>], now_ms: u64) -> WorkerView {
    let card: Card = serde_json::from_slice(&row[2]).unwrap_or_default();
    WorkerView {
        worker: ProcessId::from_text(&String::from_utf8_lossy(&row[0])),
        labels: card.labels.into_iter().collect(),
        queues: card.queues.iter().filter_map(|queue| QueueName::new(queue).ok()).collect(),
        tasks: card.tasks.iter().filter_map(|task| TaskName::new(task).ok()).collect(),
        concurrency: card.concurrency,
        running: card.running,
        silent_for: Duration::from_millis(now_ms.saturating_sub(number(&row[1]))),
    }
}
