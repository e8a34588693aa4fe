//! `linchpin torture`: worker processes under faults, and the proof that each job took effect exactly once.
//!
//! The run has a namespace of its own and is cleaned up after. Effects, what the workers tell and the attempts log are three witnesses; the
//! checks compare them.

mod admin;
mod check;
mod crew;
mod faults;
mod history;
mod late;
mod log;
mod options;
mod produce;
mod proxy;
mod report;
mod work;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use linchpin::names::ProcessId;
use linchpin::schedule::{Missed, Overlap, Schedule};
use linchpin::store::view::State;
use linchpin::{Client, Effects};
use tokio::time::Instant;

use crate::bench::quantile;
use crate::failure::{Answer, Failure};
use admin::Admin;
use check::{Evidence, Findings};
use crew::{Crew, Told};
use faults::{Injector, Kind};
use log::Log;
use options::mutate;
use produce::{Enqueued, produce, sale};
use proxy::{Proxy, Upstream};
use report::Report;
use work::{SKUS, Shelves};

pub use options::Options;
pub use work::work_as_told;

/// What each has at first.
const STOCK_AT_FIRST: i64 = 1_000_000;
/// How often the schedule ticks, in seconds.
const TICK_EVERY: i64 = 2;
/// The name of the schedule.
const BEAT: &str = "torture-beat";
/// What may be left of a namespace when everything has ended.
const BOUNDED: [&str; 13] = [
    "schema",
    "state",
    "owners",
    "attempts",
    "tasks",
    "workers",
    "worker_cards",
    "waiting",
    "broken",
    "wake:",
    "lanes:",
    "stats:",
    "progress:",
];
/// How long places in a line of processes that are gone may stand.
const PLACES_MAX: Duration = Duration::from_secs(45);

/// Tortures, and says whether everything held.
///
/// # Errors
/// When the store cannot be used or the run could not be made.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    if options.store.starts_with("memory:") {
        return Err(Failure::usage(
            "torture kills worker processes, and memory:// lives in one: give --store redis://... (tests hold both engines equal)",
        ));
    }
    if options.faults.contains(&Kind::Restart) && options.restart_with.is_none() {
        return Err(Failure::usage(
            "the fault `restart` needs a command that restarts the server: give --restart-with 'COMMAND'",
        ));
    }
    mutate(options.mutant().as_deref());
    let mut torture = Torture::prepare(options).await?;
    let report = tokio::select! {
        report = torture.run() => report,
        _ = tokio::signal::ctrl_c() => Err(Failure::new("torture", "interrupted")),
    };
    torture.clean_up().await?;
    let report = report?;
    let json = serde_json::to_string(&report).map_err(|error| Failure::new("write the report", error))?;
    if let Some(path) = &torture.options.report {
        std::fs::write(path, format!("{json}\n")).map_err(|error| Failure::new(format!("write {}", path.display()), error))?;
    }
    println!("{}", if torture.options.json { json } else { report.table() });
    Ok(if report.violations.is_empty() { Answer::Yes } else { Answer::No })
}

struct Torture {
    options: Options,
    seed: u64,
    namespace: String,
    shelves: Shelves,
    upstream: Upstream,
    /// Straight to the server: no fault but those of the server itself hits it.
    client: Client,
    admin: Admin,
}

impl Torture {
    async fn prepare(options: Options) -> Result<Self, Failure> {
        let upstream = Upstream::of(&options.store)?;
        let namespace = format!("torture-{}", ProcessId::random());
        let client = Client::builder(&options.store).namespace(&namespace).connect().await?;
        let admin = Admin::of(&options.store)?;
        let seed = options.seed.unwrap_or_else(rand::random);
        Ok(Self {
            shelves: Shelves {
                namespace: namespace.clone(),
                seed,
            },
            options,
            seed,
            namespace,
            upstream,
            client,
            admin,
        })
    }

    async fn run(&mut self) -> Result<Report, Failure> {
        let fill = |fx: &mut Effects| (0..SKUS).for_each(|sku| fx.set(self.shelves.stock(sku), STOCK_AT_FIRST.to_string()));
        self.client.apply(fill).await?;
        let schedule = Schedule::every(BEAT, format!("{TICK_EVERY}s")).job(work::beat {});
        let schedule = schedule.missed(Missed::FireAll { limit: 100 }).overlap(Overlap::Allow);
        let mut crew = Crew::start(&self.upstream, &self.namespace, self.seed, &self.options).await?;
        self.client.schedule(schedule).await?;
        let kinds = if self.options.every.is_zero() {
            &[][..]
        } else {
            &self.options.faults
        };
        let mut injector = Injector::new(
            self.seed,
            kinds,
            self.options.restart_with.clone(),
            self.client.clone(),
            &self.namespace,
            self.admin.clone(),
        );
        eprintln!(
            "torture: seed {}, {} workers, {:?} of faults",
            self.seed, self.options.workers, self.options.duration
        );

        let began = Instant::now();
        let mut log = Log::default();
        let enqueued = self.throw_faults(&mut crew, &mut injector, &mut log).await?;
        self.client.pause_schedule(BEAT).await?;
        self.drain(&mut crew, &mut log).await?;
        let seconds = began.elapsed().as_secs_f64();
        let told = crew.stop().await?;
        let kept = self.kept(&enqueued).await?;
        log.read_on(&self.client).await?;
        let evidence = self.evidence(enqueued, kept, log, told, &injector).await?;
        let findings = evidence.check();
        Ok(self.report(&evidence, findings, &injector, seconds))
    }

    /// Enqueues and throws faults until the time is over.
    async fn throw_faults(&self, crew: &mut Crew, injector: &mut Injector, log: &mut Log) -> Result<Enqueued, Failure> {
        let proxy = Proxy::start(&self.upstream).await?;
        let producer = Client::builder(&proxy.url()).namespace(&self.namespace).connect().await?;
        let stop = tokio::sync::watch::Sender::new(false);
        let producing = tokio::spawn(produce(producer, self.client.clone(), self.seed, stop.subscribe()));
        let until = Instant::now() + self.options.duration;
        let mut count = 0u64;
        while Instant::now() < until {
            tokio::time::sleep(self.options.every.max(Duration::from_millis(10))).await;
            injector.throw(crew).await?;
            crew.supervise().await?;
            // a server that restarts is asked again
            let _ = log.read_on(&self.client).await;
            count += 1;
            // its connections are cut too: enqueues of which nobody knows
            if count.is_multiple_of(5) && self.options.faults.contains(&Kind::Cut) {
                proxy.cut();
            }
        }
        injector.end_due(crew, true)?;
        stop.send_replace(true);
        producing.await.map_err(|error| Failure::new("enqueue", error))?
    }

    /// Waits until every job has ended and nothing is left that should not be, for a bounded time.
    async fn drain(&self, crew: &mut Crew, log: &mut Log) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            let pending = self.client.census().await.map(|census| census.pending());
            if matches!(pending, Ok(0)) || began.elapsed() > self.options.drain_max() {
                break;
            }
            crew.supervise().await?;
            log.read_on(&self.client).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // with workers that look, for it is they who tidy up behind those that were killed
        let tidied = |name: &String| name == "schedules";
        let patience = match self.options.mutant() {
            None => self.options.drain_max() + PLACES_MAX,
            Some(_) => Duration::ZERO,
        };
        while began.elapsed() < patience && !self.left_keys().await?.iter().all(tidied) {
            crew.supervise().await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }

    /// The jobs that have not ended, and their states.
    async fn kept(&self, enqueued: &Enqueued) -> Result<BTreeMap<u64, String>, Failure> {
        let mut kept = BTreeMap::new();
        if self.client.census().await?.jobs > 0 {
            for (order, (job, _)) in &enqueued.acknowledged {
                let Ok(id) = job.parse() else { continue };
                if let Some(view) = self.client.job(id).await? {
                    kept.insert(*order, word(&view.state));
                }
            }
        }
        Ok(kept)
    }

    async fn evidence(
        &mut self,
        enqueued: Enqueued,
        kept: BTreeMap<u64, String>,
        log: Log,
        told: Told,
        injector: &Injector,
    ) -> Result<Evidence, Failure> {
        let mut admin = self.admin.connect().await?;
        let hash = |key: String| {
            let mut command = redis::cmd("HGETALL");
            command.arg(key);
            command
        };
        let taken: HashMap<u64, u64> = hash(self.shelves.orders()).query_async(&mut admin).await?;
        let ticks: BTreeMap<i64, u64> = hash(self.shelves.ticks()).query_async(&mut admin).await?;
        let mut enqueued = enqueued;
        // whether these were enqueued only their effects can tell
        for (order, job) in std::mem::take(&mut enqueued.unknown) {
            if taken.contains_key(&order) || kept.contains_key(&order) {
                enqueued.acknowledged.insert(order, job);
            }
        }
        let mut wanted: HashMap<u64, i64> = HashMap::new();
        for order in enqueued.acknowledged.keys() {
            let (sku, qty) = sale(self.seed, *order);
            *wanted.entry(sku).or_default() += qty;
        }
        let mut stock = BTreeMap::new();
        let mut histories = BTreeMap::new();
        for sku in 0..SKUS {
            let found: Option<i64> = redis::cmd("GET").arg(self.shelves.stock(sku)).query_async(&mut admin).await?;
            let wanted = STOCK_AT_FIRST - wanted.get(&sku).copied().unwrap_or(0);
            stock.insert(sku, (found.unwrap_or(0), wanted));
            let mut lrange = redis::cmd("LRANGE");
            lrange.arg(self.shelves.history(sku)).arg(0).arg(-1);
            let lines: Vec<String> = lrange.query_async(&mut admin).await?;
            let read = |line: &String| {
                line.split_once(' ')
                    .and_then(|(order, fence)| Some((order.parse().ok()?, fence.parse().ok()?)))
            };
            histories.insert(sku, lines.iter().filter_map(read).collect());
        }
        self.client.delete_schedule(BEAT).await?;
        Ok(Evidence {
            acknowledged: enqueued.acknowledged,
            taken,
            stock,
            histories,
            kept,
            ticks,
            tick_every: TICK_EVERY,
            log: log.outcomes,
            seen: told.seen,
            killed: told.killed,
            over: injector.over.clone(),
            broken: injector.broken.clone(),
            late: injector.late.clone(),
            ended: told.ended,
            may_end: self.options.failpoint().is_some(),
            may_overlap: injector
                .thrown
                .iter()
                .any(|(kind, _)| matches!(kind, Kind::Pause | Kind::Break | Kind::Late)),
            left_keys: match self.options.mutant() {
                None => self.left_keys().await?,
                // it did not wait for them
                Some(_) => Vec::new(),
            },
        })
    }

    /// The keys that are none of those that may stay.
    async fn left_keys(&self) -> Result<Vec<String>, Failure> {
        let may_stay = |name: &String| {
            let mut bounded = BOUNDED.iter();
            bounded.any(|bounded| {
                if bounded.ends_with(':') {
                    name.starts_with(bounded)
                } else {
                    name == bounded
                }
            })
        };
        let keys = self.client.store().keys().await?.into_iter().map(|(name, _)| name);
        Ok(keys.filter(|name| !may_stay(name)).collect())
    }

    fn report(&self, evidence: &Evidence, findings: Findings, injector: &Injector, seconds: f64) -> Report {
        let recoveries: Vec<f64> = findings.recoveries_ms.iter().map(|(ms, _)| *ms).collect();
        let quantile = |part| (!recoveries.is_empty()).then(|| quantile(&recoveries, part));
        Report {
            seed: self.seed,
            seconds,
            jobs: evidence.acknowledged.len() as u64,
            faults: injector
                .thrown
                .iter()
                .map(|(kind, count)| (kind.word(), *count))
                .chain((evidence.ended > 0).then_some(("ended", evidence.ended)))
                .collect(),
            attempts: findings.attempts,
            refused_late: findings.refused_late,
            overlapping_believers: findings.overlapping_believers,
            lost: findings.lost,
            double: findings.double,
            fence_regressions: findings.fence_regressions,
            stuck: findings.stuck,
            recovery_ms_max: quantile(1.0),
            recovery_ms_p99: quantile(0.99),
            // sorted: the last of each kind stays
            recovery_ms_max_by_fault: findings.recoveries_ms.iter().map(|(ms, kind)| (kind.word(), *ms)).collect(),
            left_keys: evidence.left_keys.len(),
            violations: findings.violations,
        }
    }

    /// Removes every key of the run.
    async fn clean_up(&mut self) -> Result<(), Failure> {
        let _ = self.client.close().await;
        self.admin.remove(&self.namespace).await
    }
}

fn word(state: &State) -> String {
    match state {
        State::Ready => "ready".into(),
        State::Scheduled { due_in } => format!("scheduled, due in {due_in:?}"),
        State::Parked { behind, .. } => format!("parked behind {behind}"),
        State::Active { .. } => "active".into(),
        State::Dead { reason, .. } => format!("dead: {reason}"),
    }
}
