//! What stands beside the jobs: the keys that users' effects change, and the results of jobs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::state::{State, Time};
use crate::names::JobId;
use crate::store::effects::{Applied, Effect, Need, Riding, Value, shown};

/// A key of the user's.
#[derive(Clone)]
pub(super) struct Entry {
    value: Value,
    until: Option<Time>,
}

/// All keys of the user's.
#[derive(Default)]
pub(super) struct Keyspace(BTreeMap<Vec<u8>, Entry>);

/// Keys as they would be after some effects; an emptied collection keeps its kind until the end.
struct Draft<'a> {
    keyspace: &'a Keyspace,
    now: Time,
    changed: HashMap<Vec<u8>, Option<Entry>>,
}

impl Keyspace {
    pub fn get(&self, key: &[u8], now: Time) -> Option<&Value> {
        self.entry(key, now).map(|entry| &entry.value)
    }

    fn entry(&self, key: &[u8], now: Time) -> Option<&Entry> {
        self.0.get(key).filter(|entry| entry.until.is_none_or(|until| until > now))
    }

    /// Applies all effects, or none and says why.
    pub fn apply(&mut self, effects: &[Effect], now: Time) -> Result<(), String> {
        let mut draft = Draft {
            keyspace: self,
            now,
            changed: HashMap::new(),
        };
        for effect in effects {
            draft.apply(effect)?;
        }
        for (key, entry) in draft.changed {
            match entry.filter(|entry| !is_empty(&entry.value)) {
                Some(entry) => self.0.insert(key, entry),
                None => self.0.remove(&key),
            };
        }
        Ok(())
    }

    pub fn drop_expired(&mut self, now: Time) {
        self.0.retain(|_, entry| entry.until.is_none_or(|until| until > now));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Stream(_) => false,
        Value::Hash(fields) => fields.is_empty(),
        Value::Set(members) => members.is_empty(),
        Value::SortedSet(members) => members.is_empty(),
        Value::List(values) => values.is_empty(),
    }
}

/// The whole number that a text is, written as the store itself writes it.
fn whole(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

macro_rules! collection {
    ($draft:ident, $key:ident, $kind:ident, $empty:expr) => {{
        let want = Value::$kind($empty).kind();
        let entry = $draft.entry($key).get_or_insert_with(|| Entry {
            value: Value::$kind($empty),
            until: None,
        });
        let held = entry.value.kind();
        match &mut entry.value {
            Value::$kind(inner) => inner,
            _ => return Err(wrong($key, held, want)),
        }
    }};
}

fn wrong(key: &[u8], held: &str, want: &str) -> String {
    format!("`{}` holds a {held}, no {want}", shown(key))
}

impl Draft<'_> {
    fn entry(&mut self, key: &[u8]) -> &mut Option<Entry> {
        let (keyspace, now) = (self.keyspace, self.now);
        self.changed
            .entry(key.to_vec())
            .or_insert_with(|| keyspace.entry(key, now).cloned())
    }

    fn is_there(&mut self, key: &[u8]) -> bool {
        self.entry(key).is_some()
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Set { key, value, expires_in } => {
                let until = expires_in.map(|after| self.now.saturating_add(after));
                *self.entry(key) = Some(Entry {
                    value: Value::String(value.clone()),
                    until,
                });
            }
            Effect::Del { key } => *self.entry(key) = None,
            Effect::Expire { key, after } => {
                let until = self.now.saturating_add(*after);
                if let Some(entry) = self.entry(key) {
                    entry.until = Some(until);
                }
            }
            Effect::IncrBy { key, by } => {
                let number = collection!(self, key, String, b"0".to_vec());
                *number = added(key, number, *by)?;
            }
            Effect::HSet { key, field, value } => {
                collection!(self, key, Hash, BTreeMap::new()).insert(field.clone(), value.clone());
            }
            Effect::HDel { key, field } if self.is_there(key) => {
                collection!(self, key, Hash, BTreeMap::new()).remove(field);
            }
            Effect::HIncrBy { key, field, by } => {
                let fields = collection!(self, key, Hash, BTreeMap::new());
                let number = fields.entry(field.clone()).or_insert_with(|| b"0".to_vec());
                *number = added(key, number, *by)?;
            }
            Effect::SAdd { key, member } => {
                collection!(self, key, Set, BTreeSet::new()).insert(member.clone());
            }
            Effect::SRem { key, member } if self.is_there(key) => {
                collection!(self, key, Set, BTreeSet::new()).remove(member);
            }
            Effect::ZAdd { key, score, member } => {
                let members = collection!(self, key, SortedSet, Vec::new());
                members.retain(|(held, _)| held != member);
                members.push((member.clone(), *score));
                members.sort_by(|(a, x), (b, y)| x.total_cmp(y).then_with(|| a.cmp(b)));
            }
            Effect::ZRem { key, member } if self.is_there(key) => {
                collection!(self, key, SortedSet, Vec::new()).retain(|(held, _)| held != member);
            }
            Effect::LPush { key, value } => collection!(self, key, List, Vec::new()).insert(0, value.clone()),
            Effect::RPush { key, value } => collection!(self, key, List, Vec::new()).push(value.clone()),
            Effect::XAdd { key, fields } => collection!(self, key, Stream, Vec::new()).push(fields.clone()),
            Effect::Require { key, field, need } => return self.require(key, field.as_deref(), need),
            // nothing to take out; and nobody can listen to the embedded store
            Effect::HDel { .. } | Effect::SRem { .. } | Effect::ZRem { .. } | Effect::Publish { .. } => {}
        }
        Ok(())
    }

    fn require(&mut self, key: &[u8], field: Option<&[u8]>, need: &Need) -> Result<(), String> {
        let value = match (self.entry(key).as_ref().map(|entry| &entry.value), field) {
            (None, _) => None,
            (Some(Value::String(value)), None) => Some(value.clone()),
            (Some(Value::Hash(fields)), Some(field)) => fields.get(field).cloned(),
            (Some(other), field) => return Err(wrong(key, other.kind(), if field.is_some() { "hash" } else { "string" })),
        };
        let what = unmet(value.as_deref(), need);
        what.map_or(Ok(()), |what| {
            let field = field.map(|field| format!(".{}", shown(field))).unwrap_or_default();
            Err(format!("`{}{field}` {what}", shown(key)))
        })
    }
}

fn added(key: &[u8], text: &[u8], by: i64) -> Result<Vec<u8>, String> {
    let number = whole(text).ok_or_else(|| format!("`{}` holds no whole number", shown(key)))?;
    let sum = number
        .checked_add(by)
        .ok_or_else(|| format!("`{}` would leave 64 bits: {number} and {by}", shown(key)))?;
    Ok(sum.to_string().into_bytes())
}

/// What is wrong, if the need is not met.
fn unmet(value: Option<&[u8]>, need: &Need) -> Option<String> {
    let number = || match value {
        None => Ok(0),
        Some(text) => whole(text).ok_or_else(|| "holds no whole number".to_owned()),
    };
    match need {
        Need::Is(wanted) => match value {
            Some(value) if value == wanted => None,
            Some(_) => Some("is not what is required".into()),
            None => Some("is not there, and is required".into()),
        },
        Need::Absent => value.map(|_| "is there, and is required not to be".into()),
        Need::Present => value.is_none().then(|| "is not there, and is required".into()),
        Need::AtLeast(least) => match number() {
            Ok(number) => (number < *least).then(|| format!("is {number}, at least {least} is required")),
            Err(what) => Some(what),
        },
        Need::AtMost(most) => match number() {
            Ok(number) => (number > *most).then(|| format!("is {number}, at most {most} is required")),
            Err(what) => Some(what),
        },
    }
}

impl State {
    /// Does what rides a settle, all of it or none.
    pub fn ride(&mut self, id: JobId, riding: &Riding) -> Result<(), String> {
        let mut taken = HashMap::new();
        for (job, unique) in riding.jobs.iter().filter_map(|job| Some((job, job.unique.as_ref()?))) {
            let row = self.unique_row(&unique.key).map(|row| (row.holder, row.digest));
            let (holder, digest) = row.unwrap_or_else(|| *taken.entry(&unique.key).or_insert((job.id, unique.digest)));
            if digest != unique.digest {
                let key = &unique.key;
                return Err(format!("`{key}` is a unique key that job {holder} holds with other arguments"));
            }
        }
        self.keyspace.apply(&riding.effects, self.now)?;
        for job in &riding.jobs {
            self.enqueue(job.clone());
        }
        if let Some(result) = &riding.result {
            let until = self.now.saturating_add(result.kept_for);
            self.results.insert(id, (result.json.clone(), until));
        }
        Ok(())
    }

    pub fn apply_effects(&mut self, effects: &[Effect]) -> Applied {
        match self.keyspace.apply(effects, self.now) {
            Ok(()) => Applied::Done,
            Err(why) => Applied::Refused(why),
        }
    }

    pub fn result(&self, id: JobId) -> Option<&Vec<u8>> {
        self.results.get(&id).filter(|(_, until)| *until > self.now).map(|(json, _)| json)
    }

    /// Drops keys and results whose time is over.
    pub fn drop_expired(&mut self) {
        let now = self.now;
        self.keyspace.drop_expired(now);
        self.results.retain(|_, (_, until)| *until > now);
    }
}
