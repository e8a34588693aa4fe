//! One suite for every engine: a test is a fact of the state table in ARCHITECTURE.md, and its name says which.
//!
//! To add an engine, implement `Engine` for it in `conformance/engine.rs` and add its module to `on_every_engine!`.

/// Makes a test of each fact on each engine; at its end nothing may be left but the documented keys.
macro_rules! on_every_engine {
    ($($fact:ident),* $(,)?) => {
        mod memory {
            $(
                #[tokio::test]
                async fn $fact() {
                    let bench = crate::conformance::bench::Bench::on(crate::conformance::engine::memory().await);
                    super::$fact(&bench).await;
                    bench.nothing_is_left().await;
                }
            )*
        }
        #[cfg(feature = "redis")]
        mod redis {
            $(
                #[tokio::test]
                async fn $fact() {
                    let server = std::sync::Arc::new(crate::support::RedisServer::start());
                    let engine = crate::conformance::redis_engine::redis_on(server, "conformance").await;
                    let bench = crate::conformance::bench::Bench::on(engine);
                    super::$fact(&bench).await;
                    bench.nothing_is_left().await;
                }
            )*
        }
    };
}

mod conformance {
    pub mod bench;
    pub mod draft;
    pub mod engine;
    #[cfg(feature = "redis")]
    pub mod redis_engine;
    pub mod worker;

    mod circumstances;
    mod claim;
    mod effects;
    mod enqueue;
    mod lease;
    mod line;
    mod lock;
    mod log;
    mod look;
    mod operate;
    mod order;
    mod page;
    mod schedule;
    mod settle;
    mod suspect;
    mod sweep;
    mod unique;
    mod wait;
    mod wake;
    mod watch;
}

mod support;
