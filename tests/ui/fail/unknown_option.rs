#![allow(unused)]
use linchpin::task;

#[task(lok = "a:{sku}")]
async fn near(sku: String) {}

#[task(colour = "red")]
async fn far() {}

#[task(max_retries = 3)]
async fn contained() {}

fn main() {
    near { sku: String::new() };
}
