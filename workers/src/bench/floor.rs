//! The floor: what this store and this client could do at best, measured beside every run.
//!
//! For jobs: a list of whole envelopes; one script call acknowledges a batch and takes the next; the arguments are decoded
//! and nothing else happens: no locks, no owners, no leases, nothing spawned per job. For enqueueing: a script that does
//! nothing, with the same bytes of arguments.

use std::time::Instant;

use redis::Script;
use redis::aio::MultiplexedConnection;

use crate::bench::server::Server;
use crate::bench::tasks::Sale;
use crate::failure::Failure;

/// The deadline that the floor notes for what it took; nobody reads it.
const DEADLINE_MS: &str = "1764540000000";
/// Envelopes pushed in one command.
const PUSH_STEP: u64 = 1000;
/// Bytes of an id.
const ID_BYTES: usize = 22;

/// How the floor takes its batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    batch: u64,
    loops: usize,
}

impl Shape {
    /// The floor of a worker of this concurrency: its batch up to 10, else batches of 100 in two loops on one connection.
    pub fn of(concurrency: usize) -> Self {
        match concurrency {
            0..=10 => Self {
                batch: concurrency.max(1) as u64,
                loops: 1,
            },
            _ => Self { batch: 100, loops: 2 },
        }
    }
}

/// Jobs per second of the floor.
///
/// # Errors
/// When the server refuses, or gives back something else than what was pushed.
pub async fn jobs_per_s(server: &mut Server, jobs: u64, shape: Shape) -> Result<f64, Failure> {
    let (queue, active) = (server.own_key("floor"), server.own_key("floor-active"));
    let mut connection = server.connection();
    for first in (0..jobs).step_by(PUSH_STEP as usize) {
        let mut push = redis::cmd("RPUSH");
        push.arg(&queue);
        for number in first..(first + PUSH_STEP).min(jobs) {
            push.arg(envelope(number));
        }
        let _: u64 = push.query_async(&mut connection).await?;
    }
    let script = Script::new(include_str!("floor.lua"));
    script.prepare_invoke().load_async(&mut connection).await?;
    let began = Instant::now();
    let loops: Vec<_> = (0..shape.loops)
        .map(|_| {
            tokio::spawn(drain(
                connection.clone(),
                script.get_hash().to_owned(),
                [queue.clone(), active.clone()],
                shape.batch,
            ))
        })
        .collect();
    let mut taken = 0;
    for task in loops {
        taken += task.await.map_err(|error| Failure::new("measure the floor", error))??;
    }
    let seconds = began.elapsed().as_secs_f64();
    if taken != jobs {
        return Err(Failure::new("measure the floor", format!("{taken} of {jobs} envelopes came back")));
    }
    Ok(jobs as f64 / seconds)
}

async fn drain(mut connection: MultiplexedConnection, script: String, keys: [String; 2], batch: u64) -> Result<u64, Failure> {
    let (mut done, mut ended) = (0, Vec::<Vec<u8>>::new());
    loop {
        let mut call = redis::Cmd::with_capacity(7 + ended.len(), 256 + ended.len() * 128);
        call.arg("EVALSHA")
            .arg(&script)
            .arg(2)
            .arg(&keys[0])
            .arg(&keys[1])
            .arg(batch)
            .arg(DEADLINE_MS);
        for envelope in &ended {
            call.arg(envelope);
        }
        let taken: Vec<Vec<u8>> = call.query_async(&mut connection).await?;
        if taken.is_empty() {
            return Ok(done);
        }
        for envelope in &taken {
            let args = envelope
                .iter()
                .rposition(|byte| *byte == 0)
                .map_or(&envelope[..], |at| &envelope[at + 1..]);
            let sale: Sale = serde_json::from_slice(args).map_err(|error| Failure::new("read an envelope of the floor", error))?;
            done += sale.qty as u64;
        }
        ended = taken;
    }
}

/// An id, a header line and a body, as a job would be written in one piece.
fn envelope(number: u64) -> String {
    format!(
        "{number:0width$}|default|1||10,1800000|0\nnoop\0{{\"sku\":\"A1\",\"qty\":1}}",
        width = ID_BYTES
    )
}

/// Calls per second of a script that does nothing, one after the other, each sending about `call_bytes`.
///
/// # Errors
/// When the server refuses.
pub async fn calls_per_s(server: &mut Server, calls: u64, call_bytes: usize) -> Result<f64, Failure> {
    let script = Script::new(include_str!("echo.lua"));
    let mut connection = server.connection();
    script.prepare_invoke().load_async(&mut connection).await?;
    let key = server.own_key("floor");
    let bare = call(script.get_hash(), &key, "").get_packed_command().len();
    let padding = "n".repeat(call_bytes.saturating_sub(bare));
    let began = Instant::now();
    for _ in 0..calls {
        let _: u64 = call(script.get_hash(), &key, &padding).query_async(&mut connection).await?;
    }
    Ok(calls as f64 / began.elapsed().as_secs_f64())
}

/// The shape of an enqueue call: one key, and as many arguments.
fn call(script: &str, key: &str, padding: &str) -> redis::Cmd {
    let mut call = redis::Cmd::with_capacity(13, 256 + padding.len());
    call.arg("EVALSHA").arg(script).arg(1).arg(key);
    for _ in 0..8 {
        call.arg("1");
    }
    call.arg(padding);
    call
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn the_floor_takes_the_workers_batch_up_to_ten() {
        assert_eq!(Shape::of(1), Shape { batch: 1, loops: 1 });
        assert_eq!(Shape::of(10), Shape { batch: 10, loops: 1 });
        assert_eq!(Shape::of(100), Shape { batch: 100, loops: 2 });
    }
}
