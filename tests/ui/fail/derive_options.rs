#![allow(unused)]
use linchpin::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
#[job(lock = "inventory:{skuu}", retries = 3, for = Other, lokc = "a")]
struct Restock {
    sku: String,
}

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
#[job]
struct NoBrackets {}

fn main() {}
