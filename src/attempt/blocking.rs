//! Work that dropping a future does not end.

use crate::attempt::Attempt;
use crate::task::{TaskError, TaskResult};

/// Keeps an attempt in use until it is dropped: it is not settled before. Made by [`Attempt::hold`].
#[derive(Debug)]
#[must_use = "dropping it says that the work has ended"]
pub struct InUse(Attempt);

impl InUse {
    pub(super) fn new(attempt: Attempt) -> Self {
        attempt.state().enter_use();
        Self(attempt)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.state().leave_use();
    }
}

/// Runs a synchronous handler on the blocking pool. The attempt stays in use until the closure has really ended and its result
/// was taken or thrown away; a panic of the closure goes on in the caller.
///
/// # Errors
/// The closure's own; a retry when the runtime ended before the closure began.
pub async fn blocking<T: Send + 'static>(attempt: &Attempt, work: impl FnOnce() -> TaskResult<T> + Send + 'static) -> TaskResult<T> {
    let in_use = attempt.hold();
    match tokio::task::spawn_blocking(move || (work(), in_use)).await {
        Ok((result, _in_use)) => result,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(ended) => Err(TaskError::from(ended)),
        },
    }
}
