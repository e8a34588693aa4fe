//! The process group of a command.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use tokio::process::Child;

/// How long those who were killed are waited for: one in the kernel's hands may take its time.
const ENDED: Duration = Duration::from_secs(1);
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
    /// Waits until nobody is in it any more. Only once its leader was waited for: here that would take its exit code.
    pub(super) async fn gone(&self) {
        let Some(pid) = self.0 else { return };
        let mut glance = GLANCE;
        while lives(pid) {
            tokio::time::sleep(glance).await;
            glance = (glance * 2).min(GLANCE_MAX);
        }
    }

    /// Ends everybody in it, waits until they have ended, and forgets it. Only once its leader was waited for.
    pub(super) async fn end(&mut self) {
        let Some(pid) = self.0 else { return };
        let until = tokio::time::Instant::now() + ENDED;
        // again and again: somebody may have been born between
        while kill_process_group(pid, Signal::KILL).is_ok() && lives(pid) && tokio::time::Instant::now() < until {
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

/// Whether anybody in a group lives. Those who have ended stay in it until their parent has taken note, and process 1 may be slow to do so;
/// where this worker is process 1 itself, it is they whose end it notes.
fn lives(group: Pid) -> bool {
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
    test_kill_process_group(group).is_ok() && !only_ended(group)
}

/// Whether all in a group have ended, as Linux's `/proc` shows it; no where it shows nobody of it.
fn only_ended(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let group = group.as_raw_pid().to_string();
    let mut ended = false;
    for entry in processes.flatten() {
        // process id, (name), state, parent, group: the name may hold anything
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((_, fields)) = stat.rsplit_once(')') else { continue };
        let mut fields = fields.split_ascii_whitespace();
        let (state, of) = (fields.next(), fields.nth(1));
        if of == Some(&group) {
            ended = matches!(state, Some("Z" | "X"));
            if !ended {
                return false;
            }
        }
    }
    ended
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
