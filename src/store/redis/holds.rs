//! Locks held by themselves on Redis: taken, waited for, renewed, released, broken.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use redis::Value;

use super::RedisStore;
use super::arguments::Arguments;
use super::script::Name;
use super::wire::millis;
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::{AcquireAnswer, BreakAnswer, HoldRenewal, HoldRenewed, HoldsRenewed, ParkAnswer, ReleaseAnswer};

/// Holds named in one renewal script: keeps it under 5 ms.
const HOLDS_MAX: usize = 400;

impl RedisStore {
    pub(super) async fn run_acquire(&self, key: &LockKey, token: &OwnerToken, ttl: Duration) -> Result<AcquireAnswer, Error> {
        let mut a = Arguments::default();
        a.push(key.wire().as_bytes()).push(token.as_str()).int(millis(ttl).max(1));
        let (value, sent_at) = self.ask_for(Name::Acquire, key, token, &a).await?;
        match value {
            Value::BulkString(text) if text == b"busy" => Ok(AcquireAnswer::Busy),
            value => Ok(AcquireAnswer::Acquired {
                fence: fence(key, value)?,
                sent_at,
            }),
        }
    }

    pub(super) async fn run_acquire_or_park(
        &self,
        key: &LockKey,
        token: &OwnerToken,
        ttl: Duration,
        asked: bool,
    ) -> Result<ParkAnswer, Error> {
        let mut a = Arguments::default();
        a.push(key.wire().as_bytes()).push(token.as_str()).int(millis(ttl).max(1));
        // one whose answer was lost stands in line perhaps
        a.push(if asked || self.first_sent.is_known(token) { "1" } else { "0" });
        let (value, sent_at) = self.ask_for(Name::Ask, key, token, &a).await?;
        match value {
            Value::BulkString(text) if text.first() == Some(&b'w') => {
                let ms = std::str::from_utf8(&text[1..]).ok().and_then(|ms| ms.parse().ok());
                Ok(ParkAnswer::Parked {
                    ask_in: Duration::from_millis(ms.unwrap_or(1000)),
                })
            }
            value => Ok(ParkAnswer::Acquired {
                fence: fence(key, value)?,
                sent_at,
            }),
        }
    }

    /// Runs a script that takes a lock, and says when that was first sent: a lost answer may have begun the hold.
    async fn ask_for(&self, name: Name, key: &LockKey, token: &OwnerToken, a: &Arguments) -> Result<(Value, LeaseInstant), Error> {
        let sent_at = self.first_sent.note(token);
        let result = self.patiently(name, a, &format!("lock `{key}`")).await;
        if !matches!(result, Err(Error::Unknown { .. })) {
            self.first_sent.forget(token);
        }
        Ok((result?, sent_at))
    }

    pub(super) async fn run_release(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        let mut a = Arguments::default();
        a.push(key.wire().as_bytes()).push(token.as_str());
        match self.patiently(Name::Release, &a, &format!("release `{key}`")).await? {
            Value::Int(1) => Ok(ReleaseAnswer::Released),
            _ => Ok(ReleaseAnswer::NotHeld),
        }
    }

    pub(super) async fn run_keep(&self, key: &LockKey, token: &OwnerToken, time: Duration) -> Result<ReleaseAnswer, Error> {
        let mut a = Arguments::default();
        a.push(key.wire().as_bytes()).push(token.as_str()).int(millis(time).max(1));
        match self.patiently(Name::Keep, &a, &format!("release `{key}` later")).await? {
            Value::Int(1) => Ok(ReleaseAnswer::Released),
            _ => Ok(ReleaseAnswer::NotHeld),
        }
    }

    pub(super) async fn run_give_up(&self, key: &LockKey, token: &OwnerToken) -> Result<ReleaseAnswer, Error> {
        self.first_sent.forget(token);
        let mut a = Arguments::default();
        a.push(key.wire().as_bytes()).push(token.as_str());
        match self.patiently(Name::GiveUp, &a, &format!("give up lock `{key}`")).await? {
            Value::Int(1) => Ok(ReleaseAnswer::Released),
            _ => Ok(ReleaseAnswer::NotHeld),
        }
    }

    pub(super) async fn run_renew_holds(&self, holds: Vec<HoldRenewal>) -> Result<HoldsRenewed, Error> {
        let begun = LeaseInstant::now();
        let mut answers = Vec::with_capacity(holds.len());
        for batch in holds.chunks(HOLDS_MAX) {
            let mut a = Arguments::with_capacity(batch.len() * 3, batch.len() * 64);
            for hold in batch {
                a.push(hold.key.wire().as_bytes())
                    .push(hold.token.as_str())
                    .int(millis(hold.ttl).max(1));
            }
            answers.extend(self.renew_hold_batch(&a, batch.len()).await?);
        }
        Ok(HoldsRenewed {
            sent_at: begun,
            holds: answers,
        })
    }

    async fn renew_hold_batch(&self, a: &Arguments, count: usize) -> Result<Vec<HoldRenewed>, Error> {
        let script = self.scripts.script(Name::RenewHolds);
        let renewing = self.holds.run(script, self.keys.prefix(), a, || ());
        match renewing.await.map_err(|fault| fault.into_error(self.action("renew locks")))? {
            Value::BulkString(letters) if letters.len() == count => Ok(letters.into_iter().map(word_of).collect()),
            other => Err(Error::Internal {
                what: format!("the renew_holds script answered {other:?}"),
            }),
        }
    }

    pub(super) async fn run_break_lock(&self, key: &LockKey) -> Result<BreakAnswer, Error> {
        let mut a = Arguments::default();
        a.push(key.wire().as_bytes());
        let value = self.patiently(Name::Break, &a, &format!("break lock `{key}`")).await?;
        let row: Vec<String> = redis::from_redis_value(value).map_err(|error| Error::Internal {
            what: format!("the break script: {error}"),
        })?;
        match row.as_slice() {
            [] => Ok(BreakAnswer::Free),
            [token, fence] => Ok(BreakAnswer::Broken {
                token: OwnerToken::from_text(token),
                // a lock of Redisson holds a count there
                fence: Fence(fence.parse().unwrap_or_default()),
            }),
            _ => Ok(BreakAnswer::Foreign),
        }
    }
}

fn word_of(letter: u8) -> HoldRenewed {
    match letter {
        b'R' => HoldRenewed::Renewed,
        b'B' => HoldRenewed::Broken,
        b'T' => HoldRenewed::Taken,
        _ => HoldRenewed::Expired,
    }
}

fn fence(key: &LockKey, value: Value) -> Result<Fence, Error> {
    let number = match &value {
        Value::BulkString(text) => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
        _ => None,
    };
    number.map(Fence).ok_or_else(|| Error::Internal {
        what: format!("lock `{key}` holds a fence that is no number: {value:?}"),
    })
}

/// When acquisitions whose answer is outstanding were first sent.
#[derive(Debug, Default)]
pub(super) struct FirstSent(Mutex<HashMap<OwnerToken, LeaseInstant>>);

impl FirstSent {
    fn note(&self, token: &OwnerToken) -> LeaseInstant {
        let mut map = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *map.entry(token.clone()).or_insert_with(LeaseInstant::now)
    }

    fn is_known(&self, token: &OwnerToken) -> bool {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).contains_key(token)
    }

    fn forget(&self, token: &OwnerToken) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(token);
    }
}
