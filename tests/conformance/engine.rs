//! The engines, and what a test does to their data behind their backs.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use linchpin::names::{JobId, LockKey};
use linchpin::store::Store;
use linchpin::store::memory::MemoryStore;

/// An engine on a test clock, with nothing in it.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Its store.
    fn store(&self) -> Arc<dyn Store>;
    /// Overwrites a stored job with something that cannot be read.
    async fn spoil(&self, id: JobId);
    /// Puts something that is no lock where a lock would be.
    async fn plant_foreign_lock(&self, key: &LockKey);
    /// Deletes whatever stands where a lock is.
    async fn lose_lock(&self, key: &LockKey);
    /// Adds a second entry of a job to the tail of its queue.
    async fn duplicate_entry(&self, id: JobId);
    /// Takes every entry of a job off its queue's and its locks' lists.
    async fn lose_entries(&self, id: JobId);
    /// Every list, head first: `queue:<q>:<priority>` and `parked:<key>`, and whose turn it is as `next:<key>`.
    async fn lists(&self) -> BTreeMap<String, Vec<JobId>>;
}

pub async fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory(Arc::new(MemoryStore::with_test_clock())))
}

struct Memory(Arc<MemoryStore>);

#[async_trait]
impl Engine for Memory {
    fn store(&self) -> Arc<dyn Store> {
        self.0.clone()
    }

    async fn spoil(&self, id: JobId) {
        self.0.spoil(id);
    }

    async fn plant_foreign_lock(&self, key: &LockKey) {
        self.0.plant_foreign_lock(key);
    }

    async fn lose_lock(&self, key: &LockKey) {
        self.0.lose_lock(key);
    }

    async fn duplicate_entry(&self, id: JobId) {
        self.0.duplicate_entry(id);
    }

    async fn lose_entries(&self, id: JobId) {
        self.0.lose_entries(id);
    }

    async fn lists(&self) -> BTreeMap<String, Vec<JobId>> {
        self.0.lists()
    }
}
