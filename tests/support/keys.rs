//! What may be left of a namespace when all work is done: the last column of the table of keys in ARCHITECTURE.md.

const MAY_STAY: [&str; 7] = ["schema", "state", "owners", "attempts", "tasks", "workers", "worker_cards"];
const FAMILIES: [&str; 4] = ["wake:", "lanes:", "stats:", "progress:"];

/// Whether a key, without its namespace, is one of those that are bounded by themselves.
pub fn may_stay(name: &str) -> bool {
    MAY_STAY.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}
