#![allow(unused)]
use linchpin::{Attempt, Data, task};

#[task]
async fn borrows(sku: &str, lots: &[u32], many: &Vec<u32>, maybe: Option<&str>, cow: std::borrow::Cow<'_, str>) {}

#[task]
async fn borrows_what_it_owns(attempt: &Attempt, data: &Data<u32>) {}

#[task]
async fn hides_its_type(sku: impl Into<String>) {}

fn main() {}
