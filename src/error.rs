//! The one error type, split by what the caller can do about it.

use std::error::Error as StdError;
use std::fmt;

use crate::names::{JobId, LockKey, UniqueKey};

/// One thing that is wrong with the input: what, its value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// What was given, for example `queue name`.
    pub what: &'static str,
    /// Its value, cut to 80 characters.
    pub value: String,
    /// What is allowed, or the next step.
    pub allowed: String,
}

impl Invalid {
    /// Notes that `what` is `value` and what would be allowed.
    pub fn new(what: &'static str, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        let mut value = value.to_string();
        if value.chars().count() > 80 {
            value = value.chars().take(79).chain(['…']).collect();
        }
        Self {
            what,
            value,
            allowed: allowed.into(),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.what, self.value, self.allowed)
    }
}

/// What went wrong, by what the caller can do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input is wrong; nothing was done. Mend what the entries name; all problems found are listed.
    Invalid(Vec<Invalid>),
    /// The unique key is held by a job with other arguments; nothing was enqueued.
    Conflict {
        /// The key.
        key: UniqueKey,
        /// The job that holds it.
        holder: JobId,
    },
    /// The lock is held by somebody else.
    Busy {
        /// The first busy key.
        key: LockKey,
    },
    /// The attempt or hold is not valid any more: nothing it writes counts.
    Lost {
        /// What was attempted, for example ``lock `inventory:A1` ``.
        action: String,
    },
    /// The store could not be reached; nothing was done. Try again later.
    Unreachable {
        /// What was attempted and where (without secrets).
        action: String,
        /// The cause.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The store answered and refused; nothing was done. `advice` names what to change on the server or in the set-up.
    Refused {
        /// What was attempted and where (without secrets).
        action: String,
        /// The server's error code or the missing property, for example `OOM`, `NOPERM`, `version`.
        code: String,
        /// The next step for a person.
        advice: String,
        /// Whether the server may accept the same later by itself: it was full, loading, a replica for now, at its limit of clients.
        transient: bool,
    },
    /// Sent, but no answer came: it may have happened. Ask about the id, or enqueue again under a unique key.
    Unknown {
        /// What was attempted and where (without secrets).
        action: String,
        /// The jobs concerned.
        ids: Vec<JobId>,
    },
    /// A defect of Linchpin or foreign data in its keys. Please report it.
    Internal {
        /// What was found.
        what: String,
    },
}

impl Error {
    /// Whether the same call may succeed later without any change.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Unreachable { .. } | Error::Busy { .. } | Error::Refused { transient: true, .. }
        )
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Error::Invalid(vec![invalid])
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid(entries) => {
                f.write_str("invalid ")?;
                for (i, entry) in entries.iter().enumerate() {
                    if i > 0 {
                        f.write_str("; ")?;
                    }
                    entry.fmt(f)?;
                }
                Ok(())
            }
            Error::Conflict { key, holder } => {
                write!(
                    f,
                    "unique key `{key}` is held by job {holder} with other arguments: use another key, or wait until that job has ended"
                )
            }
            Error::Busy { key } => write!(f, "lock `{key}` is held by another owner"),
            Error::Lost { action } => write!(f, "{action}: the lease was lost, nothing written from here on counts"),
            Error::Unreachable { action, .. } => write!(f, "{action}: the store could not be reached"),
            Error::Refused { action, code, advice, .. } => write!(f, "{action}: refused ({code}): {advice}"),
            Error::Unknown { action, ids } => {
                write!(f, "{action}: no answer, it may have been done")?;
                for id in ids.iter().take(3) {
                    write!(f, " ({id})")?;
                }
                f.write_str(match ids.is_empty() {
                    true => ": ask what is so now, and do it again where it was not done",
                    false => ": ask for the job's status, or enqueue it again under a unique key",
                })
            }
            Error::Internal { what } => write!(f, "internal: {what}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Unreachable { source: Some(source), .. } => Some(&**source),
            _ => None,
        }
    }
}
