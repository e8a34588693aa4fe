//! Key names: the only place in Rust that builds them. Scripts get the prefix and make the rest (`lua/prelude.lua`).

use crate::names::{JobId, Namespace, ProcessId, QueueName};

/// The keys of one namespace; all share its hash tag, hence one slot.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(namespace: &Namespace) -> Self {
        Self {
            prefix: format!("{{{namespace}}}:"),
        }
    }

    /// The namespace.
    pub(super) fn namespace(&self) -> &str {
        &self.prefix[1..self.prefix.len() - 2]
    }

    /// `{namespace}:`
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The list that holds a queue's mark.
    pub(super) fn wake(&self, queue: &QueueName) -> String {
        format!("{}wake:{queue}", self.prefix)
    }

    /// The queue whose mark stands under a key.
    pub(super) fn woken(&self, key: &str) -> Option<QueueName> {
        QueueName::new(key.strip_prefix(&self.prefix)?.strip_prefix("wake:")?).ok()
    }

    /// The one channel of a process.
    pub(super) fn push(&self, process: &ProcessId) -> String {
        format!("{}push:{process}", self.prefix)
    }

    /// What was kept of a job.
    pub(super) fn result(&self, id: JobId) -> String {
        format!("{}result:{id}", self.prefix)
    }

    /// The attempts log.
    pub(super) fn attempts(&self) -> String {
        format!("{}attempts", self.prefix)
    }

    /// The manifest.
    pub(super) fn tasks(&self) -> String {
        format!("{}tasks", self.prefix)
    }

    /// Matches every queue's lists, escaped for `SCAN`.
    pub(super) fn queues(&self) -> String {
        format!("{}queue:*", self.prefix.replace('[', "\\["))
    }

    /// Matches every lock, escaped for `SCAN`.
    pub(super) fn locks(&self) -> String {
        format!("{}lock:*", self.prefix.replace('[', "\\["))
    }

    /// The key of a lock `lock:<key>`, in its wire form.
    pub(super) fn lock_of<'a>(&self, key: &'a str) -> Option<&'a str> {
        key.strip_prefix(&self.prefix)?.strip_prefix("lock:")
    }

    /// The locks that somebody waits for or has the turn for.
    pub(super) fn lock_checks(&self) -> String {
        format!("{}lock_checks", self.prefix)
    }

    /// Bodies read after a claim.
    pub(super) fn bodies(&self) -> String {
        format!("{}bodies", self.prefix)
    }

    /// The lanes of a process that is no worker.
    pub(super) fn lanes(&self, process: &ProcessId) -> String {
        format!("{}lanes:{process}", self.prefix)
    }

    /// A unique key's row.
    pub(super) fn unique(&self, wire: &str) -> String {
        format!("{}unique:{wire}", self.prefix)
    }

    /// Matches every key of the namespace, escaped for `SCAN`.
    pub(super) fn everything(&self) -> String {
        format!("{}*", self.prefix.replace('[', "\\["))
    }

    /// The queue of a list `queue:<queue>:<priority>`.
    pub(super) fn queue_of(&self, key: &str) -> Option<QueueName> {
        let (queue, _priority) = key.strip_prefix(&self.prefix)?.strip_prefix("queue:")?.rsplit_once(':')?;
        QueueName::new(queue).ok()
    }
}
