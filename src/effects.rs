//! Effects: what a handler hands over to be done with its job's settle, all of it or nothing.

use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Invalid};
use crate::job::FollowUp;
use crate::limits::{DELAY_MAX, EFFECTS_MAX, EFFECTS_MAX_BYTES, RESULT_MAX_BYTES};
pub use crate::store::effects::{Effect, Need, Value};
use crate::store::effects::{KeptResult, shown};
use crate::store::new_job::NewJob;

/// What a handler wants done, in the order in which it says so. Handed over by
/// [`Attempt::at_settle`](crate::Attempt::at_settle) or [`Client::apply`](crate::Client::apply).
///
/// Keys and values are bytes; each method but [`require`](Self::require), [`enqueue`](Self::enqueue) and
/// [`keep_result`](Self::keep_result) is the Redis command of its name. A key keeps its kind within one settle unless it is deleted
/// there or set. On Redis the keys stand beside those of the namespace, in the same database; on the embedded store, in its memory.
#[derive(Debug, Default, Clone)]
pub struct Effects {
    pub(crate) effects: Vec<Effect>,
    pub(crate) jobs: Vec<NewJob>,
    pub(crate) result: Option<KeptResult>,
    bytes: usize,
    problems: Vec<Invalid>,
}

impl Effects {
    /// Sets a string, whatever stood there; a time to live that it had is gone.
    pub fn set(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, value) = (bytes(key), bytes(value));
        self.add(
            key.len() + value.len(),
            Effect::Set {
                key,
                value,
                expires_in: None,
            },
        );
    }

    /// Sets a string that goes after `expires_in`, a millisecond at least.
    pub fn set_for(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, expires_in: Duration) {
        let (key, value) = (bytes(key), bytes(value));
        self.check_time("time to live", expires_in);
        let size = key.len() + value.len();
        self.add(
            size,
            Effect::Set {
                key,
                value,
                expires_in: Some(expires_in),
            },
        );
    }

    /// Removes a key of any kind.
    pub fn del(&mut self, key: impl AsRef<[u8]>) {
        let key = bytes(key);
        self.add(key.len(), Effect::Del { key });
    }

    /// Lets a key of any kind go after a time, a millisecond at least; where there is no such key nothing happens.
    pub fn expire(&mut self, key: impl AsRef<[u8]>, after: Duration) {
        let key = bytes(key);
        self.check_time("time to live", after);
        self.add(key.len(), Effect::Expire { key, after });
    }

    /// Adds to a number. Refused when it is none, or would leave 64 bits.
    pub fn incr_by(&mut self, key: impl AsRef<[u8]>, by: i64) {
        let key = bytes(key);
        self.add(key.len() + 8, Effect::IncrBy { key, by });
    }

    /// Takes away from a number, which may go below 0: see [`require`](Self::require). Refused when it is none, or would leave 64 bits.
    pub fn decr_by(&mut self, key: impl AsRef<[u8]>, by: i64) {
        let Some(by) = by.checked_neg() else {
            let allowed = format!("more than {}", i64::MIN);
            self.problems.push(Invalid::new("decrement", by, allowed));
            return;
        };
        self.incr_by(key, by);
    }

    /// Sets a field of a hash.
    pub fn hset(&mut self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, field, value) = (bytes(key), bytes(field), bytes(value));
        self.add(key.len() + field.len() + value.len(), Effect::HSet { key, field, value });
    }

    /// Removes a field of a hash.
    pub fn hdel(&mut self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>) {
        let (key, field) = (bytes(key), bytes(field));
        self.add(key.len() + field.len(), Effect::HDel { key, field });
    }

    /// Adds to a number in a field of a hash. Refused when it is none, or would leave 64 bits.
    pub fn hincr_by(&mut self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>, by: i64) {
        let (key, field) = (bytes(key), bytes(field));
        self.add(key.len() + field.len() + 8, Effect::HIncrBy { key, field, by });
    }

    /// Adds a member to a set.
    pub fn sadd(&mut self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) {
        let (key, member) = (bytes(key), bytes(member));
        self.add(key.len() + member.len(), Effect::SAdd { key, member });
    }

    /// Takes a member out of a set.
    pub fn srem(&mut self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) {
        let (key, member) = (bytes(key), bytes(member));
        self.add(key.len() + member.len(), Effect::SRem { key, member });
    }

    /// Adds a member to a sorted set, or moves it. The score is finite.
    pub fn zadd(&mut self, key: impl AsRef<[u8]>, score: f64, member: impl AsRef<[u8]>) {
        let (key, member) = (bytes(key), bytes(member));
        if !score.is_finite() {
            self.problems.push(Invalid::new("score", score, "a finite number"));
        }
        self.add(key.len() + member.len() + 8, Effect::ZAdd { key, score, member });
    }

    /// Takes a member out of a sorted set.
    pub fn zrem(&mut self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) {
        let (key, member) = (bytes(key), bytes(member));
        self.add(key.len() + member.len(), Effect::ZRem { key, member });
    }

    /// Puts a value before the head of a list.
    pub fn lpush(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, value) = (bytes(key), bytes(value));
        self.add(key.len() + value.len(), Effect::LPush { key, value });
    }

    /// Puts a value behind the tail of a list.
    pub fn rpush(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, value) = (bytes(key), bytes(value));
        self.add(key.len() + value.len(), Effect::RPush { key, value });
    }

    /// Adds an entry of at least one field to a stream; the store makes its id.
    pub fn xadd<F: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: impl AsRef<[u8]>, fields: impl IntoIterator<Item = (F, V)>) {
        let key = bytes(key);
        let fields: Vec<_> = fields.into_iter().map(|(field, value)| (bytes(field), bytes(value))).collect();
        if fields.is_empty() {
            self.problems.push(Invalid::new("stream entry", shown(&key), "at least one field"));
        }
        let size = key.len() + fields.iter().map(|(field, value)| field.len() + value.len()).sum::<usize>();
        self.add(size, Effect::XAdd { key, fields });
    }

    /// Tells whoever listens on a channel.
    pub fn publish(&mut self, channel: impl AsRef<[u8]>, message: impl AsRef<[u8]>) {
        let (channel, message) = (bytes(channel), bytes(message));
        self.add(channel.len() + message.len(), Effect::Publish { channel, message });
    }

    /// Demands something of a string: a value that it must have, or a [`Need`]. It sees what the effects said before it have made of it.
    /// When it does not hold, nothing of the job is done: the attempt counts as failed, and is retried as one.
    pub fn require(&mut self, key: impl AsRef<[u8]>, need: impl Into<Need>) {
        self.demand(bytes(key), None, need.into());
    }

    /// As [`require`](Self::require), of a field of a hash.
    pub fn require_field(&mut self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>, need: impl Into<Need>) {
        self.demand(bytes(key), Some(bytes(field)), need.into());
    }

    /// Enqueues a job: with it, or not at all. Its unique key held by a job with the same arguments: nothing is enqueued; with others:
    /// everything is refused. An enqueue with options is what [`Client::enqueue`](crate::Client::enqueue) returns, not awaited.
    pub fn enqueue(&mut self, job: impl FollowUp) {
        match job.into_new_job() {
            Ok(job) => {
                self.weigh(job.body.args.len() + 100);
                self.jobs.push(job);
            }
            Err(Error::Invalid(problems)) => self.problems.extend(problems),
            Err(other) => self.problems.push(Invalid::new("job", other, "a valid job")),
        }
    }

    /// Keeps a result of the job for a time, to be had by [`Client::result`](crate::Client::result); the last one said counts.
    pub fn keep_result<T: Serialize + ?Sized>(&mut self, result: &T, kept_for: Duration) {
        self.check_time("time to keep a result", kept_for);
        match serde_json::to_vec(result) {
            Ok(json) if json.len() <= RESULT_MAX_BYTES => self.result = Some(KeptResult { json, kept_for }),
            Ok(json) => {
                let allowed = format!("at most {RESULT_MAX_BYTES} bytes as JSON: keep the data elsewhere and its address here");
                self.problems.push(Invalid::new("result", format!("{} bytes", json.len()), allowed));
            }
            Err(error) => self.problems.push(Invalid::new("result", error, "what JSON can hold")),
        }
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.effects.is_empty() && self.jobs.is_empty() && self.result.is_none()
    }

    /// The effects said so far; jobs and a result are none.
    pub fn list(&self) -> &[Effect] {
        &self.effects
    }

    fn demand(&mut self, key: Vec<u8>, field: Option<Vec<u8>>, need: Need) {
        let value = match &need {
            Need::Is(value) => value.len(),
            _ => 8,
        };
        let size = key.len() + field.as_ref().map_or(0, Vec::len) + value;
        self.add(size, Effect::Require { key, field, need });
    }

    fn add(&mut self, size: usize, effect: Effect) {
        if effect.target().is_empty() {
            self.problems.push(Invalid::new("key of an effect", "", "not empty"));
        }
        self.weigh(size);
        self.effects.push(effect);
    }

    fn weigh(&mut self, size: usize) {
        self.bytes += size;
    }

    fn check_time(&mut self, what: &'static str, time: Duration) {
        let least = Duration::from_millis(1);
        if !(least..=DELAY_MAX).contains(&time) {
            let days = DELAY_MAX.as_secs() / 86_400;
            let allowed = format!("from {least:?} to {days} days");
            self.problems.push(Invalid::new(what, format!("{time:?}"), allowed));
        }
    }

    /// Adds what `said` says, unless something is wrong with it or it would be too much with what is here: then nothing. `is_own` tells
    /// the keys that are Linchpin's.
    pub(crate) fn take(&mut self, said: Effects, is_own: impl Fn(&[u8]) -> bool) -> Result<(), Error> {
        let Effects {
            effects,
            jobs,
            result,
            bytes,
            mut problems,
        } = said;
        for effect in effects.iter().filter(|effect| is_own(effect.target())) {
            let allowed = "a key of your own: those of the namespace are changed by Linchpin alone";
            problems.push(Invalid::new("key of an effect", shown(effect.target()), allowed));
        }
        let count = self.count() + effects.len() + jobs.len();
        if count > EFFECTS_MAX {
            problems.push(Invalid::new("effects", count, format!("at most {EFFECTS_MAX} a job")));
        }
        let bytes = self.bytes + bytes;
        if bytes > EFFECTS_MAX_BYTES {
            let allowed = format!("at most {EFFECTS_MAX_BYTES} bytes a job, keys and values together");
            problems.push(Invalid::new("effects", format!("{bytes} bytes"), allowed));
        }
        if !problems.is_empty() {
            return Err(Error::Invalid(problems));
        }
        self.effects.extend(effects);
        self.jobs.extend(jobs);
        self.result = result.or(self.result.take());
        self.bytes = bytes;
        Ok(())
    }

    fn count(&self) -> usize {
        self.effects.len() + self.jobs.len()
    }
}

fn bytes(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    bytes.as_ref().to_vec()
}
