//! Everything that is allowed, without a warning.
#![deny(warnings, missing_docs)]

mod restock {
    /// In a module of the task's own name the struct gets another, so that both can be re-exported.
    #[linchpin::task(job = Restock)]
    pub async fn restock(sku: String, qty: u32) {
        let _ = (sku, qty);
    }
}

pub use restock::{Restock, restock};

/// Public, with the shared name.
#[linchpin::task]
pub async fn order(sku: String) {
    drop(sku);
}

/// Sync, and with most options.
#[linchpin::task(job = Refill, lock = ["a:{sku}", "b"], on_busy = wait, wait_timeout = "1m", unique = "{{{sku}}}", unique_for = "1d")]
pub(crate) fn refill(sku: String) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    drop(sku);
    Ok(())
}

/// Inside of a function, too, and with attributes of others.
fn main() {
    #[linchpin::task(singleton,)]
    #[allow(clippy::unused_async)]
    #[deprecated]
    #[cfg(all())]
    async fn nightly(_attempt: linchpin::Attempt) -> linchpin::TaskResult<()> {
        Ok(())
    }
    let tasks = linchpin::tasks![Restock, order, Refill, nightly];
    assert_eq!(tasks.len(), 4);
    let _ = Restock { sku: String::new(), qty: 1 };
    let _ = order { sku: String::new() };
    let _ = Refill { sku: String::new() };
    let _ = restock(String::new(), 1);
}
