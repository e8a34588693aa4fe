//! What a worker brings to the ticker.

use crate::manifest::Manifest;
use crate::names::ScheduleName;
use crate::schedule::Definition;

/// A schedule that a worker brings with it.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    pub name: ScheduleName,
    pub definition: Definition,
    pub generation: Option<u64>,
}

/// What a worker has to do with schedules.
pub(crate) struct Timetable {
    pub brought: Vec<Brought>,
    /// What it tells of its tasks.
    pub own: Vec<(String, Manifest)>,
}
