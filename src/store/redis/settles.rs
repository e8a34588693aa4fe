//! A batch of settles as turn.lua and surrender.lua read it.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::arguments::Arguments;
use super::effects::pack_riding;
use super::wire::{self, death_letter, lock_spec, millis};
use crate::names::OwnerToken;
use crate::store::settle::{Charge, Refusal, Settle, SettleAnswer, Verdict};

/// The most locks that any attempt of a batch of settles held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SettledLocks {
    None,
    One,
    Several,
}

impl SettledLocks {
    fn of(held: usize) -> Self {
        match held {
            0 => Self::None,
            1 => Self::One,
            _ => Self::Several,
        }
    }

    /// As the scripts read it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::One => "1",
            Self::Several => "2",
        }
    }
}

/// What turn.lua and surrender.lua are told of a batch of settles besides the rows.
pub(super) struct SettleShape {
    pub(super) codes: String,
    pub(super) runs: String,
    pub(super) locks: SettledLocks,
    pub(super) nested: String,
    pub(super) uniques: String,
    pub(super) kept: String,
}

impl SettleShape {
    pub(super) fn of(settles: &[Settle]) -> Self {
        let mut shape = Self {
            codes: String::new(),
            runs: String::new(),
            locks: SettledLocks::None,
            nested: String::new(),
            uniques: String::new(),
            kept: String::new(),
        };
        let mut run: Option<(&OwnerToken, usize)> = None;
        for (i, settle) in settles.iter().enumerate() {
            shape.locks = shape.locks.max(SettledLocks::of(settle.locks.len()));
            if let Some(key) = &settle.unique {
                let _ = writeln!(shape.uniques, "{}={}", i + 1, key.wire());
            }
            if let Some(keep) = settle.keep {
                let _ = write!(shape.kept, "{}={},", i + 1, millis(keep));
            }
            for (key, token) in &settle.nested {
                let _ = writeln!(shape.nested, "{}={token}={}", i + 1, key.wire());
            }
            run = match run {
                Some((token, n)) if *token == settle.token => Some((token, n + 1)),
                other => {
                    if let Some((token, n)) = other {
                        let _ = write!(shape.runs, "{token}={n},");
                    }
                    Some((&settle.token, 1))
                }
            };
        }
        if let Some((token, n)) = run {
            let _ = write!(shape.runs, "{token}={n},");
        }
        if settles.iter().any(|s| letter(s) != 'd') {
            shape.codes = settles.iter().map(letter).collect();
        }
        shape
    }
}

fn letter(settle: &Settle) -> char {
    match settle.verdict {
        Verdict::Done if settle.riding.is_some() => 'e',
        Verdict::Done => 'd',
        Verdict::Schedule { .. } => 's',
        Verdict::Return => 'r',
        Verdict::Rekey(_) => 'k',
        Verdict::Bury { .. } => 'b',
    }
}

/// The rows of the settles: ids, lock specs when there are any, an extra for each verdict that is not done.
pub(super) fn push_settles(a: &mut Arguments, settles: &[Settle], locks: SettledLocks) {
    for settle in settles {
        a.push(settle.id.encode());
    }
    if locks != SettledLocks::None {
        for settle in settles {
            match settle.locks.as_slice() {
                [] => a.push(""),
                [one] => a.push(one.wire().as_bytes()),
                many => a.push(lock_spec(many)),
            };
        }
    }
    let charge = |charge: Charge| match charge {
        Charge::None => '0',
        Charge::Attempt => '1',
        Charge::Mismatch => '2',
    };
    for settle in settles {
        match &settle.verdict {
            Verdict::Done => {
                if let Some(riding) = &settle.riding {
                    a.push(pack_riding(riding));
                }
            }
            Verdict::Schedule {
                delay,
                charge: cost,
                error,
            } => {
                a.push(format!(
                    "{}|{}|{}",
                    millis(*delay),
                    charge(*cost),
                    error.as_deref().unwrap_or_default()
                ));
            }
            Verdict::Return => {
                a.push("");
            }
            Verdict::Rekey(keys) => {
                let mut keys = keys.clone();
                keys.sort();
                keys.dedup();
                a.push(wire::lock_spec(&keys));
            }
            Verdict::Bury {
                reason,
                death,
                charge: cost,
            } => {
                a.push(format!("{}|{}|{reason}", death_letter(*death), charge(*cost)));
            }
        }
    }
}

/// Why effects were refused, as the scripts say it.
pub(super) struct Whys<'a>(HashMap<usize, &'a str>);

impl<'a> Whys<'a> {
    /// Reads lines `index=reason`, the index from 1.
    pub(super) fn read(lines: &'a str) -> Self {
        let lines = lines.lines().filter_map(|line| line.split_once('='));
        Self(lines.filter_map(|(index, why)| Some((index.parse().ok()?, why))).collect())
    }

    /// The answer to settle `i` (from 0) by its digit; no digit is an accepted one.
    pub(super) fn answer(&self, i: usize, digit: Option<u8>) -> SettleAnswer {
        let refusal = |dead| Refusal {
            reason: self.0.get(&(i + 1)).map(|why| (*why).to_owned()).unwrap_or_default(),
            dead,
        };
        match digit {
            Some(b'0') => SettleAnswer::Lost,
            Some(b'2') => SettleAnswer::Refused(refusal(false)),
            Some(b'3') => SettleAnswer::Refused(refusal(true)),
            Some(b'4') => SettleAnswer::Broken(refusal(true)),
            _ => SettleAnswer::Accepted,
        }
    }
}
