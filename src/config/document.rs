//! The text of a configuration file as a tree whose every value knows where it stands; the environment is laid over it.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::ENVIRONMENT_PREFIX;
use super::problem::{Problem, Problems};
use super::section::Origin;

/// A value, as far as configurations have any.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Fraction(f64),
    Switch(bool),
    List(Vec<Spot>),
    Table(Table),
    /// Of the environment: whatever its key wants.
    Raw(String),
    /// Something that no key takes.
    Other(&'static str),
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

pub(super) type Table = BTreeMap<String, Spot>;

pub(super) struct Document {
    pub(super) name: String,
    pub(super) table: Table,
}

impl Document {
    /// Reads the text; what is no TOML is a problem, and what could be read of it is read.
    pub(super) fn parse(name: &str, text: &str, problems: &mut Problems) -> Self {
        let lines = Lines::of(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            problems.add(Problem {
                place: name.to_owned(),
                line: error.span().map(|span| lines.line(span.start)),
                key: String::new(),
                text: format!("{} (it must be TOML)", error.message().trim().replace('\n', "; ")),
            });
        }
        Self {
            name: name.to_owned(),
            table: read_table(table.get_ref(), &lines),
        }
    }

    /// Lays `LINCHPIN__SECTION__KEY=value` over the file. Task names in them are taken as they stand in the file, whatever their case.
    pub(super) fn overlay(&mut self, environment: impl IntoIterator<Item = (String, String)>, problems: &mut Problems) {
        let mut variables: Vec<_> = environment
            .into_iter()
            .filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX))
            .collect();
        variables.sort();
        for (name, value) in variables {
            let path: Vec<String> = name[ENVIRONMENT_PREFIX.len()..].split("__").map(str::to_lowercase).collect();
            if path.len() < 2 || path.iter().any(String::is_empty) {
                problems.add(Problem {
                    place: name,
                    line: None,
                    key: String::new(),
                    text: "a variable names a section and a key, such as LINCHPIN__WORKER__CONCURRENCY".into(),
                });
                continue;
            }
            set(&mut self.table, &path, value, &Origin::Environment(name));
        }
    }
}

fn set(table: &mut Table, path: &[String], value: String, origin: &Origin) {
    let Some((first, rest)) = path.split_first() else { return };
    let key = table
        .keys()
        .find(|key| key.to_lowercase() == *first)
        .cloned()
        .unwrap_or_else(|| first.clone());
    if rest.is_empty() {
        table.insert(
            key,
            Spot {
                value: Value::Raw(value),
                origin: origin.clone(),
            },
        );
        return;
    }
    let spot = table.entry(key).or_insert_with(|| Spot {
        value: Value::Table(Table::new()),
        origin: origin.clone(),
    });
    if !matches!(spot.value, Value::Table(_)) {
        spot.value = Value::Table(Table::new());
    }
    if let Value::Table(inner) = &mut spot.value {
        set(inner, rest, value, origin);
    }
}

fn read_table(table: &DeTable<'_>, lines: &Lines) -> Table {
    let entry = |(key, value): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| {
        let origin = Origin::Line(lines.line(key.span().start));
        (
            key.get_ref().to_string(),
            Spot {
                value: read_value(value.get_ref(), lines),
                origin,
            },
        )
    };
    table.iter().map(entry).collect()
}

fn read_value(value: &DeValue<'_>, lines: &Lines) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Other("a number beyond 64 bits"),
        },
        DeValue::Boolean(switch) => Value::Switch(*switch),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| Spot {
                    value: read_value(item.get_ref(), lines),
                    origin: Origin::Line(lines.line(item.span().start)),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(read_table(table, lines)),
        DeValue::Float(number) => match number.as_str().replace('_', "").parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Fraction(number),
            _ => Value::Other("a number without end"),
        },
        DeValue::Datetime(_) => Value::Other("a date"),
    }
}

/// Where lines begin, to find a byte's line.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at)
                .collect(),
        )
    }

    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }
}
