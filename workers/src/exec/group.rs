//! The process group of a command.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

/// How long those who were killed are waited for: their new parent has to take note of them.
const REAPED: Duration = Duration::from_secs(1);
/// How often a group is looked at; longer and longer while it is given time.
const GLANCE: Duration = Duration::from_millis(2);
const GLANCE_MAX: Duration = Duration::from_millis(50);

/// The groups that live, by their leader's process id.
static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A command's process group. Dropping it kills what is left in it.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that a child leads.
    pub(super) fn of(child: &Child) -> Self {
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid {
            live(|groups| groups.insert(pid.as_raw_pid()));
        }
        Self(pid)
    }

    /// Asks everybody in it to end.
    pub(super) fn term(&self) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, Signal::TERM);
        }
    }

    /// Ends everybody in it. An empty group is no failure.
    pub(super) fn kill(&self) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Group {
    /// Waits until nobody is in it any more. The leader has to be waited for meanwhile: until then it counts.
    pub(super) async fn gone(&self) {
        let Some(pid) = self.0 else { return };
        let mut glance = GLANCE;
        while test_kill_process_group(pid).is_ok() {
            tokio::time::sleep(glance).await;
            glance = (glance * 2).min(GLANCE_MAX);
        }
    }

    /// Ends everybody in it, waits until they have ended, and forgets it.
    pub(super) async fn end(&mut self) {
        let Some(pid) = self.0 else { return };
        let left = || kill_process_group(pid, Signal::KILL).is_ok();
        let until = tokio::time::Instant::now() + REAPED;
        while left() && tokio::time::Instant::now() < until {
            tokio::time::sleep(GLANCE).await;
        }
        self.forget();
    }

    fn forget(&mut self) {
        if let Some(pid) = self.0.take() {
            live(|groups| groups.remove(&pid.as_raw_pid()));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        self.forget();
    }
}

/// Ends every group that lives: for a worker that ends at once.
pub fn kill_all() {
    let groups = live(|groups| groups.clone());
    for pid in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn live<T>(change: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    change(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner))
}
