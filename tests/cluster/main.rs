//! Workers on a real Redis under faults: nothing lost, nothing doubled, no lock shared. Effects are counted outside Linchpin.
//!
//! `LINCHPIN_FULL=1` runs the long counts.
#![cfg(all(feature = "redis", feature = "macros"))]
#![allow(clippy::unwrap_used, missing_docs)]

mod connections;
mod crew;
mod deploy;
mod idle;
mod locks;
mod pauses;
mod schedules;
mod shutdown;
#[path = "../support/mod.rs"]
mod support;
