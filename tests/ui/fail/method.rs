#![allow(unused)]
use linchpin::task;

struct Shop;

impl Shop {
    #[task]
    async fn sell(&self, sku: String) {}
}

fn main() {}
