//! A type has the task's name: give the job's struct another (`job = ..`).
#![allow(non_camel_case_types)]
use linchpin::task;

struct refill;

#[task(job = refill)]
async fn refill_shelves() {}

fn main() {}
