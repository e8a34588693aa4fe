//! The turn on Redis: its arguments, its reply, and what to do when no reply comes.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use redis::{Cmd, Value};

use super::RedisStore;
use super::arguments::Arguments;
use super::connection::{Fault, Pause};
use super::lanes::Lane;
use super::log;
use super::notes::{Notes, put_off};
use super::script::Name;
use super::settles::{SettleShape, Whys, push_settles};
use super::wire::{Reader, millis};
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::{ATTEMPTS_KEPT, grace, lock_ttl};
use crate::names::{Fence, JobId, OwnerToken, ProcessId};
use crate::store::settle::{Settle, SettleAnswer};
use crate::store::turn::{Claim, ClaimedJob, LockOutcome, More, Suspects, Tries, Turn, TurnReply};

/// Positions (from 0) of the arguments that differ between sendings of one turn.
const RESEND: usize = 3;

impl RedisStore {
    pub(super) async fn run_turn(&self, worker: &ProcessId, slot: usize, mut turn: Turn) -> Result<TurnReply, Error> {
        let twice = settled_twice(&mut turn.settles);
        let mut reply = self.run_clean_turn(worker, slot, turn).await?;
        for index in twice {
            reply.settled.insert(index, SettleAnswer::Lost);
        }
        Ok(reply)
    }

    async fn run_clean_turn(&self, worker: &ProcessId, slot: usize, turn: Turn) -> Result<TurnReply, Error> {
        let mut lane = self.lanes.slot(worker, slot);
        loop {
            lane.number += 1;
            let token = OwnerToken::new(worker, lane.lane, lane.number);
            let arguments = arguments(worker, lane, &token, &turn);
            match self.answered(arguments).await? {
                Answer::Reply { value, sent_at } => {
                    let reply = self.read_turn(value, &turn, token, sent_at).await?;
                    self.lanes.keep_slot(worker, slot, lane);
                    return Ok(reply);
                }
                Answer::Early => {
                    // nothing was done, the number is free again
                    lane.number -= 1;
                    self.lanes.keep_slot(worker, slot, lane);
                    return Ok(TurnReply {
                        settled: Vec::new(),
                        claim: None,
                        more: More::Unknown,
                        put_off: None,
                    });
                }
                Answer::LaneLost => {
                    // the claim of a sending that was applied after all lapses; settles are conditional and may ride again
                    tracing::warn!(worker.id = %worker, lane = lane.lane, "lane lost");
                    lane = self.lanes.fresh();
                    self.lanes.keep_slot(worker, slot, lane);
                }
            }
        }
    }

    /// Sends one numbered turn until it is answered.
    async fn answered(&self, mut arguments: Arguments) -> Result<Answer, Error> {
        let script = self.scripts.script(Name::Turn);
        let mut first_sent: Option<LeaseInstant> = None;
        let mut pause = Pause::new();
        loop {
            let mut this_sent = first_sent;
            let result = self
                .commands
                .run(script, self.keys.prefix(), &arguments, || {
                    this_sent = first_sent.or(Some(LeaseInstant::now()))
                })
                .await;
            match result {
                Ok(value) => {
                    let sent_at = this_sent.unwrap_or_else(LeaseInstant::now);
                    return Ok(match word(&value) {
                        Some(b"EARLY") => Answer::Early,
                        Some(b"LANE_LOST" | b"STALE") => Answer::LaneLost,
                        _ => Answer::Reply { value, sent_at },
                    });
                }
                Err(Fault::Unknown(cause)) => {
                    tracing::warn!(cause, "turn unanswered, sending again");
                    first_sent = this_sent;
                    arguments.replace(RESEND, b"1");
                }
                Err(Fault::Unsent(cause)) => tracing::debug!(cause, "store unreachable"),
                Err(Fault::Later { code, text } | Fault::Never { code, text }) => tracing::warn!(code, text, "turn refused, trying again"),
                Err(fault @ (Fault::NoScript | Fault::Defect(_))) => return Err(fault.into_error(self.action("turn"))),
            }
            pause.wait().await;
        }
    }

    async fn read_turn(&self, value: Value, turn: &Turn, token: OwnerToken, sent_at: LeaseInstant) -> Result<TurnReply, Error> {
        let malformed = || Error::Internal {
            what: "the reply of the turn script is malformed".into(),
        };
        let Value::Array(parts) = value else { return Err(malformed()) };
        let mut parts = parts.into_iter().map(|part| match part {
            Value::BulkString(bytes) => Ok(bytes),
            _ => Err(malformed()),
        });
        let mut next = || parts.next().unwrap_or_else(|| Err(malformed()));
        let (meta, bits, ids, notes) = (next()?, next()?, next()?, next()?);
        let meta = String::from_utf8_lossy(&meta);
        let mut meta = meta.splitn(5, '|');
        let fence: u64 = meta.next().and_then(|f| f.parse().ok()).ok_or_else(malformed)?;
        let more = match meta.next() {
            Some("0") => More::No,
            Some("1") => More::Yes,
            Some("2") => More::Unknown,
            _ => More::OnlySuspects,
        };
        let now_ms: u64 = meta.next().and_then(|ms| ms.parse().ok()).ok_or_else(malformed)?;
        let replayed = meta.next() == Some("1");
        let whys = Whys::read(meta.next().unwrap_or_default());
        let settled = (0..turn.settles.len()).map(|i| whys.answer(i, bits.get(i).copied())).collect();
        let put_off = put_off(&notes);
        if ids.is_empty() {
            return Ok(TurnReply {
                settled,
                claim: None,
                more,
                put_off,
            });
        }
        let values = parts.collect::<Result<Vec<_>, _>>()?;
        let notes = Notes::read(&notes);
        let apart = self.bodies_apart(&ids, &values).await;
        let mut reader = Reader::default();
        let mut jobs = Vec::with_capacity(values.len());
        for (i, (id, value)) in ids.chunks(JobId::LEN).zip(&values).enumerate() {
            if replayed && value.is_empty() {
                continue;
            }
            let id = JobId::decode(id).ok_or_else(malformed)?;
            let body = apart.get(&i).map(Vec::as_slice);
            let (envelope, expires_at) = match reader.envelope(value, body) {
                Ok((envelope, expires_at)) => (Ok(envelope), expires_at),
                Err(undecodable) => (Err(undecodable), None),
            };
            let locked = envelope.as_ref().is_ok_and(|e| !e.header.locks.is_empty());
            let mut job = ClaimedJob {
                id,
                fence: Fence(fence + i as u64),
                envelope,
                how: if locked { LockOutcome::Acquired } else { LockOutcome::None },
                tries: Tries::default(),
                expired: expires_at.is_some_and(|at| at <= now_ms),
                alone: false,
            };
            notes.apply(i, &mut job);
            jobs.push(job);
        }
        let claim = (!jobs.is_empty()).then_some(Claim { token, sent_at, jobs });
        Ok(TurnReply {
            settled,
            claim,
            more,
            put_off,
        })
    }

    /// Reads the bodies that stand apart, in one trip. Those that cannot be had are handed on as missing: the worker buries or returns them.
    async fn bodies_apart(&self, ids: &[u8], values: &[Vec<u8>]) -> HashMap<usize, Vec<u8>> {
        let apart = |value: &[u8]| {
            value
                .iter()
                .position(|b| *b == b'\n')
                .is_some_and(|end| value[..end].ends_with(b"|1"))
        };
        let wanted: Vec<usize> = (0..values.len()).filter(|i| apart(&values[*i])).collect();
        if wanted.is_empty() {
            return HashMap::new();
        }
        let mut command = Cmd::new();
        command.arg("HMGET").arg(self.keys.bodies());
        for i in &wanted {
            command.arg(&ids[i * JobId::LEN..(i + 1) * JobId::LEN]);
        }
        let mut pause = Pause::new();
        // longer than a lease would be for nothing: past it the whole claim is handed back
        let deadline = LeaseInstant::now().plus(Duration::from_secs(60));
        while !deadline.passed() {
            if let Ok(value) = self.commands.send(&command, || ()).await {
                let bodies: Vec<Option<Vec<u8>>> = redis::from_redis_value(value).unwrap_or_default();
                return wanted.into_iter().zip(bodies).filter_map(|(i, body)| Some((i, body?))).collect();
            }
            pause.wait().await;
        }
        HashMap::new()
    }
}

/// Takes out the settles of an attempt that one before settles already, and says where they stood, in order. Another attempt of
/// the same job is another owner's: at most one of them is valid.
fn settled_twice(settles: &mut Vec<Settle>) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(settles.len());
    let mut twice = Vec::new();
    let mut at = 0;
    settles.retain(|settle| {
        let new = seen.insert((settle.id, settle.token.clone()));
        if !new {
            twice.push(at);
        }
        at += 1;
        new
    });
    twice
}

enum Answer {
    Reply { value: Value, sent_at: LeaseInstant },
    Early,
    LaneLost,
}

/// The word of a reply that is no turn's.
fn word(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Array(parts) if parts.len() == 1 => match &parts[0] {
            Value::BulkString(bytes) => Some(bytes),
            _ => None,
        },
        _ => None,
    }
}

fn joined<T: AsRef<str>>(names: impl Iterator<Item = T>) -> String {
    let mut out = String::new();
    for name in names {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(name.as_ref());
    }
    out
}

/// How long a claim of this turn stands.
fn deadline_ms(turn: &Turn) -> u64 {
    let ms = millis(turn.lease + grace(turn.lease));
    #[cfg(feature = "mutants")]
    let ms = ms.saturating_add_signed(super::mutants::skew_ms());
    ms
}

/// The arguments of turn.lua, in its order.
fn arguments(worker: &ProcessId, lane: Lane, token: &OwnerToken, turn: &Turn) -> Arguments {
    let c = turn.settles.len();
    let blob = if turn.log { log::pack(&turn.settles) } else { Vec::new() };
    let mut a = Arguments::with_capacity(24 + 3 * c, 400 + blob.len() + 80 * c);
    a.push(format!("l:{worker}.{}", lane.lane))
        .int(lane.number)
        .push(format!("{}|", lane.number - 1))
        .push("0");
    a.push(token.as_str())
        .int(turn.want as u64)
        .int(deadline_ms(turn))
        .int(millis(lock_ttl(turn.lease)));
    a.push(joined(turn.queues.iter().map(|q| q.as_str())))
        .push(joined(turn.took.iter().map(|q| q.as_str())));
    match turn.suspects {
        Suspects::None => a.push("0"),
        Suspects::One => a.push("1"),
        Suspects::OneAlone => a.push("2"),
        Suspects::Only(id) => a.push(id.to_string()),
    };
    a.push(blob).int(if turn.log { ATTEMPTS_KEPT } else { 0 }).int(c as u64);
    let shape = SettleShape::of(&turn.settles);
    a.push(shape.codes)
        .push(shape.runs)
        .push(shape.locks.word())
        .push(shape.nested)
        .push(shape.uniques);
    let mut counts = String::new();
    for (name, n) in &turn.counts {
        let _ = write!(counts, "{name}={n},");
    }
    a.push(counts).push(joined(turn.finished.iter().map(OwnerToken::as_str)));
    a.push(if turn.want == 0 && c == 0 { "1" } else { "0" }).push(shape.kept);
    push_settles(&mut a, &turn.settles, shape.locks);
    a
}
