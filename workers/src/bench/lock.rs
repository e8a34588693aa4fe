//! `lock`: locks taken and released by themselves, by as many tasks over as many keys as asked for, beside what `SET NX PX` and a compare-and-delete
//! reach on as many tasks at the same time on the same machine.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use linchpin::Client;
use linchpin::lock::ReleaseAnswer;
use redis::Script;
use redis::aio::MultiplexedConnection;
use serde::Serialize;

use crate::bench::Run;
use crate::bench::clock::quantile;
use crate::bench::figures::rounded;
use crate::bench::server::Server;
use crate::failure::Failure;

/// What `lock` takes beside the options of every workload; `--jobs` are its acquisitions.
#[derive(Args, Debug, Clone, Copy)]
pub struct LockOptions {
    /// For `lock`: which kind of lock.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// For `lock`: tasks that take locks, 1 by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    tasks: Option<u64>,
    /// For `lock`: keys that they share, one a task by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    keys: Option<u64>,
    /// For `lock`: how long each holds its lock, 0 by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    hold_ms: Option<u64>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One holder.
    Mutex,
}

impl LockOptions {
    /// Whether any of them was given.
    pub fn any(&self) -> bool {
        self.kind.is_some() || self.tasks.is_some() || self.keys.is_some() || self.hold_ms.is_some()
    }
}

/// The figures of this workload; `None` where one does not apply.
#[derive(Debug, Clone, Serialize)]
pub struct LockFigures {
    kind: &'static str,
    tasks: u64,
    keys: u64,
    hold_ms: u64,
    /// Acquisitions and releases per second.
    pairs_per_s: f64,
    /// Median of an acquisition.
    p50_us: f64,
    /// 99 % of them took at most this.
    p99_us: f64,
    /// The longest of them.
    max_wait_us: f64,
    /// Commands as the server counts them, those of scripts included.
    server_commands_per_acquisition: Option<f64>,
    /// Commands that clients sent.
    client_calls_per_acquisition: Option<f64>,
    /// How often a key changed hands per second; only where tasks share keys.
    handoffs_per_s: Option<f64>,
    /// The same, did a hand-over take no time: one over the measured hold, for each key.
    ideal_handoffs_per_s: Option<f64>,
    /// Pairs per second of the floor, mean of before and after.
    floor_pairs_per_s: Option<f64>,
    /// `pairs_per_s` of the floor.
    ratio_to_floor: Option<f64>,
}

/// What one task saw: its acquisitions in microseconds, and its holds.
#[derive(Default)]
struct Seen {
    taken_us: Vec<f64>,
    held: Duration,
}

/// Measures the workload `reps` times, and answers the run in the middle.
pub async fn measure(run: &mut Run, options: LockOptions, reps: u64) -> Result<LockFigures, Failure> {
    let mut runs = Vec::new();
    for _ in 0..reps {
        let figures = once(run, options).await;
        run.sweep().await?;
        runs.push(figures?);
    }
    runs.sort_by(|a, b| a.pairs_per_s.total_cmp(&b.pairs_per_s));
    Ok(runs.swap_remove(runs.len() / 2))
}

async fn once(run: &mut Run, options: LockOptions) -> Result<LockFigures, Failure> {
    let tasks = options.tasks.unwrap_or(1);
    let keys = options.keys.unwrap_or(tasks);
    let hold = Duration::from_millis(options.hold_ms.unwrap_or(0));
    let rounds = (run.jobs / tasks).max(1);
    let pairs = (rounds * tasks) as f64;
    let client = run.client().await?;
    // what a first acquisition pays once: scripts, the watchdog's thread, and a subscription where there are waiters
    work(&client, tasks, keys, 1, Duration::ZERO).await?;
    let before = floor(run, tasks, rounds).await?;
    let earlier = run.info().await?;
    let began = Instant::now();
    let seen = work(&client, tasks, keys, rounds, hold).await?;
    let seconds = began.elapsed().as_secs_f64();
    let spent = match (earlier, run.info().await?) {
        (Some(earlier), Some(now)) => Some(now.since(&earlier)),
        _ => None,
    };
    let after = floor(run, tasks, rounds).await?;
    client.close().await?;
    let floor = before.zip(after).map(|(before, after)| (before + after) / 2.0);
    let mut taken: Vec<f64> = seen.iter().flat_map(|seen| &seen.taken_us).copied().collect();
    taken.sort_by(f64::total_cmp);
    let held: Duration = seen.iter().map(|seen| seen.held).sum();
    let pairs_per_s = pairs / seconds;
    let shared = tasks > keys;
    Ok(LockFigures {
        kind: "mutex",
        tasks,
        keys,
        hold_ms: hold.as_millis() as u64,
        pairs_per_s: rounded(pairs_per_s),
        p50_us: rounded(quantile(&taken, 0.5)),
        p99_us: rounded(quantile(&taken, 0.99)),
        max_wait_us: rounded(quantile(&taken, 1.0)),
        server_commands_per_acquisition: spent.map(|spent| rounded(spent.commands / pairs)),
        client_calls_per_acquisition: spent.map(|spent| rounded(spent.calls / pairs)),
        handoffs_per_s: shared.then(|| rounded(pairs_per_s)),
        ideal_handoffs_per_s: shared.then(|| rounded(keys as f64 * pairs / held.as_secs_f64())),
        floor_pairs_per_s: floor.map(rounded),
        ratio_to_floor: floor.map(|floor| rounded(pairs_per_s / floor)),
    })
}

/// Takes and releases, `rounds` times on each task.
async fn work(client: &Client, tasks: u64, keys: u64, rounds: u64, hold: Duration) -> Result<Vec<Seen>, Failure> {
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let lock = client.lock(format!("bench:{}", task % keys));
            tokio::spawn(async move {
                let mut seen = Seen::default();
                for _ in 0..rounds {
                    let asked = Instant::now();
                    let guard = lock.clone().acquire().await?;
                    let taken = Instant::now();
                    seen.taken_us.push((taken - asked).as_secs_f64() * 1e6);
                    if !hold.is_zero() {
                        tokio::time::sleep(hold).await;
                    }
                    seen.held += taken.elapsed();
                    if guard.release().await? != ReleaseAnswer::Released {
                        return Err(Failure::new(
                            "bench lock",
                            format!("lock {} was lost while it was held", guard.key()),
                        ));
                    }
                }
                Ok(seen)
            })
        })
        .collect();
    let mut seen = Vec::new();
    for task in running {
        seen.push(task.await.map_err(|error| Failure::new("bench lock", error))??);
    }
    Ok(seen)
}

/// Pairs per second of the floor: each task has a key of its own, so that none ever finds its lock busy.
async fn floor(run: &mut Run, tasks: u64, rounds: u64) -> Result<Option<f64>, Failure> {
    let Some(server) = &mut run.server else { return Ok(None) };
    let script = Script::new(include_str!("lock_floor.lua"));
    script.prepare_invoke().load_async(&mut server.connection()).await?;
    let began = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            tokio::spawn(pairs(
                server.connection(),
                script.get_hash().to_owned(),
                floor_key(server, task),
                rounds,
            ))
        })
        .collect();
    for task in running {
        task.await.map_err(|error| Failure::new("measure the floor", error))??;
    }
    Ok(Some((rounds * tasks) as f64 / began.elapsed().as_secs_f64()))
}

fn floor_key(server: &Server, task: u64) -> String {
    server.own_key(&format!("floor-{task}"))
}

async fn pairs(mut connection: MultiplexedConnection, script: String, key: String, rounds: u64) -> Result<(), Failure> {
    for round in 0..rounds {
        let token = format!("{key}.{round}");
        let mut take = redis::cmd("SET");
        take.arg(&key).arg(&token).arg("NX").arg("PX").arg(15_000);
        let taken: Option<String> = take.query_async(&mut connection).await?;
        let mut free = redis::cmd("EVALSHA");
        free.arg(&script).arg(1).arg(&key).arg(&token);
        let freed: u64 = free.query_async(&mut connection).await?;
        if taken.is_none() || freed != 1 {
            return Err(Failure::new("measure the floor", format!("`{key}` was in use by somebody else")));
        }
    }
    Ok(())
}

impl LockFigures {
    /// One JSON object.
    pub fn json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| Failure::new("write the figures", error))
    }

    /// A line for each figure that applies.
    pub fn table(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        let rows = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let lines: Vec<String> = rows
            .map(|(name, value)| format!("{name:<34} {:>14}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect();
        lines.join("\n")
    }
}
