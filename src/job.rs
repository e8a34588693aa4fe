//! What a producer needs to know of a job: its task's name, its fields, its lock and unique keys.

use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Invalid};
use crate::limits::{CRASH_LIMIT, LOCK_KEYS_MAX, QUEUE};
use crate::names::LockKey;
use crate::store::new_job::{NewJob, OnBusy, Priority};

/// A job: data with a task's name. `#[task]` and `#[derive(Job)]` write the implementation.
pub trait Job: Serialize + Send + 'static {
    /// What is the same for every job of this kind.
    const SPEC: &'static JobSpec;

    /// The lock templates rendered from this job's fields, in the order of the templates.
    fn lock_keys(&self) -> Vec<String>;

    /// The unique template rendered from this job's fields.
    fn unique_key(&self) -> Option<String>;
}

/// What may follow a job with its settle, see [`Effects::enqueue`](crate::Effects::enqueue): any job, also with options as
/// [`Client::enqueue`](crate::Client::enqueue) returns it.
pub trait FollowUp {
    /// Checks it and draws its id.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all that is wrong.
    #[doc(hidden)]
    fn into_new_job(self) -> Result<NewJob, Error>;
}

/// What is the same for every job of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobSpec {
    /// The task's name.
    pub name: &'static str,
    /// The arguments.
    pub fields: &'static [Field],
    /// Queue. Default `default`.
    pub queue: &'static str,
    /// Priority within the queue. Default normal.
    pub priority: Priority,
    /// Lock templates such as `inventory:{sku}`. Default none.
    pub locks: &'static [&'static str],
    /// What happens when a lock is held. Default wait.
    pub on_busy: OnBusy,
    /// How long a job may be parked before it counts as busy. Default for ever.
    pub wait_timeout: Option<Duration>,
    /// Unique template such as `order:{order}`. Default none.
    pub unique: Option<&'static str>,
    /// The unique key is held for this long whatever happens to the job. Default: for the job's life.
    pub unique_for: Option<Duration>,
    /// A job not started after this long is buried as expired. Default never.
    pub expires_in: Option<Duration>,
    /// Crashes as a suspect after which a job is buried. Default 3.
    pub crash_limit: u32,
}

impl JobSpec {
    /// Every setting at its default.
    pub const fn new(name: &'static str, fields: &'static [Field]) -> Self {
        Self {
            name,
            fields,
            queue: QUEUE,
            priority: Priority::Normal,
            locks: &[],
            on_busy: OnBusy::Wait,
            wait_timeout: None,
            unique: None,
            unique_for: None,
            expires_in: None,
            crash_limit: CRASH_LIMIT,
        }
    }
}

/// One argument of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it may be, as far as its type's name tells.
    pub kind: Kind,
    /// Whether it may be missing.
    pub optional: bool,
}

impl Field {
    /// An argument that must be there.
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            optional: false,
        }
    }

    /// An argument that may be missing.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self {
            optional: true,
            ..Self::new(name, kind)
        }
    }
}

/// What an argument may be in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Text.
    String,
    /// Text without NUL: it stands among the arguments of a command.
    Word,
    /// A whole number.
    Int,
    /// A whole number from 0.
    Uint,
    /// A number.
    Float,
    /// true or false.
    Bool,
    /// Whatever its type makes of JSON.
    Any,
}

impl Kind {
    /// The kinds that a configuration can name, in order.
    pub const NAMED: [Self; 5] = [Self::String, Self::Int, Self::Uint, Self::Float, Self::Bool];

    /// Its word for people, and in configurations.
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Word => "string without NUL",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Any => "any",
        }
    }

    /// The kind of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether a value is of this kind.
    pub fn admits(self, value: &serde_json::Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Word => value.as_str().is_some_and(|text| !text.contains('\0')),
            Self::Int => value.is_i64() || value.is_u64(),
            Self::Uint => value.is_u64(),
            Self::Float => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::Any => true,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// The locks of a job: its rendered keys sorted, without duplicates. Producer and worker compare what this returns.
///
/// # Errors
/// [`Error::Invalid`] with every key that is none, or when there are more than [`LOCK_KEYS_MAX`].
pub(crate) fn lock_set(rendered: Vec<String>) -> Result<Vec<LockKey>, Error> {
    let (mut locks, mut problems) = (Vec::with_capacity(rendered.len()), Vec::new());
    for key in rendered {
        match LockKey::new(key) {
            Ok(key) => locks.push(key),
            Err(Error::Invalid(more)) => problems.extend(more),
            Err(other) => return Err(other),
        }
    }
    locks.sort();
    locks.dedup();
    if locks.len() > LOCK_KEYS_MAX {
        problems.push(Invalid::new(
            "number of lock keys",
            locks.len(),
            format!("at most {LOCK_KEYS_MAX} for one job"),
        ));
    }
    if problems.is_empty() {
        Ok(locks)
    } else {
        Err(Error::Invalid(problems))
    }
}
