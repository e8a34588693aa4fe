//! The identity of a job's arguments, and how deep they nest.

use sha2::{Digest, Sha256};

/// The first 16 bytes of SHA-256 over the task's name, a zero byte and the canonical arguments.
pub(crate) fn digest(task: &str, args: &[u8]) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(task.as_bytes());
    hash.update([0]);
    hash.update(canonical(args));
    let mut out = [0; 16];
    out.copy_from_slice(&hash.finalize()[..16]);
    out
}

/// How deep objects and arrays nest in compact JSON.
pub(crate) fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut at) = (0usize, 0, 0);
    while at < json.len() {
        match json[at] {
            b'"' => at = string_end(json, at) - 1,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Compact JSON with the keys of every object sorted. Numbers and strings stay as they are written: none loses a digit.
fn canonical(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    value(json, 0, &mut out);
    out
}

/// Writes the value at `at`; answers where it ends.
fn value(json: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    match json.get(at) {
        Some(b'{') => object(json, at, out),
        Some(b'[') => array(json, at, out),
        Some(b'"') => copy(json, at, string_end(json, at), out),
        _ => {
            let len = json[at..].iter().position(|b| matches!(b, b',' | b'}' | b']'));
            copy(json, at, len.map_or(json.len(), |len| at + len), out)
        }
    }
}

fn object(json: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    let mut members: Vec<(&[u8], Vec<u8>)> = Vec::new();
    at += 1;
    while json.get(at) == Some(&b'"') {
        let key_end = string_end(json, at);
        let mut member = Vec::new();
        let end = value(json, key_end + 1, &mut member);
        members.push((&json[at..key_end], member));
        at = end + usize::from(json.get(end) == Some(&b','));
    }
    members.sort_by_key(|(key, _)| *key);
    out.push(b'{');
    for (i, (key, member)) in members.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        out.push(b':');
        out.extend_from_slice(member);
    }
    out.push(b'}');
    at + 1
}

fn array(json: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    out.push(b'[');
    at += 1;
    while at < json.len() && json[at] != b']' {
        at = value(json, at, out);
        if json.get(at) == Some(&b',') {
            out.push(b',');
            at += 1;
        }
    }
    out.push(b']');
    at + 1
}

fn copy(json: &[u8], from: usize, to: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&json[from..to]);
    to
}

/// Where the string that begins at `at` ends: behind its closing quote.
fn string_end(json: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < json.len() {
        match json[end] {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(json: &str) -> String {
        String::from_utf8(canonical(json.as_bytes())).unwrap()
    }

    #[test]
    fn keys_are_sorted_at_every_level_and_nothing_else_changes() {
        assert_eq!(text(r#"{"b":[{"d":1,"c":"}\""}],"a":{}}"#), r#"{"a":{},"b":[{"c":"}\"","d":1}]}"#);
        assert_eq!(
            text(r#"{"n":340282366920938463463374607431768211455}"#),
            r#"{"n":340282366920938463463374607431768211455}"#
        );
        assert_eq!(text("[]"), "[]");
    }

    #[test]
    fn the_digest_tells_tasks_and_arguments_apart_but_not_orders() {
        let a = digest("t", br#"{"a":1,"b":2}"#);
        assert_eq!(a, digest("t", br#"{"b":2,"a":1}"#));
        assert_ne!(a, digest("u", br#"{"a":1,"b":2}"#));
        assert_ne!(a, digest("t", br#"{"a":1,"b":3}"#));
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(depth(br#"{"a":"[[[[","b":[[1]]}"#), 3);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::hash_map(any::<String>(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_json_means_the_same(value in json()) {
            let written = serde_json::to_vec(&value).unwrap();
            let canonical = canonical(&written);
            prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&canonical).unwrap(), serde_json::from_slice::<serde_json::Value>(&written).unwrap());
        }
    }
}
