//! Names and identities: validated once, here, so that nothing further in has to ask.
//!
//! A queue, task or namespace name is 1 to 64 characters of `A-Z a-z 0-9 _ . -`, no `-` first. A lock key or unique key is any text of
//! 1 to 512 bytes; [`LockKey::wire`] writes it so that it can stand between the separators of a header line.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Invalid};
use crate::limits::{LOCK_KEY_MAX_BYTES, NAME_MAX_BYTES};

fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    // no `-` first: a command would take it for an option
    if name.is_empty() || name.len() > NAME_MAX_BYTES || name.starts_with('-') || !name.chars().all(allowed) {
        return Err(Invalid::new(what, name, "1 to 64 characters out of A-Z a-z 0-9 _ . -, no `-` first").into());
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Checks and takes a name.
            ///
            /// # Errors
            /// [`Error::Invalid`] when it is empty, longer than 64 bytes, begins with `-` or holds another character than
            /// `A-Z a-z 0-9 _ . -`.
            pub fn new(name: impl AsRef<str>) -> Result<Self, Error> {
                check_name($what, name.as_ref())?;
                Ok(Self(name.as_ref().into()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl FromStr for $type {
            type Err = Error;
            fn from_str(s: &str) -> Result<Self, Error> {
                Self::new(s)
            }
        }
    };
}

name!(
    /// A queue's name.
    QueueName,
    "queue name"
);
name!(
    /// A task's name.
    TaskName,
    "task name"
);
name!(
    /// A schedule's name: its identity.
    ScheduleName,
    "schedule name"
);
name!(
    /// A namespace: everything of one Linchpin installation in one store. On Redis it is the hash tag of every key.
    Namespace,
    "namespace"
);

/// A job's identity: a UUIDv7 made by the client, written as 22 characters that sort by time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(u128);

/// The 64 digits of a written [`JobId`], in ASCII order so that ids sort as text; the first of an id is a decimal digit, so that no
/// command takes it for an option.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~";

impl JobId {
    /// Bytes of a written id.
    pub const LEN: usize = 22;

    /// Makes a new id from this machine's clock and randomness.
    pub fn random() -> Self {
        Self(uuid::Uuid::now_v7().as_u128())
    }

    /// The id after this one, for jobs made together: one clock reading and one draw serve them all. `None` where the
    /// random part is used up, after which a new draw serves (RFC 9562, section 6.2, method 2: a random value that is counted up).
    pub(crate) fn following(self) -> Option<Self> {
        const RANDOM: u128 = (1 << 62) - 1;
        (self.0 & RANDOM != RANDOM).then(|| Self(self.0 + 1))
    }

    /// The 22 characters of the id.
    pub fn encode(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        let mut rest = self.0;
        for slot in out.iter_mut().rev() {
            *slot = DIGITS[(rest & 63) as usize];
            rest >>= 6;
        }
        out
    }

    /// Reads 22 characters; `None` when they are not a written id.
    pub fn decode(text: &[u8]) -> Option<Self> {
        if text.len() != Self::LEN {
            return None;
        }
        let mut value: u128 = 0;
        for (i, byte) in text.iter().enumerate() {
            let digit = DIGITS.binary_search(byte).ok()? as u128;
            if i == 0 && digit > 3 {
                return None;
            }
            value = value << 6 | digit;
        }
        Some(Self(value))
    }

    /// Whether it is one of the characters that ids are made of.
    #[cfg(feature = "redis")]
    pub(crate) fn is_digit(byte: u8) -> bool {
        DIGITS.binary_search(&byte).is_ok()
    }

    /// Milliseconds since 1970 on the clock of the client that made it: for people and metrics, never for decisions.
    pub fn made_at_ms(self) -> u64 {
        (self.0 >> 80) as u64
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.encode()).unwrap_or_default())
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobId({self})")
    }
}

impl FromStr for JobId {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        Self::decode(s.as_bytes())
            .ok_or_else(|| Invalid::new("job id", s, "22 characters out of 0-9 A-Z _ a-z ~, as enqueue returned them").into())
    }
}

macro_rules! key {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Checks and takes a key.
            ///
            /// # Errors
            /// [`Error::Invalid`] when it is empty or longer than 512 bytes.
            pub fn new(key: impl AsRef<str>) -> Result<Self, Error> {
                let key = key.as_ref();
                if key.is_empty() || key.len() > LOCK_KEY_MAX_BYTES {
                    return Err(Invalid::new($what, key, "1 to 512 bytes").into());
                }
                Ok(Self(key.into()))
            }

            /// The key as the user wrote it.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The key as it stands in headers, entries and key names: `%`, `|`, `,` and control characters as `%XX`.
            pub fn wire(&self) -> std::borrow::Cow<'_, str> {
                escape(&self.0)
            }

            /// Reads the wire form; `None` when it is not one.
            pub fn from_wire(wire: &str) -> Option<Self> {
                let key = unescape(wire)?;
                (!key.is_empty() && key.len() <= LOCK_KEY_MAX_BYTES).then(|| Self(key.into()))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }
    };
}

key!(
    /// What a lock excludes over, for example `inventory:A1`.
    LockKey,
    "lock key"
);
key!(
    /// A user's own identity for a job, for example `order:1001`.
    UniqueKey,
    "unique key"
);

fn must_escape(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, 0x7f | b'%' | b'|' | b',')
}

fn escape(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.bytes().any(must_escape) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(byte) if must_escape(byte) => out.push_str(&format!("%{byte:02X}")),
            _ => out.push(c),
        }
    }
    out.into()
}

fn unescape(wire: &str) -> Option<String> {
    let mut out = String::with_capacity(wire.len());
    let mut parts = wire.split('%');
    out.push_str(parts.next()?);
    for part in parts {
        let code = part.get(..2)?;
        let byte = u8::from_str_radix(code, 16).ok().filter(|b| must_escape(*b))?;
        out.push(byte as char);
        out.push_str(&part[2..]);
    }
    Some(out)
}

/// One run of a process that talks to a store: random at start, never a hostname or pid.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(Arc<str>);

impl ProcessId {
    /// Draws a new identity of 12 characters.
    pub fn random() -> Self {
        use rand::RngExt;
        let mut rng = rand::rng();
        let text: String = (0..12)
            .map(|_| DIGITS[rng.random_range(0..63usize)] as char)
            .map(|c| if c == '_' { 'z' } else { c })
            .collect();
        Self(text.into())
    }

    /// The identity that a store keeps as this text.
    #[cfg(feature = "redis")]
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The identity as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessId({})", &self.0)
    }
}

/// The name of a claim or an acquisition, `<worker>.<lane>.<number>`: with a job id or a lock key it names one attempt.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerToken(Arc<str>);

impl OwnerToken {
    /// Names number `number` of lane `lane` of a process.
    pub fn new(process: &ProcessId, lane: u32, number: u64) -> Self {
        Self(format!("{process}.{lane}.{number}").into())
    }

    /// The token of three written parts, as a store keeps them.
    #[cfg(feature = "redis")]
    pub(crate) fn from_parts(process: &str, lane: &str, number: &str) -> Self {
        Self(format!("{process}.{lane}.{number}").into())
    }

    /// The token that a store keeps as this text.
    #[cfg(feature = "redis")]
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The process whose claim or acquisition it names.
    pub fn process(&self) -> ProcessId {
        ProcessId(self.0.split('.').next().unwrap_or_default().into())
    }
}

impl fmt::Display for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerToken({})", &self.0)
    }
}

/// A fencing token: a number that only grows, per lock and per job. Pass it to whatever must refuse a late writer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_id_reads_back_and_sorts_as_text() {
        let mut ids: Vec<JobId> = (0..200).map(|_| JobId::random()).collect();
        for id in &ids {
            assert_eq!(JobId::decode(&id.encode()), Some(*id));
        }
        let mut texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.sort();
        texts.sort();
        assert_eq!(texts, ids.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!("".parse::<JobId>().is_err());
        assert_eq!(JobId::decode(b"zzzzzzzzzzzzzzzzzzzzzz"), None, "more than 128 bits");
    }

    #[test]
    fn a_key_survives_its_wire_form() {
        for key in ["inventory:A1", "a|b,c%d", "line\nbreak\0", "naïve ☃ {x}"] {
            let key = LockKey::new(key).expect("valid");
            assert!(!key.wire().contains(['|', ',', '\n']));
            assert_eq!(LockKey::from_wire(&key.wire()), Some(key));
        }
        assert_eq!(LockKey::from_wire("%zz"), None);
        assert!(LockKey::new("x".repeat(513)).is_err());
    }

    #[test]
    fn names_with_other_characters_are_refused() {
        for bad in ["", "a b", "a:b", "a|b", "é", &"x".repeat(65)] {
            assert!(QueueName::new(bad).is_err(), "{bad:?}");
        }
    }
}
