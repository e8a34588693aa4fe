//! Tasks by name.

use crate::job::Job;
use crate::task::Task;

/// The tasks of one worker.
#[derive(Debug, Default)]
pub struct Registry {
    names: Vec<&'static str>,
}

impl Registry {
    /// Adds a task.
    pub fn add<T: Task>(&mut self) {
        self.names.push(<T::Job as Job>::SPEC.name);
    }

    /// The names of the tasks, in the order they were added.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }
}
