#![allow(unused)]
use linchpin::task;

#[task]
async fn generic<T: Send>(value: T) {}

#[task]
async fn with_lifetime<'a>(value: std::borrow::Cow<'a, str>) {}

#[task]
async fn with_where() where u32: Copy {}

fn main() {}
