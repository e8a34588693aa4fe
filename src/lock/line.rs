//! The acquisitions of this process that wait in line: who is told of an offer, and who asks for all when nothing is heard.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::names::{LockKey, OwnerToken};

/// Who waits.
#[derive(Default)]
pub(crate) struct Line {
    table: Mutex<Table>,
    /// Pushes are heard: offers reach this process.
    hearing: AtomicBool,
}

#[derive(Default)]
struct Table {
    told: HashMap<OwnerToken, Arc<Notify>>,
    /// In the order of their coming: the first of a key asks for all of this process.
    by_key: HashMap<LockKey, VecDeque<OwnerToken>>,
}

impl Line {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, key: &LockKey, token: &OwnerToken) -> Place<'_> {
        let told = Arc::new(Notify::new());
        let mut table = self.table();
        table.told.insert(token.clone(), told.clone());
        table.by_key.entry(key.clone()).or_default().push_back(token.clone());
        Place {
            line: self,
            key: key.clone(),
            token: token.clone(),
            told,
        }
    }

    /// A lock is offered to one of them.
    pub(crate) fn offered(&self, token: &OwnerToken) {
        if let Some(told) = self.table().told.get(token) {
            told.notify_one();
        }
    }

    /// Offers may have been missed: all ask.
    pub(crate) fn ask_all(&self) {
        self.table().told.values().for_each(|told| told.notify_one());
    }

    pub(crate) fn hears(&self, hears: bool) {
        self.hearing.store(hears, Ordering::Release);
    }

    pub(super) fn is_hearing(&self) -> bool {
        self.hearing.load(Ordering::Acquire)
    }
}

/// A place in the line, left when dropped.
pub(super) struct Place<'a> {
    line: &'a Line,
    key: LockKey,
    token: OwnerToken,
    told: Arc<Notify>,
}

impl Place<'_> {
    /// Waits until this one has to ask.
    pub(super) async fn told(&self) {
        self.told.notified().await;
    }

    /// Whether it is the one of this process that asks when nothing is heard.
    pub(super) fn is_first(&self) -> bool {
        self.line
            .table()
            .by_key
            .get(&self.key)
            .is_none_or(|line| line.front() == Some(&self.token))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut table = self.line.table();
        table.told.remove(&self.token);
        if let Some(line) = table.by_key.get_mut(&self.key) {
            match line.front() == Some(&self.token) {
                true => drop(line.pop_front()),
                false => line.retain(|token| *token != self.token),
            }
            if line.is_empty() {
                table.by_key.remove(&self.key);
            }
        }
    }
}
