#![allow(unused)]
use linchpin::task;

struct Shop;

#[task]
impl Shop {
    async fn sell(&self) {}
}

#[task]
struct Sell {
    sku: String,
}

#[task]
pub mod sales {}

#[task]
const LIMIT: u32 = 5;

fn main() {}
