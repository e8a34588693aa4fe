//! What the watchdog of a process's locks has to do, in the order of its times.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::hold::Hold;
use crate::clock::LeaseInstant;
use crate::names::{LockKey, OwnerToken};

/// A release that the watchdog sends: of a guard or an acquisition that was dropped.
pub(super) struct Release {
    pub(super) key: LockKey,
    pub(super) token: OwnerToken,
    /// When the hold has ended by itself.
    pub(super) until: LeaseInstant,
    /// It is kept until then.
    pub(super) kept: Option<LeaseInstant>,
}

/// Holds by the time at which the watchdog has to look at them, and releases.
#[derive(Default)]
pub(super) struct Agenda {
    list: Mutex<List>,
    pub(super) nudge: Notify,
    /// Told whenever a release has been answered or given up.
    pub(super) settled: Notify,
}

#[derive(Default)]
struct List {
    holds: BTreeMap<(u64, u64), Arc<Hold>>,
    releases: Vec<Release>,
    /// Releases taken or waiting.
    open: usize,
    /// When the watchdog wakes by itself.
    wakes_at: u64,
    closed: bool,
}

/// What is to be done now.
pub(super) struct Round {
    pub(super) holds: Vec<Arc<Hold>>,
    pub(super) releases: Vec<Release>,
    pub(super) next: Option<LeaseInstant>,
    pub(super) closed: bool,
}

impl Agenda {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a hold then, and not when it was to be looked at before.
    pub(super) fn look_at(&self, hold: &Arc<Hold>, at: LeaseInstant) {
        let mut list = self.list();
        let due = at.as_nanos();
        list.holds.remove(&(hold.due.swap(due, Ordering::Relaxed), hold.serial));
        if hold.has_ended() {
            return;
        }
        list.holds.insert((due, hold.serial), hold.clone());
        if due < list.wakes_at {
            list.wakes_at = due;
            self.nudge.notify_one();
        }
    }

    /// Looks at a hold no more.
    pub(super) fn forget(&self, hold: &Hold) {
        self.list().holds.remove(&(hold.due.load(Ordering::Relaxed), hold.serial));
    }

    /// The hold of a token.
    pub(super) fn find(&self, token: &OwnerToken) -> Option<Arc<Hold>> {
        self.list().holds.values().find(|hold| hold.token == *token).cloned()
    }

    pub(super) fn look_at_all(&self) {
        let now = LeaseInstant::now();
        let holds: Vec<Arc<Hold>> = self.list().holds.values().filter(|hold| !hold.fixed).cloned().collect();
        for hold in holds {
            self.look_at(&hold, now);
        }
    }

    pub(super) fn release(&self, release: Release) {
        let mut list = self.list();
        list.releases.push(release);
        list.open += 1;
        self.nudge.notify_one();
    }

    /// A release was answered or given up.
    pub(super) fn settle(&self) {
        self.list().open -= 1;
        self.settled.notify_waiters();
    }

    pub(super) fn is_settled(&self) -> bool {
        self.list().open == 0
    }

    pub(super) fn close(&self) {
        self.list().closed = true;
        self.nudge.notify_one();
    }

    /// Takes what is due until `horizon`.
    pub(super) fn round(&self, horizon: LeaseInstant) -> Round {
        let mut list = self.list();
        let later = list.holds.split_off(&(horizon.as_nanos() + 1, 0));
        let due = std::mem::replace(&mut list.holds, later);
        let next = list.holds.keys().next().map(|(at, _)| *at);
        // what was waited for may have been released: then the time stands, so that locks taken and released in turn do not wake each time
        let stands = Some(list.wakes_at).filter(|at| *at > horizon.as_nanos() && *at != u64::MAX);
        let next = next.or(stands);
        list.wakes_at = next.unwrap_or(u64::MAX);
        Round {
            holds: due.into_values().collect(),
            releases: std::mem::take(&mut list.releases),
            next: next.map(LeaseInstant::from_nanos),
            closed: list.closed && list.open == 0,
        }
    }
}
