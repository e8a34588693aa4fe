//! The producer: orders, each enqueued until it is acknowledged.

use std::collections::BTreeMap;
use std::time::Duration;

use linchpin::{Client, Error};
use tokio::sync::watch;

use super::work::{SKUS, give, scramble, sell};
use crate::failure::Failure;

/// Jobs that are under way at once: more would only wait.
const PENDING_MAX: u64 = 300;

/// What was enqueued: order -> job and SKU.
#[derive(Default)]
pub struct Enqueued {
    pub acknowledged: BTreeMap<u64, (String, u64)>,
    /// No answer came.
    pub unknown: BTreeMap<u64, (String, u64)>,
}

/// SKU and quantity of an order.
pub fn sale(seed: u64, order: u64) -> (u64, i64) {
    let dice = scramble(seed ^ order);
    (dice % SKUS, 1 + (dice / SKUS % 3) as i64)
}

/// Enqueues orders through faults, each until it is acknowledged.
pub async fn produce(producer: Client, watcher: Client, seed: u64, stop: watch::Receiver<bool>) -> Result<Enqueued, Failure> {
    let mut enqueued = Enqueued::default();
    let mut order = 0u64;
    while !*stop.borrow() {
        if order.is_multiple_of(20) && watcher.census().await.is_ok_and(|census| census.pending() > PENDING_MAX) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        let (sku, qty) = sale(seed, order);
        loop {
            let answer = match order % 4 {
                0 => producer.enqueue(give { order, sku, qty }).await,
                _ => producer.enqueue(sell { order, sku, qty }).await,
            };
            match answer {
                Ok(answer) => {
                    enqueued.acknowledged.insert(order, (answer.id().to_string(), sku));
                    break;
                }
                Err(Error::Unknown { ids, .. }) => {
                    let id = ids.first().map(ToString::to_string).unwrap_or_default();
                    enqueued.unknown.insert(order, (id, sku));
                    break;
                }
                Err(error) if error.is_transient() => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(error) => return Err(error.into()),
            }
        }
        order += 1;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let _ = producer.close().await;
    Ok(enqueued)
}
