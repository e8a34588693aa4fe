#![allow(unused)]
use linchpin::task;

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Cart;

#[task(lock = "cart:{cart}")]
async fn check_out(cart: Cart) {}

#[task(unique = "gift:{to}")]
async fn give(to: Option<u32>) {}

fn main() {}
