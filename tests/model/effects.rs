//! Random effects: few keys, so that they meet; numbers at the ends of what 64 bits and a double hold.

use linchpin::store::effects::{Applied, Effect, Need};
use proptest::prelude::*;

use super::compare::same;
use super::pair::{Checked, Pair, both};

/// Keys that effects change.
pub const USER_KEYS: usize = 3;

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -3i64..4,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => Just((1 << 53) + 1),
        1 => Just(-(1 << 53) - 1),
        1 => any::<i64>(),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => number().prop_map(|number| number.to_string().into_bytes()),
        1 => Just(b"07".to_vec()),
        1 => Just(b"-0".to_vec()),
        1 => Just(b"99999999999999999999".to_vec()),
        1 => Just(b"a\0\r\n|,%=\xff".to_vec()),
        1 => Just(Vec::new()),
    ]
}

fn need() -> impl Strategy<Value = Need> {
    prop_oneof![
        text().prop_map(Need::Is),
        Just(Need::Absent),
        Just(Need::Present),
        number().prop_map(Need::AtLeast),
        number().prop_map(Need::AtMost),
    ]
}

/// One effect; its key is only the number of one.
fn effect() -> impl Strategy<Value = Effect> {
    let key = || (0..USER_KEYS as u8).prop_map(|key| vec![key]);
    let field = || (0u8..2).prop_map(|field| vec![b'f', field]);
    prop_oneof![
        2 => (key(), text()).prop_map(|(key, value)| Effect::Set { key, value, expires_in: None }),
        3 => key().prop_map(|key| Effect::Del { key }),
        4 => (key(), number()).prop_map(|(key, by)| Effect::IncrBy { key, by }),
        2 => (key(), field(), text()).prop_map(|(key, field, value)| Effect::HSet { key, field, value }),
        2 => (key(), field()).prop_map(|(key, field)| Effect::HDel { key, field }),
        2 => (key(), field(), number()).prop_map(|(key, field, by)| Effect::HIncrBy { key, field, by }),
        1 => (key(), text()).prop_map(|(key, member)| Effect::SAdd { key, member }),
        1 => (key(), text()).prop_map(|(key, member)| Effect::SRem { key, member }),
        1 => (key(), -9i32..9, text()).prop_map(|(key, score, member)| Effect::ZAdd { key, score: f64::from(score) / 4.0, member }),
        1 => (key(), text()).prop_map(|(key, member)| Effect::ZRem { key, member }),
        1 => (key(), text()).prop_map(|(key, value)| Effect::LPush { key, value }),
        1 => (key(), text()).prop_map(|(key, value)| Effect::RPush { key, value }),
        1 => (key(), field(), text()).prop_map(|(key, field, value)| Effect::XAdd { key, fields: vec![(field, value)] }),
        1 => (key(), text()).prop_map(|(channel, message)| Effect::Publish { channel, message }),
        4 => (key(), proptest::option::of(field()), need()).prop_map(|(key, field, need)| Effect::Require { key, field, need }),
    ]
}

pub fn effects() -> impl Strategy<Value = Vec<Effect>> {
    proptest::collection::vec(effect(), 1..6)
}

/// The key under `number` in the case whose keys begin with `case`.
pub fn user_key(case: &str, number: u8) -> Vec<u8> {
    format!("user:{case}:{number}").into_bytes()
}

/// The same effects on the keys of a case.
pub fn of_case(case: &str, effects: &[Effect]) -> Vec<Effect> {
    let mut effects = effects.to_vec();
    for effect in &mut effects {
        let key = match effect {
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
        };
        *key = user_key(case, key.first().copied().unwrap_or_default());
    }
    effects
}

impl Pair {
    /// What effects on keys of the user's begin with in this case.
    pub fn case(&self) -> String {
        self.workers[0].to_string()
    }

    /// Applies effects to both, without any job.
    pub async fn apply_effects(&mut self, effects: &[Effect]) -> Checked {
        let effects = of_case(&self.case(), effects);
        let answers = both!(self, |store, _side| store.apply(effects.clone()));
        match same("effects", answers)? {
            Applied::Done => drop(self.seen.insert("Effects")),
            Applied::Refused(_) => drop(self.seen.insert("Effects refused")),
            Applied::Broken(why) => return Err(format!("effects broken: {why}")),
        }
        self.compare_user_keys().await
    }

    pub async fn compare_user_keys(&self) -> Checked {
        for number in 0..USER_KEYS as u8 {
            let key = user_key(&self.case(), number);
            same("a key of the user's", both!(self, |store, _side| store.value(&key)))?;
        }
        Ok(())
    }
}
