//! Linchpin: job queue workers built around locked tasks.

// The macros' code names `::linchpin`, also inside this crate.
extern crate self as linchpin;

pub mod attempt;
pub mod client;
pub mod clock;
#[cfg(feature = "config")]
pub mod config;
pub mod effects;
pub mod error;
#[cfg(feature = "failpoints")]
pub mod failpoint;
#[cfg(not(feature = "failpoints"))]
mod failpoint;
pub mod job;
pub mod limits;
pub mod lock;
pub mod manifest;
pub mod names;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod registry;
pub mod retry;
pub mod schedule;
mod seldom;
pub mod store;
pub mod task;
pub mod task_list;
pub mod telemetry;
pub mod template;
#[cfg(feature = "testing")]
pub mod testing;
pub mod worker;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use attempt::{Attempt, Data};
pub use client::{Client, Enqueued};
pub use effects::{Effects, Need};
pub use error::{Error, Invalid};
pub use job::Job;
pub use task::{Task, TaskError, TaskResult};
pub use task_list::TaskList;
pub use worker::{Summary, Worker};

#[cfg(feature = "macros")]
pub use linchpin_macros::{Job, cron, task};

/// The code in README.md compiles and runs.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// The code in docs/postgres.md compiles.
#[cfg(all(doctest, feature = "macros", feature = "postgres"))]
#[doc = include_str!("../docs/postgres.md")]
pub struct Postgres;
