//! The attempts log: a packed entry a turn, its id the running number of its last attempt; what no worker reports stands in lines of text.

use std::borrow::Cow;

use redis::Value;
use serde::{Deserialize, Serialize};

use super::settles::Whys;
use crate::names::{Fence, LockKey};
use crate::store::settle::{AttemptRecord, LockWord, NestedRecord, Outcome, Settle};
use crate::store::view::AttemptEntry;

/// A record as packed (postcard); the worker's name stands once in front.
#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    job: &'a str,
    task: &'a str,
    number: u32,
    lock_keys: &'a str,
    fence: Fence,
    lock: LockWord,
    waited_ms: u64,
    ran_ms: u64,
    outcome: Outcome,
    error: &'a str,
    nested: Cow<'a, [NestedRecord]>,
    nested_omitted: u32,
}

/// Packs the records of a turn's settles.
pub(super) fn pack(settles: &[Settle]) -> Vec<u8> {
    let Some(first) = settles.first() else { return Vec::new() };
    let mut blob = postcard::to_stdvec(first.record.worker.as_str()).unwrap_or_default();
    blob.reserve(settles.len() * 64);
    for settle in settles {
        let record = &settle.record;
        let packed = Packed {
            job: &record.job,
            task: &record.task,
            number: record.number,
            lock_keys: &record.lock_keys,
            fence: record.fence,
            lock: record.lock,
            waited_ms: record.waited_ms,
            ran_ms: record.ran_ms,
            outcome: record.outcome,
            error: &record.error,
            nested: Cow::Borrowed(&record.nested),
            nested_omitted: record.nested_omitted,
        };
        // a writer into a growing vector does not fail
        blob = postcard::to_extend(&packed, blob).unwrap_or_default();
    }
    blob
}

/// Reads one entry of the stream: `id`, then its fields.
pub(super) fn unpack(last: u64, fields: &[(Vec<u8>, Vec<u8>)]) -> Vec<AttemptEntry> {
    let field = |name: &[u8]| fields.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_slice());
    if let Some(line) = field(b"e") {
        return event(last, line).into_iter().collect();
    }
    let (Some(blob), accepted) = (field(b"b"), field(b"a").unwrap_or_default()) else {
        return Vec::new();
    };
    let Ok((worker, mut rest)) = postcard::take_from_bytes::<&str>(blob) else {
        return Vec::new();
    };
    let whys = String::from_utf8_lossy(field(b"r").unwrap_or_default());
    let whys = Whys::read(&whys);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let Ok((packed, tail)) = postcard::take_from_bytes::<Packed<'_>>(rest) else {
            break;
        };
        rest = tail;
        let answer = whys.answer(records.len(), accepted.get(records.len()).copied());
        let mut record = AttemptRecord {
            job: packed.job.to_owned(),
            task: packed.task.to_owned(),
            number: packed.number,
            worker: worker.to_owned(),
            lock_keys: packed.lock_keys.to_owned(),
            fence: packed.fence,
            lock: packed.lock,
            waited_ms: packed.waited_ms,
            ran_ms: packed.ran_ms,
            outcome: packed.outcome,
            error: packed.error.to_owned(),
            nested: packed.nested.into_owned(),
            nested_omitted: packed.nested_omitted,
        };
        record.answered(&answer);
        records.push(record);
    }
    let first = (last + 1).saturating_sub(records.len() as u64);
    records
        .into_iter()
        .enumerate()
        .map(|(i, record)| AttemptEntry {
            number: first + i as u64,
            record,
        })
        .collect()
}

/// A line `kind|job|token|strikes|number|fence|locks|task`.
fn event(number: u64, line: &[u8]) -> Option<AttemptEntry> {
    let line = std::str::from_utf8(line).ok()?;
    let mut parts = line.split('|');
    let mut part = || parts.next().unwrap_or_default();
    let (kind, job, token, strikes, attempt, fence, locks, task) = (part(), part(), part(), part(), part(), part(), part(), part());
    let outcome = match kind {
        "crashed" => Outcome::Crashed,
        "cancelled" => Outcome::Cancelled,
        _ => return None,
    };
    let keys: Vec<_> = locks.split(',').filter_map(LockKey::from_wire).collect();
    let record = AttemptRecord {
        job: job.to_owned(),
        task: task.to_owned(),
        number: attempt.parse().unwrap_or(0),
        worker: token.split('.').next().unwrap_or_default().to_owned(),
        lock_keys: keys.iter().map(LockKey::as_str).collect::<Vec<_>>().join(","),
        fence: Fence(fence.parse().unwrap_or(0)),
        lock: LockWord::None,
        waited_ms: 0,
        ran_ms: 0,
        outcome,
        error: if outcome == Outcome::Crashed {
            format!("its worker ended or was cut off (strike {strikes})")
        } else {
            String::new()
        },
        nested: Vec::new(),
        nested_omitted: 0,
    };
    Some(AttemptEntry { number, record })
}

/// The entries of an `XRANGE` reply.
pub(super) fn entries(reply: Value) -> Vec<AttemptEntry> {
    let Value::Array(rows) = reply else { return Vec::new() };
    let mut out = Vec::new();
    for row in rows {
        let Ok((id, fields)) = redis::from_redis_value::<(String, Vec<(Vec<u8>, Vec<u8>)>)>(row) else {
            continue;
        };
        let last = id.split('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        out.extend(unpack(last, &fields));
    }
    out
}
