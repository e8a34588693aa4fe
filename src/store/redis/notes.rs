//! What a claim's reply says of single jobs.

use std::time::Duration;

use crate::names::{JobId, LockKey};
use crate::store::turn::{ClaimedJob, LockOutcome, Tries};

/// What the claim says of single jobs, by index.
pub(super) struct Notes(Vec<(usize, u8, String)>);

impl Notes {
    pub(super) fn read(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let note = |line: &str| {
            let mut parts = line.splitn(3, ' ');
            let index: usize = parts.next()?.parse().ok()?;
            Some((
                index.checked_sub(1)?,
                *parts.next()?.as_bytes().first()?,
                parts.next().unwrap_or_default().to_owned(),
            ))
        };
        Self(text.lines().filter_map(note).collect())
    }

    pub(super) fn apply(&self, index: usize, job: &mut ClaimedJob) {
        for (_, kind, value) in self.0.iter().filter(|(i, ..)| *i == index) {
            let ms = || Duration::from_millis(value.parse().unwrap_or(0));
            match (kind, LockKey::from_wire(value)) {
                (b'W', _) => job.how = LockOutcome::Waited(ms()),
                (b'G', _) => job.how = LockOutcome::GaveUp(ms()),
                (b'B', Some(key)) => job.how = LockOutcome::Busy(key),
                (b'F', Some(key)) => job.how = LockOutcome::Foreign(key),
                (b'X', _) => job.how = LockOutcome::None,
                (b'A', _) => job.alone = true,
                (b'T', _) => {
                    let mut fields = value.split(',').map(|f| f.parse::<u64>().unwrap_or(0));
                    let mut field = || fields.next().unwrap_or(0);
                    job.tries = Tries {
                        charged: field() as u32,
                        strikes: field() as u32,
                        suspect: field() == 1,
                        mismatches: field() as u32,
                        mismatched_for: Duration::from_millis(field()),
                    };
                }
                _ => {}
            }
        }
    }
}

/// The note of the claim as a whole: which job it put off.
pub(super) fn put_off(notes: &[u8]) -> Option<JobId> {
    let id = notes.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0 P "))?;
    JobId::decode(id)
}
