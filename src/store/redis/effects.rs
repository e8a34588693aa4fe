//! Effects on Redis: each as the command it is, packed for the scripts; and what stands under a key of the user's.

use std::time::Duration;

use redis::{FromRedisValue, Value as Reply};
use rmp::encode;

use super::RedisStore;
use super::arguments::Arguments;
use super::connection::Fault;
use super::enqueue::push_jobs;
use super::script::Name;
use super::wire::{death_letter, millis};
use crate::error::Error;
use crate::limits::VALUE_ELEMENTS_MAX;
use crate::names::JobId;
use crate::store::effects::{Applied, Effect, Need, Riding, Value, shown};
use crate::store::settle::{Charge, Verdict};

/// The extra of a settle with which something rides: see `ride.lua`.
pub(super) fn pack_riding(riding: &Riding) -> Vec<u8> {
    if let ([effect], true, None) = (riding.effects.as_slice(), riding.jobs.is_empty(), &riding.result)
        && let Some(text) = plain(effect, &riding.fallback)
    {
        return text;
    }
    let mut packed = Packed::default();
    packed.array(5);
    packed.text(fallback(&riding.fallback).as_bytes());
    packed.effects(&riding.effects);
    if riding.jobs.is_empty() {
        packed.text(b"");
    } else {
        let mut jobs = Arguments::default();
        push_jobs(&mut jobs, &riding.jobs, None);
        packed.array(jobs.len());
        jobs.each(|argument| packed.text(argument));
    }
    match &riding.result {
        None => {
            packed.text(b"");
            packed.text(b"");
        }
        Some(result) => {
            packed.text(&result.json);
            packed.text(millis(result.kept_for).to_string().as_bytes());
        }
    }
    packed.0
}

/// One effect of 2 to 4 words as the text that `settle.lua` takes; `None` where it is none, or its words hold the separator.
fn plain(effect: &Effect, verdict: &Verdict) -> Option<Vec<u8>> {
    const SEPARATOR: u8 = 1;
    let by = match effect {
        Effect::IncrBy { by, .. } | Effect::HIncrBy { by, .. } => by.to_string(),
        _ => String::new(),
    };
    let by = by.as_bytes();
    let words: [&[u8]; 4] = match effect {
        Effect::Set {
            key,
            value,
            expires_in: None,
        } => [b"SET", key, value, b""],
        Effect::Del { key } => [b"DEL", key, b"", b""],
        Effect::IncrBy { key, .. } => [b"INCRBY", key, by, b""],
        Effect::HSet { key, field, value } => [b"HSET", key, field, value],
        Effect::HDel { key, field } => [b"HDEL", key, field, b""],
        Effect::HIncrBy { key, field, .. } => [b"HINCRBY", key, field, by],
        Effect::SAdd { key, member } => [b"SADD", key, member, b""],
        Effect::SRem { key, member } => [b"SREM", key, member, b""],
        Effect::ZRem { key, member } => [b"ZREM", key, member, b""],
        Effect::LPush { key, value } => [b"LPUSH", key, value, b""],
        Effect::RPush { key, value } => [b"RPUSH", key, value, b""],
        Effect::Publish { channel, message } => [b"PUBLISH", channel, message, b""],
        Effect::Set { .. } | Effect::Expire { .. } | Effect::ZAdd { .. } | Effect::XAdd { .. } | Effect::Require { .. } => return None,
    };
    let count = match effect {
        Effect::Del { .. } => b'2',
        Effect::HSet { .. } | Effect::HIncrBy { .. } => b'4',
        _ => b'3',
    };
    if words.iter().any(|word| word.contains(&SEPARATOR)) {
        return None;
    }
    let mut text = vec![count, SEPARATOR];
    for word in words {
        text.extend_from_slice(word);
        text.push(SEPARATOR);
    }
    text.extend_from_slice(fallback(verdict).as_bytes());
    Some(text)
}

/// Letter and extra of the verdict that counts when it is refused.
fn fallback(verdict: &Verdict) -> String {
    let charge = |charge: Charge| match charge {
        Charge::None => '0',
        Charge::Attempt => '1',
        Charge::Mismatch => '2',
    };
    match verdict {
        Verdict::Bury {
            reason,
            death,
            charge: cost,
        } => format!("b{}|{}|{reason}", death_letter(*death), charge(*cost)),
        Verdict::Schedule {
            delay,
            charge: cost,
            error,
        } => format!("s{}|{}|{}", millis(*delay), charge(*cost), error.as_deref().unwrap_or_default()),
        Verdict::Done | Verdict::Return | Verdict::Rekey(_) => "s0|0|".to_owned(),
    }
}

/// MessagePack, which every server can read. Writing into a vector does not fail.
#[derive(Default)]
struct Packed(Vec<u8>);

impl Packed {
    fn array(&mut self, len: usize) {
        let _ = encode::write_array_len(&mut self.0, len as u32);
    }

    fn text(&mut self, bytes: &[u8]) {
        let _ = encode::write_str_len(&mut self.0, bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }

    fn command(&mut self, words: &[&[u8]]) {
        self.array(words.len());
        for word in words {
            self.text(word);
        }
    }

    fn effects(&mut self, effects: &[Effect]) {
        self.array(effects.len());
        for effect in effects {
            self.effect(effect);
        }
    }

    fn effect(&mut self, effect: &Effect) {
        let ms = |time: &Duration| millis(*time).to_string();
        match effect {
            Effect::Set { key, value, expires_in } => match expires_in {
                None => self.command(&[b"SET", key, value]),
                Some(time) => self.command(&[b"SET", key, value, b"PX", ms(time).as_bytes()]),
            },
            Effect::Del { key } => self.command(&[b"DEL", key]),
            Effect::Expire { key, after } => self.command(&[b"PEXPIRE", key, ms(after).as_bytes()]),
            Effect::IncrBy { key, by } => self.command(&[b"INCRBY", key, by.to_string().as_bytes()]),
            Effect::HSet { key, field, value } => self.command(&[b"HSET", key, field, value]),
            Effect::HDel { key, field } => self.command(&[b"HDEL", key, field]),
            Effect::HIncrBy { key, field, by } => self.command(&[b"HINCRBY", key, field, by.to_string().as_bytes()]),
            Effect::SAdd { key, member } => self.command(&[b"SADD", key, member]),
            Effect::SRem { key, member } => self.command(&[b"SREM", key, member]),
            Effect::ZAdd { key, score, member } => self.command(&[b"ZADD", key, score.to_string().as_bytes(), member]),
            Effect::ZRem { key, member } => self.command(&[b"ZREM", key, member]),
            Effect::LPush { key, value } => self.command(&[b"LPUSH", key, value]),
            Effect::RPush { key, value } => self.command(&[b"RPUSH", key, value]),
            Effect::XAdd { key, fields } => {
                let mut words: Vec<&[u8]> = vec![b"XADD", key, b"*"];
                words.extend(fields.iter().flat_map(|(field, value)| [field.as_slice(), value.as_slice()]));
                self.command(&words);
            }
            Effect::Publish { channel, message } => self.command(&[b"PUBLISH", channel, message]),
            Effect::Require { key, field, need } => {
                let (kind, value): (&[u8], Vec<u8>) = match need {
                    Need::Is(value) => (b"=", value.clone()),
                    Need::Absent => (b"-", Vec::new()),
                    Need::Present => (b"+", Vec::new()),
                    Need::AtLeast(least) => (b">", least.to_string().into_bytes()),
                    Need::AtMost(most) => (b"<", most.to_string().into_bytes()),
                };
                match field {
                    None => self.command(&[b"?", key, kind, &value]),
                    Some(field) => self.command(&[b"?h", key, field, kind, &value]),
                }
            }
        }
    }
}

impl RedisStore {
    pub(super) async fn run_apply(&self, effects: &[Effect]) -> Result<Applied, Error> {
        let action = || self.action("apply effects");
        let mut packed = Packed::default();
        packed.effects(effects);
        let mut a = Arguments::default();
        a.push(packed.0);
        let running = self.commands.run(self.scripts.script(Name::Apply), self.keys.prefix(), &a, || ());
        let answer = running.await.map_err(|fault| match fault {
            Fault::Unknown(_) => Error::Unknown {
                action: action(),
                ids: Vec::new(),
            },
            fault => fault.into_error(action()),
        })?;
        let answer: String = redis::from_redis_value(answer).unwrap_or_default();
        Ok(match answer.split_at_checked(1) {
            Some(("r", why)) => Applied::Refused(why.to_owned()),
            Some(("b", why)) => Applied::Broken(why.to_owned()),
            _ => Applied::Done,
        })
    }

    pub(super) async fn run_value(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        let mut a = Arguments::default();
        a.push(key).int(VALUE_ELEMENTS_MAX as u64);
        let reply = self.patiently(Name::Value, &a, "read a key").await?;
        let strange = |kind: &str| Error::Internal {
            what: format!("`{}` holds a {kind} that cannot be read", shown(key)),
        };
        let Reply::Array(parts) = reply else { return Err(strange("reply")) };
        let mut parts = parts.into_iter();
        let kind: String = parts.next().and_then(read).ok_or_else(|| strange("reply"))?;
        if kind == "none" {
            return Ok(None);
        }
        match parts.next() {
            Some(Reply::Int(0)) | None => Err(self.unread(key, format!("it holds a {kind}, which no effect makes"))),
            Some(Reply::Int(count)) => {
                let advice = format!("it has {count} elements, more than {VALUE_ELEMENTS_MAX}: read it with a Redis client");
                Err(self.unread(key, advice))
            }
            Some(elements) => value(&kind, elements).map(Some).ok_or_else(|| strange(&kind)),
        }
    }

    fn unread(&self, key: &[u8], advice: String) -> Error {
        Error::Refused {
            action: self.action(&format!("read `{}`", shown(key))),
            code: "value".into(),
            advice,
            transient: false,
        }
    }

    pub(super) async fn run_result(&self, id: JobId) -> Result<Option<Vec<u8>>, Error> {
        let mut command = redis::Cmd::new();
        command.arg("GET").arg(self.keys.result(id));
        let value = self.read(&command, "read a result").await?;
        redis::from_redis_value(value).map_err(|error| Error::Internal {
            what: format!("the result of job {id}: {error}"),
        })
    }
}

fn read<T: FromRedisValue>(value: Reply) -> Option<T> {
    redis::from_redis_value(value).ok()
}

fn value(kind: &str, elements: Reply) -> Option<Value> {
    let pairs = |flat: Vec<Vec<u8>>| {
        let mut flat = flat.into_iter();
        std::iter::from_fn(move || Some((flat.next()?, flat.next()?)))
    };
    Some(match kind {
        "string" => Value::String(read::<Vec<Vec<u8>>>(elements)?.pop()?),
        "hash" => Value::Hash(pairs(read(elements)?).collect()),
        "set" => Value::Set(read::<Vec<Vec<u8>>>(elements)?.into_iter().collect()),
        "list" => Value::List(read(elements)?),
        "zset" => Value::SortedSet(
            pairs(read(elements)?)
                .map(|(member, score)| Some((member, std::str::from_utf8(&score).ok()?.parse().ok()?)))
                .collect::<Option<_>>()?,
        ),
        "stream" => Value::Stream(
            read::<Vec<(Vec<u8>, Vec<Vec<u8>>)>>(elements)?
                .into_iter()
                .map(|(_, fields)| pairs(fields).collect())
                .collect(),
        ),
        _ => return None,
    })
}
