//! Jobs as people write them: `TASK JSON`.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
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

/// A JSON object in which no name stands twice.
///
/// # Errors
/// What is wrong with it, without its contents.
pub(super) fn object(json: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str::<Object>(json)
        .map(|Object(map)| map)
        .map_err(|error| match error.classify() {
            serde_json::error::Category::Data => error.to_string(),
            _ => format!("this is no JSON ({error})"),
        })
}

struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object, A::Error> {
                let mut map = Map::new();
                while let Some(name) = entries.next_key::<String>()? {
                    if map.contains_key(&name) {
                        return Err(A::Error::custom(format!("`{name}` stands twice")));
                    }
                    let value = entries.next_value()?;
                    map.insert(name, value);
                }
                Ok(Object(map))
            }

            // not serde's own messages, which repeat the value
            fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Object, E> {
                Err(E::custom("this is a text"))
            }

            fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Object, E> {
                Err(E::custom("this is true or false"))
            }

            fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Object, E> {
                Err(E::custom("this is a number"))
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Object, E> {
                Err(E::custom("this is a number"))
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Object, E> {
                Err(E::custom("this is a number"))
            }
        }

        from.deserialize_any(Names)
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
            ("[\"s3cret\"]", "sequence"),
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
