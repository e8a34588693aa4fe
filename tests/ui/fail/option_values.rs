#![allow(unused)]
use linchpin::task;

#[task(
    name = send,
    also = [],
    job = "Send",
    queue = 5,
    priority = "urgent",
    lock = inventory,
    on_busy = retry,
    retries = "5",
    backoff = 15,
    crash_limit = 0,
    unique("a"),
    expires_in
)]
async fn every_one_is_wrong() {}

#[task(singleton = true, on_busy = snooze, retries = 4294967296)]
async fn and_these() {}

#[task(backoff("1m", cap = "1s"), priority = high)]
async fn and_those() {}

#[task(backoff("1s", max = "1m"))]
async fn or_this() {}

fn main() {}
