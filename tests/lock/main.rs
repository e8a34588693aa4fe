//! Locks held by themselves: taken, waited for, renewed, lost, released; on both engines, and on a Redis that misbehaves.

#[path = "../support/mod.rs"]
mod support;

mod facts;
#[cfg(feature = "redis")]
mod faults;
#[cfg(feature = "redis")]
mod others;
