//! A shop's own worker: its tasks, with the whole `linchpin` command line around them.
//!
//! ```sh
//! cargo run -p shop_worker -- work --store redis://127.0.0.1/
//! cargo run -p shop_worker -- enqueue decrement '{"sku":"A1","qty":2}' --store redis://127.0.0.1/
//! ```

use linchpin::{Attempt, TaskResult, task};

/// Takes items out of stock, one job of a SKU at a time.
#[task(lock = "inventory:{sku}", retries = 5)]
async fn decrement(attempt: Attempt, sku: String, qty: u32) -> TaskResult {
    println!("{qty} of {sku}, attempt {} under fence {}", attempt.number(), attempt.fence());
    Ok(())
}

/// Closes the day's books; only one runs in the whole cluster.
#[task(singleton, timeout = "10m")]
async fn close_books(day: String) -> TaskResult {
    println!("closing {day}");
    Ok(())
}

fn main() -> std::process::ExitCode {
    linchpin_worker::main(linchpin::tasks![decrement, close_books])
}
