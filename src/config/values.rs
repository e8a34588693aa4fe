//! From values to what keys want: durations, numbers, switches, lists.

use std::time::Duration;

use super::document::{Spot, Value};
use super::section::Origin;

/// What a value is, for messages.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Raw(text) => format!("{text:?}"),
        Value::Number(number) => number.to_string(),
        Value::Switch(switch) => switch.to_string(),
        Value::List(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
        Value::Fraction(number) => number.to_string(),
        Value::Other(what) => (*what).into(),
    }
}

pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) | Value::Raw(text) => Some(text),
        _ => None,
    }
}

pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => u64::try_from(*number).ok(),
        Value::Raw(text) => text.trim().replace('_', "").parse().ok(),
        _ => None,
    }
}

pub(super) fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Switch(switch) => Some(*switch),
        Value::Raw(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(super) fn duration(value: &Value) -> Option<Duration> {
    // bare numbers have no unit, and a wrong guess would be a thousand times off
    humantime::parse_duration(text(value)?.trim()).ok()
}

/// The items of a list, each with where it stands; in the environment they are separated by commas.
pub(super) fn list(spot: &Spot) -> Option<Vec<Spot>> {
    match &spot.value {
        Value::List(items) => Some(items.clone()),
        Value::Raw(text) => Some(
            text.split(',')
                .map(|item| Spot {
                    value: Value::Text(item.trim().to_owned()),
                    origin: spot.origin.clone(),
                })
                .collect(),
        ),
        _ => None,
    }
}

/// As JSON; `None` where it holds what JSON has not. In the environment it is JSON already.
pub(super) fn json(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::Text(text) => text.as_str().into(),
        Value::Number(number) => (*number).into(),
        Value::Fraction(number) => serde_json::Number::from_f64(*number)?.into(),
        Value::Switch(switch) => (*switch).into(),
        Value::List(items) => items.iter().map(|item| json(&item.value)).collect::<Option<Vec<_>>>()?.into(),
        Value::Table(table) => {
            let entries = table.iter().map(|(key, spot)| Some((key.clone(), json(&spot.value)?)));
            serde_json::Value::Object(entries.collect::<Option<_>>()?)
        }
        Value::Raw(text) => serde_json::from_str(text).ok()?,
        Value::Other(_) => return None,
    })
}

/// A duration as people write it.
pub(super) fn written(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

impl Origin {
    /// The line, where there is one.
    pub(super) fn line(&self) -> Option<usize> {
        match self {
            Origin::Line(line) => Some(*line),
            _ => None,
        }
    }
}
