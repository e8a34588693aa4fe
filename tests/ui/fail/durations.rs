#![allow(unused)]
use linchpin::task;

#[task(timeout = "30 seconds", expires_in = "0s", backoff = "1.5s")]
async fn no_durations() {}

#[task(timeout = "4000d", lock = "a", on_busy = snooze("soon"))]
async fn nor_these() {}

fn main() {}
