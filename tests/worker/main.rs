//! What a worker promises, on the embedded engine.
#![cfg(feature = "macros")]
#![allow(clippy::unwrap_used, missing_docs)]

mod building;
mod effects;
mod fates;
mod faulty;
mod gates;
mod leases;
mod nested;
mod shop;
mod shutdown;
mod suspects;
