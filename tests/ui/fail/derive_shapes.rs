#![allow(unused)]
use linchpin::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
struct Unit;

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
struct Tuple(u32);

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
enum Either {
    One,
}

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
struct Generic<T> {
    value: T,
}

#[derive(Serialize, Deserialize, Job)]
struct Lenient {
    sku: String,
}

#[derive(Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Renamed {
    #[serde(rename = "SKU")]
    sku: String,
}

fn main() {}
