//! Jobs as tests write them.

use std::time::Duration;

use bytes::Bytes;
use linchpin::limits::CRASH_LIMIT;
use linchpin::names::{JobId, LockKey, OwnerToken, ProcessId, QueueName, TaskName, UniqueKey};
use linchpin::store::new_job::{Body, Due, Header, NewJob, OnBusy, Priority, Unique};

pub fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a valid queue name")
}

pub fn key(name: &str) -> LockKey {
    LockKey::new(name).expect("a valid lock key")
}

pub fn unique_key(name: &str) -> UniqueKey {
    UniqueKey::new(name).expect("a valid unique key")
}

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A token of some other process.
pub fn strange_token() -> OwnerToken {
    OwnerToken::new(&ProcessId::random(), 0, 1)
}

/// A new job under construction.
#[derive(Clone)]
pub struct Draft(pub NewJob);

/// A ready job of queue `q` without anything.
pub fn job() -> Draft {
    job_in("q")
}

/// A ready job of a queue without anything.
pub fn job_in(name: &str) -> Draft {
    Draft(NewJob {
        id: JobId::random(),
        header: Header {
            queue: queue(name),
            priority: Priority::Normal,
            locks: Vec::new(),
            on_busy: OnBusy::Wait,
            wait_timeout: None,
            unique: None,
            crash_limit: CRASH_LIMIT,
            expires_in: None,
        },
        body: Body {
            task: TaskName::new("take").expect("a valid task name"),
            retries: None,
            timeout: None,
            lock_at_least: None,
            tick: None,
            args: Bytes::from_static(br#"{"sku":"A1","qty":2}"#),
        },
        due: Due::Now,
        unique: None,
    })
}

impl Draft {
    pub fn id(&self) -> JobId {
        self.0.id
    }

    pub fn locks(mut self, names: &[&str]) -> Self {
        self.0.header.locks = names.iter().map(|name| key(name)).collect();
        self.0.header.locks.sort();
        self
    }

    pub fn lock(self, name: &str) -> Self {
        self.locks(&[name])
    }

    pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.0.header.on_busy = on_busy;
        self
    }

    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.0.header.wait_timeout = Some(timeout);
        self
    }

    pub fn priority(mut self, priority: Priority) -> Self {
        self.0.header.priority = priority;
        self
    }

    pub fn crash_limit(mut self, limit: u32) -> Self {
        self.0.header.crash_limit = limit;
        self
    }

    pub fn expires_in(mut self, after: Duration) -> Self {
        self.0.header.expires_in = Some(after);
        self
    }

    pub fn after(mut self, delay: Duration) -> Self {
        self.0.due = Due::After(delay);
        self
    }

    pub fn due(mut self, due: Due) -> Self {
        self.0.due = due;
        self
    }

    /// A unique key for the job's life, under the digest of `arguments`.
    pub fn unique(mut self, name: &str, arguments: u8) -> Self {
        self.0.header.unique = Some(unique_key(name));
        self.0.unique = Some(Unique {
            key: unique_key(name),
            digest: [arguments; 16],
            kept_for: None,
        });
        self
    }

    /// A unique key for a time, under the digest of `arguments`.
    pub fn unique_for(mut self, name: &str, arguments: u8, kept_for: Duration) -> Self {
        self.0.unique = Some(Unique {
            key: unique_key(name),
            digest: [arguments; 16],
            kept_for: Some(kept_for),
        });
        self
    }
}
