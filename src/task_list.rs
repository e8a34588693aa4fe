//! The list of tasks that a worker or a shop's own binary takes.

use crate::registry::Registration;

/// Tasks to register, made by [`tasks!`](crate::tasks); taken by
/// [`WorkerBuilder::tasks`](crate::worker::WorkerBuilder::tasks).
#[derive(Clone, Debug)]
pub struct TaskList(Vec<Registration>);

impl TaskList {
    /// Takes the registrations.
    pub fn new(registrations: Vec<Registration>) -> Self {
        Self(registrations)
    }

    /// The names of the tasks, in the order they were listed.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|registration| registration.job.name)
    }
}

impl IntoIterator for TaskList {
    type Item = Registration;
    type IntoIter = std::vec::IntoIter<Registration>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Lists tasks for a worker: `linchpin::tasks![decrement, restock]`.
///
/// # Examples
/// ```
/// use linchpin::{TaskResult, task};
///
/// #[task]
/// async fn decrement(sku: String, qty: u32) -> TaskResult {
///     Ok(())
/// }
///
/// let tasks = linchpin::tasks![decrement];
/// assert!(tasks.names().eq(["decrement"]));
/// ```
#[macro_export]
macro_rules! tasks {
    ($($task:ty),* $(,)?) => {
        $crate::TaskList::new(::std::vec![$($crate::registry::Registration::of::<$task>()),*])
    };
}
