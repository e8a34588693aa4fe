//! Lists in pages: never more in one answer than was asked for, whatever the store holds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Error, Invalid};
use crate::limits::PAGE_MAX;
use crate::names::{JobId, QueueName, TaskName};
use crate::store::view::State;

/// A state without what belongs to it: what a list asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateName {
    /// Due later.
    Scheduled,
    /// In its queue.
    Ready,
    /// Behind a lock.
    Parked,
    /// An attempt owns it.
    Active,
    /// Dead.
    Dead,
}

impl StateName {
    /// Every state in which a job is kept.
    pub const ALL: [StateName; 5] = [Self::Scheduled, Self::Ready, Self::Parked, Self::Active, Self::Dead];

    /// The state's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Parked => "parked",
            Self::Active => "active",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StateName {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| Invalid::new("state", word, "scheduled, ready, parked, active or dead").into())
    }
}

impl State {
    /// The state's name.
    pub fn name(&self) -> StateName {
        match self {
            State::Scheduled { .. } => StateName::Scheduled,
            State::Ready => StateName::Ready,
            State::Parked { .. } => StateName::Parked,
            State::Active { .. } => StateName::Active,
            State::Dead { .. } => StateName::Dead,
        }
    }
}

/// Which jobs a list shows; without any condition all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// Only in this state.
    pub state: Option<StateName>,
    /// Only of this queue.
    pub queue: Option<QueueName>,
    /// Only of this task.
    pub task: Option<TaskName>,
}

impl JobFilter {
    /// Every job in one state.
    pub fn in_state(state: StateName) -> Self {
        Self {
            state: Some(state),
            ..Self::default()
        }
    }

    /// Whether a job is one of those asked for.
    pub fn takes(&self, job: &JobRow) -> bool {
        self.state.is_none_or(|state| state == job.state.name())
            && (self.queue.is_none() || self.queue == job.queue)
            && (self.task.is_none() || self.task == job.task)
    }

    pub(crate) fn walk(&self) -> Walk {
        match (self.state, &self.queue) {
            (Some(StateName::Scheduled), _) => Walk::Scheduled,
            (Some(StateName::Dead), _) => Walk::Dead,
            (Some(StateName::Active), _) => Walk::Active,
            (Some(StateName::Parked), _) => Walk::Parked,
            (Some(StateName::Ready), Some(queue)) => Walk::Queue(queue.clone()),
            (Some(StateName::Ready) | None, _) => Walk::All,
        }
    }
}

/// The way a list is walked: in an order that means something where the store has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Walk {
    /// The earliest due first.
    Scheduled,
    /// The latest death first.
    Dead,
    /// The lists of a queue from their heads.
    Queue(QueueName),
    /// In no order.
    Active,
    /// In no order.
    Parked,
    /// In no order.
    All,
}

impl Walk {
    pub(crate) fn letter(&self) -> char {
        match self {
            Walk::Scheduled => 's',
            Walk::Dead => 'd',
            Walk::Queue(_) => 'r',
            Walk::Active => 'a',
            Walk::Parked => 'p',
            Walk::All => 'j',
        }
    }
}

/// Where a page ended and the next one begins. It is valid for the filter of its page, and only names a position: jobs that move
/// meanwhile may come twice or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    pub(crate) fn new(walk: &Walk, position: impl fmt::Display) -> Self {
        Self(format!("{}{position}", walk.letter()))
    }

    /// The position within `walk`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is of a page with another filter.
    pub(crate) fn position(cursor: Option<&Cursor>, walk: &Walk) -> Result<String, Error> {
        match cursor {
            None => Ok("0".into()),
            Some(cursor) => match cursor.0.strip_prefix(walk.letter()) {
                Some(position) => Ok(position.into()),
                None => Err(Invalid::new("cursor", cursor, "the cursor of a page with the same filter").into()),
            },
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut chars = text.chars();
        let walk = chars.next().is_some_and(|first| "sdrapj".contains(first));
        let position = chars.as_str();
        let (piece, shown) = position.split_once('.').unwrap_or((position, "0"));
        let number = |text: &str| (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if walk && number(piece) && number(shown) {
            return Ok(Self(text.into()));
        }
        Err(Invalid::new("cursor", text, "a cursor as the page before gave it").into())
    }
}

/// A job in a list: without its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// Where it is.
    pub state: State,
    /// How long it has been dead.
    pub dead_for: Option<Duration>,
    /// Its queue; none where the stored job cannot be read.
    pub queue: Option<QueueName>,
    /// Its task; none where the stored job cannot be read.
    pub task: Option<TaskName>,
    /// Charged attempts.
    pub charged: u32,
    /// Whether its last attempt ended with its worker.
    pub suspect: bool,
    /// Its last error.
    pub last_error: Option<String>,
}

/// One page of a list of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<JobRow>,
    /// Where the next page begins; none after the last one. A page may be short, even empty, and not be the last: what was looked
    /// at for one page is bounded too.
    pub next: Option<Cursor>,
}

/// Checks a page's length.
pub(crate) fn check_limit(limit: usize) -> Result<(), Error> {
    if (1..=PAGE_MAX).contains(&limit) {
        return Ok(());
    }
    Err(Invalid::new("length of a page", limit, format!("1 to {PAGE_MAX}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_is_for_its_own_walk() {
        let cursor = Cursor::new(&Walk::Dead, 300);
        assert_eq!(cursor.to_string().parse::<Cursor>().expect("its own text"), cursor);
        assert_eq!(Cursor::position(Some(&cursor), &Walk::Dead).expect("its walk"), "300");
        assert!(Cursor::position(Some(&cursor), &Walk::All).is_err());
        assert!("j17.3".parse::<Cursor>().is_ok());
        for bad in ["", "d", "x1", "d-1", "d1;", "d1.2.3", "d.", "d123456789012345678901"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_state_reads_back_from_its_word() {
        for state in StateName::ALL {
            assert_eq!(state.to_string().parse::<StateName>().expect("a word"), state);
        }
        let error = "done".parse::<StateName>().expect_err("nothing is kept of it").to_string();
        assert!(error.contains("parked"), "{error}");
    }
}
