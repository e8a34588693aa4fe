//! Linchpin: job queue workers built around locked tasks.

pub mod attempt;
pub mod clock;
pub mod error;
pub mod job;
pub mod limits;
pub mod names;
pub mod registry;
pub mod retry;
pub mod store;
pub mod task;
pub mod telemetry;
pub mod worker;

pub use attempt::{Attempt, Data};
pub use error::{Error, Invalid};
pub use job::Job;
pub use task::{Task, TaskError, TaskResult};
pub use worker::Worker;
