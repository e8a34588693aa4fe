//! What a job does to data that stands in the same store, handed over to be done with its settle; and what stands there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::store::new_job::NewJob;
use crate::store::settle::Verdict;

/// One change of one key, or one demand on it. Each is the Redis command of its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Sets a string, whatever stood there.
    Set {
        /// Where.
        key: Vec<u8>,
        /// What.
        value: Vec<u8>,
        /// It goes after this long; without it, it stays.
        expires_in: Option<Duration>,
    },
    /// Removes a key of any kind.
    Del {
        /// Which.
        key: Vec<u8>,
    },
    /// A key of any kind goes after this long; nothing happens where there is none.
    Expire {
        /// Which.
        key: Vec<u8>,
        /// After how long.
        after: Duration,
    },
    /// Adds to a number, which is 0 where there is none.
    IncrBy {
        /// Where.
        key: Vec<u8>,
        /// How much; below 0 it takes away.
        by: i64,
    },
    /// Sets a field of a hash.
    HSet {
        /// Which hash.
        key: Vec<u8>,
        /// Which field.
        field: Vec<u8>,
        /// To what.
        value: Vec<u8>,
    },
    /// Removes a field of a hash.
    HDel {
        /// Which hash.
        key: Vec<u8>,
        /// Which field.
        field: Vec<u8>,
    },
    /// Adds to a number in a field of a hash, which is 0 where there is none.
    HIncrBy {
        /// Which hash.
        key: Vec<u8>,
        /// Which field.
        field: Vec<u8>,
        /// How much; below 0 it takes away.
        by: i64,
    },
    /// Adds a member to a set.
    SAdd {
        /// Which set.
        key: Vec<u8>,
        /// Whom.
        member: Vec<u8>,
    },
    /// Takes a member out of a set.
    SRem {
        /// Which set.
        key: Vec<u8>,
        /// Whom.
        member: Vec<u8>,
    },
    /// Adds a member to a sorted set, or moves it.
    ZAdd {
        /// Which sorted set.
        key: Vec<u8>,
        /// Where to; finite.
        score: f64,
        /// Whom.
        member: Vec<u8>,
    },
    /// Takes a member out of a sorted set.
    ZRem {
        /// Which sorted set.
        key: Vec<u8>,
        /// Whom.
        member: Vec<u8>,
    },
    /// Puts a value before the head of a list.
    LPush {
        /// Which list.
        key: Vec<u8>,
        /// What.
        value: Vec<u8>,
    },
    /// Puts a value behind the tail of a list.
    RPush {
        /// Which list.
        key: Vec<u8>,
        /// What.
        value: Vec<u8>,
    },
    /// Adds an entry to a stream, under an id that the store makes.
    XAdd {
        /// Which stream.
        key: Vec<u8>,
        /// Field and value, at least one pair.
        fields: Vec<(Vec<u8>, Vec<u8>)>,
    },
    /// Tells whoever listens on a channel.
    Publish {
        /// Which channel.
        channel: Vec<u8>,
        /// What.
        message: Vec<u8>,
    },
    /// Nothing of the job is done unless this holds.
    Require {
        /// Of which key: a string.
        key: Vec<u8>,
        /// Of this field of it: a hash then.
        field: Option<Vec<u8>>,
        /// What has to hold.
        need: Need,
    },
}

impl Effect {
    /// The key or channel that it is about.
    pub fn target(&self) -> &[u8] {
        match self {
            Effect::Set { key, .. }
            | Effect::Del { key }
            | Effect::Expire { key, .. }
            | Effect::IncrBy { key, .. }
            | Effect::HSet { key, .. }
            | Effect::HDel { key, .. }
            | Effect::HIncrBy { key, .. }
            | Effect::SAdd { key, .. }
            | Effect::SRem { key, .. }
            | Effect::ZAdd { key, .. }
            | Effect::ZRem { key, .. }
            | Effect::LPush { key, .. }
            | Effect::RPush { key, .. }
            | Effect::XAdd { key, .. }
            | Effect::Require { key, .. } => key,
            Effect::Publish { channel, .. } => channel,
        }
    }
}

/// What has to hold of a string or of a field of a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// It is exactly this.
    Is(Vec<u8>),
    /// It is not there.
    Absent,
    /// It is there.
    Present,
    /// It is a number, 0 where it is not there, and not below this.
    AtLeast(i64),
    /// It is a number, 0 where it is not there, and not above this.
    AtMost(i64),
}

impl From<&str> for Need {
    fn from(value: &str) -> Self {
        Need::Is(value.as_bytes().to_vec())
    }
}

impl From<String> for Need {
    fn from(value: String) -> Self {
        Need::Is(value.into_bytes())
    }
}

impl From<Vec<u8>> for Need {
    fn from(value: Vec<u8>) -> Self {
        Need::Is(value)
    }
}

impl From<i64> for Need {
    fn from(value: i64) -> Self {
        Need::Is(value.to_string().into_bytes())
    }
}

/// What rides the settle of an attempt that succeeded: all of it, or nothing and the `fallback`.
#[derive(Debug, Clone, PartialEq)]
pub struct Riding {
    /// In their order.
    pub effects: Vec<Effect>,
    /// Jobs that are enqueued.
    pub jobs: Vec<NewJob>,
    /// What is kept of the job.
    pub result: Option<KeptResult>,
    /// What becomes of the job when a check fails: the reason is written behind its error or reason.
    pub fallback: Verdict,
}

/// A job's result, as kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptResult {
    /// As JSON.
    pub json: Vec<u8>,
    /// For how long.
    pub kept_for: Duration,
}

/// The store's answer to effects that ride no settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// All of them.
    Done,
    /// None of them, because.
    Refused(String),
    /// Some of them: one failed that had passed every check.
    Broken(String),
}

/// What stands under a key of the user's.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    String(Vec<u8>),
    /// Field and value.
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
    /// Members.
    Set(BTreeSet<Vec<u8>>),
    /// Members with their scores, by score, then by member.
    SortedSet(Vec<(Vec<u8>, f64)>),
    /// Head first.
    List(Vec<Vec<u8>>),
    /// The fields of each entry, oldest first.
    Stream(Vec<Vec<(Vec<u8>, Vec<u8>)>>),
}

impl Value {
    /// Its kind, as Redis names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::Hash(_) => "hash",
            Value::Set(_) => "set",
            Value::SortedSet(_) => "zset",
            Value::List(_) => "list",
            Value::Stream(_) => "stream",
        }
    }

    /// The text of a string that is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The number that a string holds.
    pub fn as_int(&self) -> Option<i64> {
        self.as_str()?.parse().ok()
    }

    /// One field of a hash.
    pub fn field(&self, field: impl AsRef<[u8]>) -> Option<&[u8]> {
        match self {
            Value::Hash(fields) => fields.get(field.as_ref()).map(Vec::as_slice),
            _ => None,
        }
    }
}

/// Writes bytes for people: control characters and what is no UTF-8 as `?`, cut to 80 characters.
pub(crate) fn shown(bytes: &[u8]) -> impl fmt::Display {
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.chars().take(80).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}
