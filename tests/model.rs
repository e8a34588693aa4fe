//! Two stores are given the same random verbs and must answer and look the same after each; then all work must drain.
//!
//! The embedded engine against itself proves the generator and the drain; against Redis it proves the scripts.
//! A run takes the seeds from 1 on for about half a minute, with `LINCHPIN_FULL` fresh ones for ten; a failure prints its seed and
//! the shortest sequence found, and `LINCHPIN_SEED=<seed> LINCHPIN_CASES=<cases>` runs that again.

#[path = "conformance/engine.rs"]
#[allow(dead_code)]
mod engine;

#[cfg(feature = "redis")]
#[path = "conformance/redis_engine.rs"]
#[allow(dead_code)]
mod redis_engine;
mod support;

mod model {
    pub mod compare;
    pub mod effects;
    pub mod pair;
    pub mod turn;
    pub mod verb;
}

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use engine::Engine;
use model::pair::Pair;
use model::verb::{self, Verb};

/// What the random verbs must have brought about in all, or the generator has gone stale.
const MUST_SEE: &[&str] = &[
    "Acquired",
    "Alone",
    "Bare busy",
    "Bare foreign",
    "Cancelled by renewal",
    "Conflict",
    "Dead cancelled",
    "Dead crashed",
    "Effects",
    "Effects refused",
    "Existing",
    "Expired",
    "Gave up",
    "Lost settle",
    "Lost renewal",
    "More OnlySuspects",
    "More Yes",
    "Parked",
    "Put off",
    "Requested",
    "Refused settle",
    "Retried",
    "Rode a settle",
    "Scheduled",
    "Suspect",
    "Undecodable",
    "Waited",
];

/// After so many cases everything in `MUST_SEE` has to have happened. The embedded engine, which is fast, goes through as many
/// always, so that this does not depend on the machine.
const ENOUGH: u64 = 600;

/// Cases under one seed, where `LINCHPIN_CASES` does not say.
const CASES: u32 = 50;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_embedded_engine_agrees_with_itself_and_drains() {
    prove(ENOUGH, Duration::from_secs(5), async |_| {
        [engine::memory().await, engine::memory().await]
    });
}

#[cfg(feature = "redis")]
#[test]
fn redis_agrees_with_the_embedded_engine_and_drains() {
    let server = Arc::new(support::RedisServer::start());
    prove(CASES.into(), Duration::from_secs(25), async |case| {
        let namespace = format!("case-{case}");
        [engine::memory().await, redis_engine::redis_on(server.clone(), &namespace).await]
    });
}

/// Runs random cases on the two stores that `open` opens for each: of one seed after another, at least so many and until the time
/// is over, or of the seed asked for.
fn prove(least: u64, time: Duration, open: impl AsyncFn(u64) -> [Arc<dyn Engine>; 2]) {
    let started = Instant::now();
    let in_full = std::env::var_os("LINCHPIN_FULL").is_some();
    let time = if in_full { 20 * time } else { time };
    let cases = from_environment("LINCHPIN_CASES").map_or(CASES, |cases| cases as u32);
    let mut proof = Proof::default();
    if let Some(seed) = from_environment("LINCHPIN_SEED") {
        return proof.run(seed, cases, &open);
    }
    // The usual run is the same everywhere.
    let first = match in_full {
        true => SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis() as u64,
        false => 1,
    };
    for seed in first.. {
        proof.run(seed, cases, &open);
        if started.elapsed() >= time && proof.cases() >= least {
            break;
        }
    }
    let (verbs, seconds) = (proof.verbs.load(Ordering::Relaxed), started.elapsed().as_secs_f64());
    println!(
        "{} cases, {verbs} verbs in {seconds:.1} s: {:.0} a minute",
        proof.cases(),
        verbs as f64 / seconds * 60.0
    );
    proof.has_seen_all(first);
}

/// What the cases so far have brought about.
#[derive(Default)]
struct Proof {
    opened: AtomicU64,
    verbs: AtomicU64,
    seen: Mutex<BTreeSet<&'static str>>,
}

impl Proof {
    fn run(&mut self, seed: u64, cases: u32, open: &impl AsyncFn(u64) -> [Arc<dyn Engine>; 2]) {
        let config = Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 600,
            ..Config::default()
        };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let result = runner.run(&verb::sequence(), |verbs| {
            runtime.block_on(async {
                let pair = Pair::new(open(self.opened.fetch_add(1, Ordering::Relaxed)).await);
                let seen = prove_one(pair, &verbs).await.map_err(TestCaseError::fail)?;
                self.verbs.fetch_add(verbs.len() as u64, Ordering::Relaxed);
                self.seen.lock().expect("no panic").extend(seen);
                Ok(())
            })
        });
        if let Err(error) = result {
            panic!("LINCHPIN_SEED={seed} LINCHPIN_CASES={cases}: {error}");
        }
    }

    fn cases(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// After enough cases: every answer that matters was among those compared.
    fn has_seen_all(&self, seed: u64) {
        let seen = self.seen.lock().expect("no panic");
        let missing: Vec<_> = MUST_SEE.iter().filter(|word| !seen.contains(**word)).collect();
        let cases = self.cases();
        assert!(
            cases < ENOUGH || missing.is_empty(),
            "LINCHPIN_SEED={seed} and following: never seen in {cases} cases: {missing:?}, seen: {seen:?}"
        );
    }
}

/// Applies the verbs and drains; answers what was seen, or a report of the first difference.
async fn prove_one(mut pair: Pair, verbs: &[Verb]) -> Result<BTreeSet<&'static str>, String> {
    let mut outcome = Ok(());
    for verb in verbs {
        outcome = pair.apply(verb).await;
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_ok() {
        outcome = pair.drain().await;
    }
    match outcome {
        Ok(()) => Ok(pair.seen),
        Err(error) => Err(pair.report(&error).await),
    }
}
