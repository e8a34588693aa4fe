#![allow(unused)]
use linchpin::task;

#[task]
async fn no_type(sku) {}

fn main() {}
