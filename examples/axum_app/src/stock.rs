//! The stock: in this process's memory, which is why a restart fills it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Items by SKU.
#[derive(Clone)]
pub struct Stock(Arc<Mutex<HashMap<String, i64>>>);

impl Stock {
    /// Fills it.
    pub fn new<const N: usize>(items: [(&str, i64); N]) -> Self {
        Self(Arc::new(Mutex::new(items.map(|(sku, left)| (sku.to_owned(), left)).into())))
    }

    /// How many of a SKU are left; `None` for one that the shop does not have.
    pub fn left(&self, sku: &str) -> Option<i64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(sku).copied()
    }

    /// Sets it, under the SKU's lock.
    pub fn set(&self, sku: &str, left: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(sku.to_owned(), left);
    }
}
