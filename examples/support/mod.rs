//! What several examples stand on.
#![allow(dead_code)]

mod clear;
mod worker_process;

pub use clear::clear;
pub use worker_process::{WorkerProcess, until_input_ends};
