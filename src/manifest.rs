//! What a task's workers tell others of it: the manifest, by which a job can be enqueued by name, without Rust.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Invalid};
use crate::job::{JobSpec, Kind};
use crate::store::new_job::{OnBusy, Priority};
use crate::template::Template;

/// The version that this release writes. Readers take any and ignore what they do not know.
pub const VERSION: u32 = 1;

/// A task as its workers describe it. In the store it is one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this format.
    pub version: u32,
    /// Former names whose jobs it still runs.
    #[serde(default)]
    pub also: Vec<String>,
    /// Its arguments, in order.
    #[serde(default)]
    pub args: Vec<Arg>,
    /// Its queue.
    pub queue: String,
    /// Its priority: 0 high, 1 normal, 2 low.
    pub priority: u8,
    /// Its lock templates.
    #[serde(default)]
    pub locks: Vec<String>,
    /// `wait`, `skip`, `fail` or `snooze` with milliseconds behind a blank.
    pub on_busy: String,
    /// How long a job may be parked.
    #[serde(default)]
    pub wait_timeout_ms: Option<u64>,
    /// Its unique template.
    #[serde(default)]
    pub unique: Option<String>,
    /// How long the unique key is held; for the job's life where it is missing.
    #[serde(default)]
    pub unique_for_ms: Option<u64>,
    /// After how long a job that was not started is buried.
    #[serde(default)]
    pub expires_in_ms: Option<u64>,
    /// Crashes after which a job is buried.
    pub crash_limit: u32,
    /// Charged retries. For people: workers have their own.
    #[serde(default)]
    pub retries: u32,
    /// How long an attempt may take. For people: workers have their own.
    #[serde(default)]
    pub timeout_ms: u64,
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// What it may be.
    pub kind: Kind,
    /// Whether it may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl Manifest {
    pub(crate) fn of(job: &JobSpec, also: &[&str], retries: u32, timeout: Duration) -> Self {
        let ms = |duration: Duration| duration.as_millis() as u64;
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            version: VERSION,
            also: owned(also),
            args: job
                .fields
                .iter()
                .map(|field| Arg {
                    name: field.name.to_owned(),
                    kind: field.kind,
                    optional: field.optional,
                })
                .collect(),
            queue: job.queue.to_owned(),
            priority: job.priority.digit() as u8 - b'0',
            locks: owned(job.locks),
            on_busy: match job.on_busy {
                OnBusy::Wait => "wait".to_owned(),
                OnBusy::Skip => "skip".to_owned(),
                OnBusy::Fail => "fail".to_owned(),
                OnBusy::Snooze(delay) => format!("snooze {}", ms(delay)),
            },
            wait_timeout_ms: job.wait_timeout.map(ms),
            unique: job.unique.map(str::to_owned),
            unique_for_ms: job.unique_for.map(ms),
            expires_in_ms: job.expires_in.map(ms),
            crash_limit: job.crash_limit,
            retries,
            timeout_ms: ms(timeout),
        }
    }

    /// One line of JSON.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What `on_busy` says; waiting for a word of a later release.
    pub(crate) fn on_busy(&self) -> OnBusy {
        match self.on_busy.split_once(' ') {
            Some(("snooze", ms)) => OnBusy::Snooze(Duration::from_millis(ms.parse().unwrap_or(1))),
            _ if self.on_busy == "skip" => OnBusy::Skip,
            _ if self.on_busy == "fail" => OnBusy::Fail,
            _ => OnBusy::Wait,
        }
    }

    pub(crate) fn priority(&self) -> Priority {
        Priority::from_digit(b'0'.saturating_add(self.priority)).unwrap_or_default()
    }

    /// Says everything in which arguments differ from what the task takes; each entry names an argument.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn check(&self, task: &str, args: &Map<String, Value>) -> Result<(), Error> {
        let takes = || match self.args.is_empty() {
            true => format!("task `{task}` takes none"),
            false => {
                let all: Vec<String> = self.args.iter().map(|arg| format!("{} ({})", arg.name, arg.kind)).collect();
                format!("task `{task}` takes {}", all.join(", "))
            }
        };
        let mut problems = Vec::new();
        for (name, value) in args {
            match self.args.iter().find(|arg| arg.name == *name) {
                None => problems.push(Invalid::new("argument", name, format!("no such argument: {}", takes()))),
                Some(arg) if value.is_null() && arg.optional => {}
                Some(arg) if !arg.kind.admits(value) => {
                    problems.push(Invalid::new(
                        "argument",
                        name,
                        format!("{} is no {}: {}", what(value), arg.kind, takes()),
                    ));
                }
                Some(_) => {}
            }
        }
        for arg in self.args.iter().filter(|arg| !arg.optional && !args.contains_key(&arg.name)) {
            problems.push(Invalid::new("argument", &arg.name, format!("it is missing: {}", takes())));
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid(problems))
        }
    }
}

/// A value as messages name it: never its contents, which may be private.
fn what(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number written as a fraction or with an exponent",
        Value::Number(number) if number.is_i64() && !number.is_u64() => "a negative number",
        Value::Number(_) => "a number",
        Value::String(text) if text.contains('\0') => "text with NUL",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Renders a key template from arguments, as the code of `#[task]` does from fields.
///
/// # Errors
/// [`Error::Invalid`] that names the argument which is missing or has no text form.
pub(crate) fn render(template: &str, args: &Map<String, Value>) -> Result<String, Error> {
    let parsed = Template::parse(template).map_err(|mistakes| Invalid::new("template", template, mistakes.join("; ")))?;
    let text = |name: &str| match args.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(switch) => Some(switch.to_string()),
        // as Rust prints it: 1.0 is `1`
        Value::Number(number) if number.is_f64() => number.as_f64().map(|number| number.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let missing = |name: &str| {
        Invalid::new(
            "argument",
            name,
            format!("text, a number, true or false: it stands in the key `{template}`"),
        )
    };
    Ok(parsed.render(text).map_err(missing)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(json: Value) -> Map<String, Value> {
        json.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn keys_are_rendered_as_rust_prints_the_fields() {
        let args = args(serde_json::json!({"s": "a b", "n": -3, "big": u64::MAX, "f": 1.0, "t": 0.25, "b": true, "l": [1]}));
        for (template, key) in [
            ("k:{s}", "k:a b"),
            ("{n}/{big}", &format!("{}/{}", -3i64, u64::MAX) as &str),
            ("{f} {t}", &format!("{} {}", 1.0f64, 0.25f64)),
            ("{b}", "true"),
        ] {
            assert_eq!(render(template, &args).expect(template), key);
        }
        assert!(render("{l}", &args).expect_err("a list").to_string().contains("\"l\""));
        assert!(render("{gone}", &args).expect_err("missing").to_string().contains("\"gone\""));
    }
}
