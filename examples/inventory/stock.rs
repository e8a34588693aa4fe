//! The shop's stock: keys beside those of the jobs, in the same store.

use std::collections::BTreeMap;

use linchpin::{Client, Effects};

/// What each SKU has before the first job.
pub const STOCK_AT_FIRST: i64 = 1_000_000;
/// Orders counted in one hash.
const ORDERS: u64 = 1000;
/// Keys changed at once.
const PIECE: usize = 60;

/// SKU -> what its stock is to be.
pub type Expected = BTreeMap<String, i64>;

/// The name of SKU number `number`.
pub fn sku(number: u64) -> String {
    format!("A{}", number + 1)
}

/// The stock of all SKUs, and how often each order was taken from it.
#[derive(Clone)]
pub struct Stock {
    client: Client,
    prefix: String,
}

/// What was found in the end.
pub struct Audit {
    pub stock: i64,
    pub wrong_skus: u64,
    pub lost: u64,
    pub double: u64,
}

impl Stock {
    pub fn new(client: &Client, namespace: &str) -> Self {
        Self {
            client: client.clone(),
            prefix: format!("inventory-example:{namespace}"),
        }
    }

    fn stock(&self, sku: &str) -> String {
        format!("{}:stock:{sku}", self.prefix)
    }

    /// Who is at this SKU.
    pub fn mark(&self, sku: &str) -> String {
        format!("{}:mark:{sku}", self.prefix)
    }

    /// How often the orders of a thousand were taken.
    fn orders(&self, order: u64) -> String {
        format!("{}:orders:{}", self.prefix, order / ORDERS)
    }

    pub async fn fill(&self, skus: u64) -> anyhow::Result<()> {
        let keys: Vec<String> = (0..skus).map(|number| self.stock(&sku(number))).collect();
        for piece in keys.chunks(PIECE) {
            let fill = |fx: &mut Effects| piece.iter().for_each(|key| fx.set(key, STOCK_AT_FIRST.to_string()));
            self.client.apply(fill).await?;
        }
        Ok(())
    }

    /// Says that the attempt named `token` is at a SKU now.
    pub async fn enter(&self, sku: &str, token: &str) -> Result<(), linchpin::Error> {
        self.client.apply(|fx| fx.set(self.mark(sku), token)).await
    }

    /// What an order does. The mark of another attempt means that two were at this SKU at once: then it is refused, which is counted.
    pub fn take(&self, fx: &mut Effects, order: u64, sku: &str, qty: i64, token: &str) {
        fx.require(self.mark(sku), token);
        fx.decr_by(self.stock(sku), qty);
        fx.hincr_by(self.orders(order), order.to_string(), 1);
    }

    /// Compares what is there with what is to be there, for orders 0 to `jobs`.
    pub async fn audit(&self, expected: &Expected, jobs: u64) -> anyhow::Result<Audit> {
        let mut audit = Audit {
            stock: 0,
            wrong_skus: 0,
            lost: jobs,
            double: 0,
        };
        for (sku, wanted) in expected {
            let stock = self.client.value(self.stock(sku)).await?.and_then(|value| value.as_int());
            audit.stock += stock.unwrap_or_default();
            audit.wrong_skus += u64::from(stock != Some(*wanted));
        }
        for first in (0..jobs).step_by(ORDERS as usize) {
            let Some(taken) = self.client.value(self.orders(first)).await? else {
                continue;
            };
            for order in first..jobs.min(first + ORDERS) {
                let times = taken.field(order.to_string());
                audit.lost -= u64::from(times.is_some());
                audit.double += u64::from(times.is_some_and(|times| times != b"1"));
            }
        }
        Ok(audit)
    }
}
