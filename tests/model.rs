//! Two stores are given the same random verbs and must answer and look the same after each; then all work must drain.
//!
//! The embedded engine against itself proves the generator and the drain; against Redis it proves the scripts.
//! `LINCHPIN_SEED` and `LINCHPIN_CASES` choose the run; a failure prints the seed and the shortest sequence found.

#[path = "conformance/engine.rs"]
mod engine;

#[cfg(feature = "redis")]
#[path = "conformance/redis_engine.rs"]
mod redis_engine;
#[cfg(feature = "redis")]
mod support;

mod model {
    pub mod compare;
    pub mod pair;
    pub mod turn;
    pub mod verb;
}

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use engine::Engine;
use model::pair::Pair;
use model::verb;

/// What the random verbs must have brought about in all, or the generator has gone stale.
const MUST_SEE: &[&str] = &[
    "Acquired",
    "Bare busy",
    "Bare foreign",
    "Cancelled by renewal",
    "Conflict",
    "Dead cancelled",
    "Dead crashed",
    "Existing",
    "Expired",
    "Gave up",
    "Lost settle",
    "Lost renewal",
    "More OnlySuspects",
    "More Yes",
    "Parked",
    "Requested",
    "Retried",
    "Scheduled",
    "Suspect",
    "Undecodable",
    "Waited",
];

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_embedded_engine_agrees_with_itself_and_drains() {
    prove(400, async |_| [engine::memory().await, engine::memory().await]);
}

#[cfg(feature = "redis")]
#[test]
fn redis_agrees_with_the_embedded_engine_and_drains() {
    let server = Arc::new(support::RedisServer::start());
    prove(60, async |case| {
        let namespace = format!("case-{case}");
        [engine::memory().await, redis_engine::redis_on(server.clone(), &namespace).await]
    });
}

/// Runs random cases on the two stores that `open` opens for each.
fn prove(cases: u64, open: impl AsyncFn(u64) -> [Arc<dyn Engine>; 2]) {
    let seed = from_environment("LINCHPIN_SEED", 20_261_201);
    let cases = from_environment("LINCHPIN_CASES", cases);
    let config = Config {
        cases: cases as u32,
        failure_persistence: None,
        max_shrink_iters: 1000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let seen = Mutex::new(BTreeSet::new());
    let opened = AtomicU64::new(0);
    let result = runner.run(&verb::sequence(), |verbs| {
        runtime.block_on(async {
            let mut pair = Pair::new(open(opened.fetch_add(1, Ordering::Relaxed)).await);
            for verb in &verbs {
                pair.apply(verb).await.map_err(TestCaseError::fail)?;
            }
            pair.drain().await.map_err(TestCaseError::fail)?;
            seen.lock().expect("no panic").extend(pair.seen);
            Ok(())
        })
    });
    if let Err(error) = result {
        panic!("LINCHPIN_SEED={seed}: {error}");
    }
    let seen = seen.into_inner().expect("no panic");
    let missing: Vec<_> = MUST_SEE.iter().filter(|word| !seen.contains(**word)).collect();
    assert!(
        cases < 400 || missing.is_empty(),
        "LINCHPIN_SEED={seed}: never seen: {missing:?}, seen: {seen:?}"
    );
}
