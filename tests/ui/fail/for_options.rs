#![allow(unused)]
use linchpin::{Job, task};

#[derive(serde::Serialize, serde::Deserialize, Job)]
#[serde(deny_unknown_fields)]
struct Restock {
    sku: String,
}

#[task(for = Restock, lock = "inventory:{sku}", name = "fill", singleton, retries = 3)]
async fn job_side(sku: String) {}

#[task(for = Restock)]
async fn attribute(#[serde(default)] sku: String) {}

#[task(for = Restock)]
async fn both(job: Restock, sku: String) {}

#[task(for = Restock)]
async fn no_such_field(sk: String) {}

fn main() {}
