//! The list of tasks that a worker or a shop's own binary takes.

use crate::registry::Registry;

/// Tasks to register, made by [`tasks!`](crate::tasks).
#[derive(Clone)]
pub struct TaskList(Vec<fn(&mut Registry)>);

impl TaskList {
    /// Takes the registrations.
    pub fn new(registrations: Vec<fn(&mut Registry)>) -> Self {
        Self(registrations)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Registers every task.
    pub fn register(&self, registry: &mut Registry) {
        self.0.iter().for_each(|register| register(registry));
    }
}

impl std::fmt::Debug for TaskList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TaskList({} tasks)", self.0.len())
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
/// assert_eq!(tasks.len(), 1);
/// ```
#[macro_export]
macro_rules! tasks {
    ($($task:ty),* $(,)?) => {
        $crate::TaskList::new(::std::vec![$(|registry| registry.add::<$task>()),*])
    };
}
