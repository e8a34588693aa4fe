#![allow(unused)]
use linchpin::{Attempt, task};

#[task(lock = "inventory:{skuu}")]
async fn near(sku: String, qty: u32) {}

#[task(unique = "order:{customer}")]
async fn far(sku: String, qty: u32) {}

#[task(lock = ["a:{}", "b:{sku", "c:sku}", "d:{sku.len}", "e:{sku:>3}", ""])]
async fn no_templates(sku: String) {}

#[task(lock = "a:{attempt}")]
async fn not_an_argument(attempt: Attempt) {}

fn main() {}
