//! Telling an attempt to stop.

use std::fmt;

/// Why an attempt is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopCause {
    /// Its lease or one of its locks was lost: nothing it writes counts any more.
    LeaseLost,
    /// Somebody cancelled or deleted the job.
    Cancelled,
    /// It took longer than its timeout.
    TimedOut,
    /// The worker ends.
    Shutdown,
}

impl StopCause {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::LeaseLost => 1,
            Self::Cancelled => 2,
            Self::TimedOut => 3,
            Self::Shutdown => 4,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::LeaseLost),
            2 => Some(Self::Cancelled),
            3 => Some(Self::TimedOut),
            4 => Some(Self::Shutdown),
            _ => None,
        }
    }
}

impl fmt::Display for StopCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseLost => "lease lost",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
            Self::Shutdown => "the worker ends",
        })
    }
}
