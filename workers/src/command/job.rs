//! Jobs as people write them: `TASK JSON`.

use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// `TASK JSON`, as the command line and the lines of `enqueue -` have it.
///
/// # Errors
/// Usage, when there is no task or what stands behind it is no JSON object.
pub(super) fn read_job(text: &str) -> Result<(&str, Map<String, Value>), Failure> {
    let (task, json) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), "{}"));
    if task.is_empty() {
        return Err(Failure::usage(
            "a job is a task's name and its arguments, such as: decrement '{\"sku\":\"A1\",\"qty\":2}'",
        ));
    }
    Ok((task, read_args(json)?))
}

/// A job's arguments. They may be private, so no message repeats them.
///
/// # Errors
/// Usage, when they are no JSON object.
pub(super) fn read_args(json: &str) -> Result<Map<String, Value>, Failure> {
    object(json).map_err(|error| {
        Failure::usage(format!(
            "arguments: {error}; they are one JSON object, such as {{\"sku\":\"A1\",\"qty\":2}}"
        ))
    })
}

/// A JSON object in which no name stands twice, at any depth.
///
/// # Errors
/// What is wrong with it, without its contents.
pub(super) fn object(json: &str) -> Result<Map<String, Value>, String> {
    let Strict(value) = serde_json::from_str(json).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("this is no JSON ({error})"),
    })?;
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Err("this is null".to_owned()),
        Value::Bool(_) => Err("this is true or false".to_owned()),
        Value::Number(_) => Err("this is a number".to_owned()),
        Value::String(_) => Err("this is a text".to_owned()),
        Value::Array(_) => Err("this is a list".to_owned()),
    }
}

/// A value in which no object has a name twice: parsers differ in which of the two they take.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Strict, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` stands twice")));
            }
            let Strict(value) = entries.next_value()?;
            map.insert(name, value);
        }
        Ok(Strict(Value::Object(map)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = items.next_element()? {
            list.push(value);
        }
        Ok(Strict(Value::Array(list)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Strict, E> {
        Ok(Strict(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Strict, E> {
        Ok(Strict(text.into()))
    }

    fn visit_bool<E>(self, switch: bool) -> Result<Strict, E> {
        Ok(Strict(switch.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Strict, E> {
        Ok(Strict(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Strict, E> {
        Ok(Strict(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Strict, E> {
        Ok(Strict(number.into()))
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_named_without_its_contents() {
        for (json, why) in [
            ("\"s3cret\"", "a text"),
            ("12345", "a number"),
            ("[\"s3cret\"]", "a list"),
            ("{\"a\":[{\"b\":1,\"b\":\"s3cret\"}]}", "`b` stands twice"),
            ("{\"a\":1,\"a\":\"s3cret\"}", "`a` stands twice"),
            ("{\"a\":s3cret}", "no JSON"),
            ("", "no JSON"),
        ] {
            let said = read_args(json).expect_err(json).to_string();
            assert!(
                said.contains(why) && !said.contains("s3cret") && !said.contains("12345"),
                "{json}: {said}"
            );
        }
    }
}
