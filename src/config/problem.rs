//! What is wrong with a configuration: where, which key, and what is allowed.

use std::error::Error as StdError;
use std::fmt;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file's name, or an environment variable's.
    pub place: String,
    /// The line in the file, from 1; `None` for an environment variable or a whole file.
    pub line: Option<usize>,
    /// The key with its sections, such as `worker.lease`; empty for a whole file.
    pub key: String,
    /// What is wrong, and what is allowed.
    pub text: String,
}

impl Problem {
    pub(super) fn of_file(name: &str, text: String) -> Self {
        Self {
            place: name.to_owned(),
            line: None,
            key: String::new(),
            text,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.text)
    }
}

/// Everything that is wrong with a configuration, in the order of the file. Prints one line a problem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems.
    pub fn list(&self) -> &[Problem] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, problem: Problem) {
        let at = self.0.partition_point(|other| order(other) <= order(&problem));
        self.0.insert(at, problem);
    }
}

/// Lines first, in order; then what stands in the environment.
fn order(problem: &Problem) -> (bool, usize) {
    (problem.line.is_none(), problem.line.unwrap_or(0))
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl StdError for Problems {}
