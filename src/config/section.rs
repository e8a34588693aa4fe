//! Reading a table key by key: each is taken with its type and bounds, and what is left over is a problem.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::document::{Document, Spot, Table, Value};
use super::problem::{Problem, Problems};
use super::values::{self, kind, written};
use crate::error::Error;

/// Where a setting's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// This line of the file.
    Line(usize),
    /// This environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Environment(name) => f.write_str(name),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// A setting, its value, and where that comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The key with its sections.
    pub key: String,
    /// The value as it would be written in the file; secrets without the secret part.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// One table of the configuration.
pub(super) struct Section<'a> {
    file: String,
    path: String,
    origin: Origin,
    table: Table,
    known: Vec<&'static str>,
    /// Whether its keys are names of the user's own.
    open: bool,
    problems: &'a mut Problems,
    settings: &'a mut Vec<Setting>,
}

impl<'a> Section<'a> {
    pub(super) fn root(document: Document, problems: &'a mut Problems, settings: &'a mut Vec<Setting>) -> Self {
        Self {
            file: document.name,
            path: String::new(),
            origin: Origin::Default,
            table: document.table,
            known: Vec::new(),
            open: false,
            problems,
            settings,
        }
    }

    /// The section called `name`, empty when it is not there.
    pub(super) fn section(&mut self, name: &'static str) -> Section<'_> {
        self.known.push(name);
        let spot = self.table.remove(name);
        self.inner(name, spot, false)
    }

    /// The sections of a table whose keys are the user's own names.
    pub(super) fn each(&mut self, name: &'static str, mut read: impl FnMut(&str, Section<'_>)) {
        self.known.push(name);
        let Some(spot) = self.table.remove(name) else { return };
        let mut outer = self.inner(name, Some(spot), true);
        for (name, spot) in std::mem::take(&mut outer.table) {
            read(&name, outer.inner(&name, Some(spot), false));
        }
    }

    /// The tables of a list, each called by its `named` in messages where it has one.
    pub(super) fn each_of(&mut self, name: &'static str, named: &str, mut read: impl FnMut(Section<'_>)) {
        self.known.push(name);
        let Some(spot) = self.table.remove(name) else { return };
        let Value::List(items) = spot.value else {
            let text = format!("{} stands there: it is a list of tables, `[[{name}]]`", kind(&spot.value));
            return self.say(&spot.origin, name.to_owned(), text);
        };
        let mut outer = self.inner(name, None, true);
        for (i, spot) in items.into_iter().enumerate() {
            let called = match &spot.value {
                Value::Table(table) => table.get(named).and_then(|spot| values::text(&spot.value)).map(str::to_owned),
                _ => None,
            };
            read(outer.inner(&called.unwrap_or_else(|| (i + 1).to_string()), Some(spot), false));
        }
    }

    /// A key that must be there and is not.
    pub(super) fn missing(&mut self, key: &'static str, wanted: &str) {
        self.known.push(key);
        self.refuse::<()>(key, format!("it is missing: it takes {wanted}"));
    }

    /// A table of whatever JSON has; empty when it is not there.
    pub(super) fn json(&mut self, key: &'static str) -> serde_json::Map<String, serde_json::Value> {
        let wanted = "a table such as { shop = \"north\" }, of text, numbers, true, false, lists and tables";
        let taken = self.take(key, wanted, |spot| match values::json(&spot.value)? {
            serde_json::Value::Object(map) => Some(map),
            _ => None,
        });
        let Some((map, origin)) = taken else { return Default::default() };
        self.note(key, serde_json::Value::Object(map.clone()).to_string(), origin);
        map
    }

    fn inner(&mut self, name: &str, spot: Option<Spot>, open: bool) -> Section<'_> {
        let path = self.key(name);
        let origin = spot.as_ref().map_or(Origin::Default, |spot| spot.origin.clone());
        let table = match spot.map(|spot| spot.value) {
            Some(Value::Table(table)) => table,
            None => Table::new(),
            Some(other) => {
                self.say(
                    &origin,
                    path.clone(),
                    format!("{} stands there: it is a section, `[{path}]`", kind(&other)),
                );
                Table::new()
            }
        };
        Section {
            file: self.file.clone(),
            path,
            origin,
            table,
            known: Vec::new(),
            open,
            problems: self.problems,
            settings: self.settings,
        }
    }

    fn key(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    fn say(&mut self, origin: &Origin, key: String, text: String) {
        let (place, line) = match origin {
            Origin::Environment(variable) => (variable.clone(), None),
            origin => (self.file.clone(), origin.line()),
        };
        self.problems.add(Problem { place, line, key, text });
    }

    /// Whether a key stands in the section.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Notes what is wrong with a key that was read (or is missing), at the section's own place.
    pub(super) fn refuse<T>(&mut self, key: &str, text: impl Into<String>) -> Option<T> {
        let path = self.key(key);
        let at = self
            .settings
            .iter()
            .rev()
            .find(|setting| setting.key == path)
            .map(|setting| setting.origin.clone());
        let origin = at
            .filter(|origin| *origin != Origin::Default)
            .unwrap_or_else(|| self.origin.clone());
        self.say(&origin, path, text.into());
        None
    }

    /// Notes what is wrong with the section itself.
    pub(super) fn refuse_here(&mut self, text: impl Into<String>) {
        let (origin, path) = (self.origin.clone(), self.path.clone());
        self.say(&origin, path, text.into());
    }

    /// Takes a key away, noting why it may not stand there.
    pub(super) fn drop_key(&mut self, key: &str, text: &str) {
        if let Some(spot) = self.table.remove(key) {
            let path = self.key(key);
            self.say(&spot.origin, path, text.to_owned());
        }
    }

    /// Takes a key's value through `read`; `wanted` is what it takes.
    fn take<T>(&mut self, key: &'static str, wanted: &str, read: impl FnOnce(&Spot) -> Option<T>) -> Option<(T, Origin)> {
        self.known.push(key);
        let spot = self.table.remove(key)?;
        match read(&spot) {
            Some(value) => Some((value, spot.origin)),
            None => {
                let path = self.key(key);
                self.say(
                    &spot.origin,
                    path,
                    format!("{} is not allowed: it takes {wanted}", kind(&spot.value)),
                );
                None
            }
        }
    }

    fn note(&mut self, key: &str, value: String, origin: Origin) {
        let key = self.key(key);
        self.settings.push(Setting { key, value, origin });
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        let (text, origin) = self.take(key, "text in quotes", |spot| values::text(&spot.value).map(str::to_owned))?;
        self.note(key, format!("{text:?}"), origin);
        Some(text)
    }

    /// A text that may hold a password.
    pub(super) fn secret(&mut self, key: &'static str) -> Option<String> {
        let (text, origin) = self.take(key, "text in quotes", |spot| values::text(&spot.value).map(str::to_owned))?;
        self.note(key, format!("{:?}", crate::store::redacted(&text)), origin);
        Some(text)
    }

    pub(super) fn text_or(&mut self, key: &'static str, default: &str, check: impl Fn(&str) -> Result<(), Error>) -> String {
        let taken = self.take(key, "text in quotes", |spot| values::text(&spot.value).map(str::to_owned));
        let (text, origin) = taken.unwrap_or_else(|| (default.to_owned(), Origin::Default));
        if let Err(error) = check(&text) {
            let path = self.key(key);
            self.say(&origin, path, error.to_string());
        }
        self.note(key, format!("{text:?}"), origin);
        text
    }

    /// One of a few words, the first by default.
    pub(super) fn choice_or(&mut self, key: &'static str, words: &[&'static str]) -> &'static str {
        let wanted = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        let taken = self.take(key, &wanted, |spot| {
            let text = values::text(&spot.value)?;
            words.iter().find(|word| **word == text).copied()
        });
        let (word, origin) = taken.unwrap_or((words[0], Origin::Default));
        self.note(key, format!("{word:?}"), origin);
        word
    }

    pub(super) fn number(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let (number, origin) = self.take(key, &wanted, |spot| values::number(&spot.value).filter(|n| range.contains(n)))?;
        self.note(key, number.to_string(), origin);
        Some(number)
    }

    pub(super) fn number_or(&mut self, key: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        self.number(key, range).unwrap_or_else(|| {
            self.note(key, default.to_string(), Origin::Default);
            default
        })
    }

    pub(super) fn duration(&mut self, key: &'static str, range: RangeInclusive<Duration>) -> Option<Duration> {
        let wanted = format!(
            "a duration from {} to {}, such as \"30s\" or \"5m\"",
            written(*range.start()),
            written(*range.end())
        );
        let (duration, origin) = self.take(key, &wanted, |spot| values::duration(&spot.value).filter(|d| range.contains(d)))?;
        self.note(key, format!("{:?}", written(duration)), origin);
        Some(duration)
    }

    pub(super) fn duration_or(&mut self, key: &'static str, default: Duration, range: RangeInclusive<Duration>) -> Duration {
        self.duration(key, range).unwrap_or_else(|| {
            self.note(key, format!("{:?}", written(default)), Origin::Default);
            default
        })
    }

    pub(super) fn switch_or(&mut self, key: &'static str, default: bool) -> bool {
        let taken = self.take(key, "true or false", |spot| values::switch(&spot.value));
        let (switch, origin) = taken.unwrap_or((default, Origin::Default));
        self.note(key, switch.to_string(), origin);
        switch
    }

    /// A list of texts, each checked; a single text counts as a list of one. `None` when the key is not there.
    pub(super) fn list(&mut self, key: &'static str, wanted: &str, check: impl Fn(&str) -> Result<(), Error>) -> Option<Vec<String>> {
        let taken = self.take(key, wanted, |spot| {
            let items = match &spot.value {
                Value::Text(_) => vec![spot.clone()],
                _ => values::list(spot)?,
            };
            let text = |item: &Spot| Some((values::text(&item.value)?.to_owned(), item.origin.clone()));
            items.iter().map(text).collect::<Option<Vec<_>>>()
        });
        let (items, origin) = taken?;
        let path = self.key(key);
        for (item, origin) in &items {
            if let Err(error) = check(item) {
                self.say(origin, path.clone(), error.to_string());
            }
        }
        let texts: Vec<String> = items.into_iter().map(|(item, _)| item).collect();
        self.note(key, format!("{texts:?}"), origin);
        Some(texts)
    }

    /// Names, each once, at least one.
    pub(super) fn names_or(
        &mut self,
        key: &'static str,
        default: &[&str],
        most: usize,
        check: impl Fn(&str) -> Result<(), Error>,
    ) -> Vec<String> {
        let wanted = format!("1 to {most} names in a list, such as [\"urgent\", \"default\"]");
        let absent = !self.has(key);
        match self.list(key, &wanted, check) {
            Some(names) => {
                if names.is_empty() || names.len() > most {
                    self.refuse::<()>(key, format!("{} names are not allowed: it takes {wanted}", names.len()));
                }
                if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
                    self.refuse::<()>(key, format!("{:?} stands there twice: each name once", twice.1));
                }
                names
            }
            None => {
                if absent {
                    self.note(key, format!("{default:?}"), Origin::Default);
                }
                default.iter().map(|name| (*name).to_owned()).collect()
            }
        }
    }

    /// A table from the user's own names to texts.
    pub(super) fn texts(&mut self, name: &'static str) -> BTreeMap<String, String> {
        self.known.push(name);
        let spot = self.table.remove(name);
        let mut section = self.inner(name, spot, true);
        let mut texts = BTreeMap::new();
        for (key, spot) in std::mem::take(&mut section.table) {
            match values::text(&spot.value) {
                Some(text) => {
                    section.note(&key, format!("{text:?}"), spot.origin.clone());
                    texts.insert(key, text.to_owned());
                }
                None => {
                    let path = section.key(&key);
                    section.say(
                        &spot.origin,
                        path,
                        format!("{} is not allowed: it takes text in quotes", kind(&spot.value)),
                    );
                }
            }
        }
        texts
    }

    /// Says what stands in the section that nobody took.
    pub(super) fn finish(mut self) {
        if self.open {
            return;
        }
        for (key, spot) in std::mem::take(&mut self.table) {
            let near = |known: &&&str| strsim::damerau_levenshtein(&key, known) <= key.len().max(known.len()) / 2;
            let nearest = self
                .known
                .iter()
                .filter(near)
                .min_by_key(|known| strsim::damerau_levenshtein(&key, known));
            let advice = match nearest {
                Some(nearest) => format!("the nearest is `{nearest}`"),
                None => format!("there are {}", self.known.join(", ")),
            };
            let what = if matches!(spot.value, Value::Table(_)) { "section" } else { "key" };
            let path = self.key(&key);
            self.say(&spot.origin, path, format!("there is no such {what}; {advice}"));
        }
    }
}
