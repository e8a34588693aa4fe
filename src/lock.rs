//! Locks held by themselves: taken, waited for, renewed and released without any queue or worker.
//!
//! [`Client::lock`](crate::Client::lock) names a lock; [`Lock::acquire`] and [`Lock::try_acquire`] take it and give a [`Guard`], [`Lock::run`] holds
//! it for as long as a future runs. It is the same lock as a task's `lock = "..."`: whoever waits, job or client, stands in one line.
//!
//! A lock is a lease. It is renewed from a thread of its own until the guard is released or dropped, or lasts for a fixed time. What it cannot do
//! is stop a process that was paused for longer than its lease from writing elsewhere: pass [`Lease::fence`] on to whatever is written, and let that
//! refuse a lower one than it has seen:
//!
//! ```sql
//! UPDATE stock SET qty = qty - 2, last_fence = $1 WHERE sku = 'A1' AND last_fence <= $1
//! ```

mod agenda;
mod all;
mod guard;
mod hold;
mod line;
mod owner;
mod process;
mod releaser;
mod request;
mod watchdog;

pub use crate::store::lease::ReleaseAnswer;
pub use all::{Guards, LockAll};
pub use guard::Guard;
pub use hold::{Lease, Loss, Lost};
pub use owner::Owner;
pub(crate) use process::{Locks, Wait};
pub use request::Lock;
