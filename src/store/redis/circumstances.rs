//! What stands around a job, queues, workers and their tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::Value;

use super::RedisStore;
use super::arguments::Arguments;
use super::script::Name;
use super::view::{dead_for, job_view, number, token_of};
use crate::error::Error;
use crate::limits::POSITION_MAX;
use crate::names::{Fence, JobId, LockKey, QueueName};
use crate::store::circumstances::{Circumstances, Holder, LockView, QueueView, since};

/// Queues that one script counts.
const QUEUES_PIECE: usize = 100;

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
        let [_, place, _, _, instant, now, _, around @ ..] = rest else {
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
}

pub(super) fn read_fields(value: Value, what: &str) -> Result<Vec<Vec<u8>>, Error> {
    redis::from_redis_value(value).map_err(|e| Error::Internal {
        what: format!("{what}: {e}"),
    })
}

pub(super) fn too_short() -> Error {
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
