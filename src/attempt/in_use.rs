//! Work that dropping a future does not end.

use crate::attempt::Attempt;

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
