#![allow(unused)]
use linchpin::task;

#[task(on_busy = skip)]
async fn nothing_to_be_busy() {}

#[task(wait_timeout = "5s")]
async fn nothing_to_wait_for() {}

#[task(lock = "a", on_busy = fail, wait_timeout = "5s")]
async fn never_waits() {}

#[task(unique_for = "1h")]
async fn nothing_unique() {}

#[task(singleton, lock = "a")]
async fn two_kinds_of_lock() {}

#[task(job = Other, for = Another)]
async fn two_jobs() {}

#[task(lock = ["a", "b", "a"])]
async fn the_same_lock() {}

#[task(lock = ["1", "2", "3", "4", "5", "6", "7", "8", "9"])]
async fn nine_locks() {}

struct Another {}

fn main() {}
