//! Linchpin: job queue workers built around locked tasks.

pub mod attempt;
pub mod client;
pub mod clock;
pub mod error;
pub mod job;
pub mod limits;
pub mod names;
pub mod retry;
pub mod store;
pub mod task;

pub use attempt::{Attempt, Data};
pub use client::{Client, Enqueued};
pub use error::{Error, Invalid};
pub use job::Job;
pub use task::{Task, TaskError, TaskResult};
