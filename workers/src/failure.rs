//! Why a command did not work.

use std::error::Error as StdError;
use std::fmt;

/// What was attempted, and why it did not work.
#[derive(Debug)]
pub struct Failure {
    action: String,
    cause: Box<dyn StdError + Send + Sync>,
}

impl Failure {
    /// Notes that `action` failed because of `cause` (an error, or text).
    pub fn new(action: impl Into<String>, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            action: action.into(),
            cause: cause.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.action, self.cause)?;
        let mut source = self.cause.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

impl From<linchpin::Error> for Failure {
    fn from(error: linchpin::Error) -> Self {
        Self::new("bench", error)
    }
}

impl From<redis::RedisError> for Failure {
    fn from(error: redis::RedisError) -> Self {
        Self::new("ask the redis server", error)
    }
}
