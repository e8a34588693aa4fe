#![allow(unused)]
use linchpin::{Attempt, Data, task};

#[task]
async fn pattern((a, b): (u32, u32), _: u8) {}

#[task]
async fn two_attempts(one: Attempt, other: Attempt) {}

#[task]
async fn two_marks(#[attempt] #[data] both: Attempt) {}

#[task]
async fn mark_with_value(#[data(stock)] stock: Data<u32>) {}

#[task]
async fn no_field(#[serde(default)] attempt: Attempt) {}

#[task]
async fn settings(#[serde(rename = "SKU")] sku: String, #[serde(flatten)] rest: Vec<u32>, #[serde(skip)] none: u32) {}

#[task]
async fn in_some_builds(#[cfg(unix)] sku: String) {}

fn main() {}
