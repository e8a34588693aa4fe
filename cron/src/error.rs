//! What is wrong with a line: where, why, and what to write instead.

use std::error::Error;
use std::fmt;

use crate::Field;

/// Why a line is no schedule: the first mistake from the left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronError {
    /// The field; [`Field::Line`] when the mistake is not in a single one.
    pub field: Field,
    /// The character of the line at which the mistake begins, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
    /// What to write instead, or what is allowed.
    pub mend: String,
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            column,
            reason,
            mend,
        } = self;
        write!(f, "{field}, column {column}: {reason}: {mend}")
    }
}

impl Error for CronError {}

/// A piece of the line: where mistakes in it are reported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub field: Field,
    pub text: &'a str,
    /// Column of its first character.
    pub column: usize,
}

impl<'a> Piece<'a> {
    /// The part of it from a byte on to another.
    pub fn part(self, from: usize, to: usize) -> Piece<'a> {
        let text = self.text.get(from..to).unwrap_or_default();
        Piece {
            text,
            column: self.column + from,
            ..self
        }
    }

    /// Splits it at the first `mark`.
    pub fn split(self, mark: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let at = self.text.find(mark)?;
        Some((self.part(0, at), self.part(at + mark.len_utf8(), self.text.len())))
    }

    pub fn error(self, reason: impl Into<String>, mend: impl Into<String>) -> CronError {
        CronError {
            field: self.field,
            column: self.column,
            reason: reason.into(),
            mend: mend.into(),
        }
    }
}
