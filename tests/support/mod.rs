//! What the tests stand on: Redis and PostgreSQL servers of their own, and a proxy that breaks the way to them, wall clocks that are off.
//!
//! A test file says `mod support;` and takes what it needs.
#![allow(dead_code, unused_imports)]

mod clock;
mod keys;
#[cfg(feature = "postgres")]
mod postgres;
mod proxy;
mod server;

pub use clock::WallClock;
pub use keys::may_stay;
#[cfg(feature = "postgres")]
pub use postgres::PostgresServer;
pub use proxy::{Fault, Proxy};
pub use server::{RedisOptions, RedisServer};

use std::time::Duration;

/// How long a test waits for anything before it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for `future`, at most [`PATIENCE`]; panics with `what` when it takes longer.
pub async fn within<F: IntoFuture>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what}: not within {PATIENCE:?}"),
    }
}
