//! Why a command did not work, and the exit code that says so.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

/// What a command that worked has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It did what was asked: exit code 0.
    Yes,
    /// It worked, and the answer is no (no such job, nothing to cancel): exit code 1.
    No,
}

/// Which exit code a failure has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The store refused, or something unforeseen: exit code 1.
    Refused,
    /// The command line or the configuration is wrong, nothing was done: exit code 2.
    Usage,
    /// The store could not be reached: exit code 3.
    Unreachable,
}

/// What was attempted, and why it did not work.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    action: Option<String>,
    cause: Box<dyn StdError + Send + Sync>,
}

impl Failure {
    /// Notes that `action` failed because of `cause` (an error, or text).
    pub fn new(action: impl Into<String>, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind: Kind::Refused,
            action: Some(action.into()),
            cause: cause.into(),
        }
    }

    /// Notes what is wrong with the command line or the configuration, and what is allowed.
    pub fn usage(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind: Kind::Usage,
            action: None,
            cause: cause.into(),
        }
    }

    /// Notes that the store went away in the middle of something.
    pub fn unreachable(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind: Kind::Unreachable,
            action: None,
            cause: cause.into(),
        }
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::Unreachable => 3,
        })
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => ExitCode::SUCCESS,
            Answer::No => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(action) = &self.action {
            write!(f, "{action}: ")?;
        }
        write!(f, "{}", self.cause)?;
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
        let kind = match error {
            linchpin::Error::Invalid(_) => Kind::Usage,
            linchpin::Error::Refused { ref code, .. } if code == "database" => Kind::Usage,
            linchpin::Error::Unreachable { .. } | linchpin::Error::Unknown { .. } => Kind::Unreachable,
            _ => Kind::Refused,
        };
        Self {
            kind,
            action: None,
            cause: error.into(),
        }
    }
}

impl From<redis::RedisError> for Failure {
    fn from(error: redis::RedisError) -> Self {
        Self::new("ask the redis server", error)
    }
}
