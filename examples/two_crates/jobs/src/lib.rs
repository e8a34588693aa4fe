//! The jobs of a shop: what a producer needs to know of them. Whoever enqueues depends on this crate and compiles no handler.

use linchpin::Job;
use serde::{Deserialize, Serialize};

/// Puts items back on their shelf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Job)]
#[serde(deny_unknown_fields)]
#[job(lock = "inventory:{sku}")]
pub struct Restock {
    /// Which items.
    pub sku: String,
    /// How many.
    pub qty: u32,
}
