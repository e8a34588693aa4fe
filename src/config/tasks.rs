//! `[tasks.*]`: commands that are tasks, and other limits for tasks that are compiled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::section::Section;
use crate::error::{Error, Invalid};
use crate::job::Kind;
use crate::limits::{BACKOFF_CAP, BACKOFF_FIRST, CRASH_LIMIT, DELAY_MAX, LOCK_KEYS_MAX, QUEUE, RETRIES, TIMEOUT};
use crate::names::{QueueName, TaskName};
use crate::retry::Backoff;
use crate::store::new_job::{OnBusy, Priority};
use crate::template::Template;

pub(super) const TICK: Duration = Duration::from_millis(1);
pub(super) const RETRIES_MAX: u64 = 1_000_000;
const CRASH_LIMIT_MAX: u64 = 1000;
const KILL_GRACE: Duration = Duration::from_secs(5);

/// One `[tasks.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskConfig {
    /// It has `exec`: its jobs run a command.
    Command(Box<CommandTask>),
    /// It is compiled into the binary, with other limits.
    Overrides(TaskOverrides),
}

/// Other limits for a task that is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskOverrides {
    /// `retries`.
    pub retries: Option<u32>,
    /// `timeout`.
    pub timeout: Option<Duration>,
    /// `backoff`, with `backoff_cap`.
    pub backoff: Option<Backoff>,
}

/// A task whose jobs run a command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTask {
    /// `exec`: the program and its arguments, each a template and each one whole argument. No shell reads them.
    pub exec: Vec<Template>,
    /// `args`: the job's arguments by name.
    pub args: BTreeMap<String, Kind>,
    /// `lock`: templates of the keys its attempts run under, as they were written.
    pub lock: Vec<String>,
    /// `on_busy`. Default wait.
    pub on_busy: OnBusy,
    /// `wait_timeout`. Default for ever.
    pub wait_timeout: Option<Duration>,
    /// `queue`. Default `default`.
    pub queue: String,
    /// `priority`. Default normal.
    pub priority: Priority,
    /// `retries`. Default 10.
    pub retries: u32,
    /// `backoff` and `backoff_cap`. Default 15 s, up to 1 h.
    pub backoff: Backoff,
    /// `timeout`. Default 30 min.
    pub timeout: Duration,
    /// `kill_grace`: how long the command's process group may go on after SIGTERM before SIGKILL, up to half of the
    /// lease. Default 5 s, or that half where it is shorter.
    pub kill_grace: Duration,
    /// `crash_limit`. Default 3.
    pub crash_limit: u32,
    /// `unique`: template of the job's own identity, as it was written.
    pub unique: Option<String>,
    /// `unique_for`. Default for the job's life.
    pub unique_for: Option<Duration>,
    /// `expires_in`. Default never.
    pub expires_in: Option<Duration>,
    /// `env`: environment variables of the worker that the command gets. Default none.
    pub env: Vec<String>,
    /// `directory`: where the command runs. Default the worker's own.
    pub directory: Option<PathBuf>,
}

pub(super) fn read(root: &mut Section<'_>, lease: Duration) -> BTreeMap<String, TaskConfig> {
    let mut tasks = BTreeMap::new();
    root.each("tasks", |name, mut section| {
        if let Err(error) = TaskName::new(name) {
            section.refuse_here(error.to_string());
        }
        let task = match section.has("exec") {
            true => TaskConfig::Command(Box::new(command(name, &mut section, lease))),
            false => TaskConfig::Overrides(overrides(&mut section)),
        };
        section.finish();
        tasks.insert(name.to_owned(), task);
    });
    tasks
}

fn overrides(section: &mut Section<'_>) -> TaskOverrides {
    for key in [
        "args",
        "lock",
        "singleton",
        "on_busy",
        "wait_timeout",
        "queue",
        "priority",
        "crash_limit",
        "unique",
        "unique_for",
        "expires_in",
        "env",
        "directory",
        "kill_grace",
    ] {
        if section.has(key) {
            section.drop_key(
                key,
                "only a task with `exec` has it here; for a task that is compiled in it stands in `#[task(..)]`",
            );
        }
    }
    let first = section.duration("backoff", TICK..=DELAY_MAX);
    let cap = section.duration("backoff_cap", TICK..=DELAY_MAX);
    let backoff = (first.is_some() || cap.is_some()).then(|| Backoff {
        first: first.unwrap_or(BACKOFF_FIRST),
        cap: cap.unwrap_or(BACKOFF_CAP),
    });
    TaskOverrides {
        retries: section.number("retries", 0..=RETRIES_MAX).map(|n| n as u32),
        timeout: section.duration("timeout", TICK..=DELAY_MAX),
        backoff,
    }
}

fn command(name: &str, section: &mut Section<'_>, lease: Duration) -> CommandTask {
    // beyond a lease a task that does not stop is given up, and another attempt could run beside its command
    let grace_max = lease / 2;
    let args = args(section);
    let exec = exec(section, &args);
    let mut lock = templates(section, "lock", LOCK_KEYS_MAX, &args);
    if section.switch_or("singleton", false) {
        match lock.is_empty() {
            true => lock.push(format!("singleton:{name}")),
            false => section
                .refuse("singleton", "`lock` is set too: keep one of the two")
                .unwrap_or_default(),
        }
    }
    let unique = templates(section, "unique", 1, &args).pop();
    let env = section
        .list(
            "env",
            "names of environment variables in a list, such as [\"PATH\"]",
            |name| match name.is_empty() || name.contains(['=', '\0']) {
                true => Err(Invalid::new(
                    "name",
                    name,
                    "an environment variable's name: the value comes from the worker's own environment",
                )
                .into()),
                false => Ok(()),
            },
        )
        .unwrap_or_default();
    let task = CommandTask {
        exec,
        args,
        lock,
        on_busy: on_busy(section),
        wait_timeout: section.duration("wait_timeout", TICK..=DELAY_MAX),
        queue: section.text_or("queue", QUEUE, |name| QueueName::new(name).map(|_| ())),
        priority: priority(section),
        retries: section.number_or("retries", RETRIES.into(), 0..=RETRIES_MAX) as u32,
        backoff: Backoff {
            first: section.duration_or("backoff", BACKOFF_FIRST, TICK..=DELAY_MAX),
            cap: section.duration_or("backoff_cap", BACKOFF_CAP, TICK..=DELAY_MAX),
        },
        timeout: section.duration_or("timeout", TIMEOUT, TICK..=DELAY_MAX),
        kill_grace: section.duration_or("kill_grace", KILL_GRACE.min(grace_max), Duration::ZERO..=grace_max),
        crash_limit: section.number_or("crash_limit", CRASH_LIMIT.into(), 1..=CRASH_LIMIT_MAX) as u32,
        unique,
        unique_for: section.duration("unique_for", TICK..=DELAY_MAX),
        expires_in: section.duration("expires_in", TICK..=DELAY_MAX),
        env,
        directory: section.text("directory").map(PathBuf::from),
    };
    if task.unique_for.is_some() && task.unique.is_none() {
        section.refuse::<()>("unique_for", "there is no `unique`: a key that is kept needs its template");
    }
    task
}

fn args(section: &mut Section<'_>) -> BTreeMap<String, Kind> {
    let mut args = BTreeMap::new();
    let words = Kind::NAMED.map(|kind| format!("\"{kind}\"")).join(", ");
    for (name, word) in section.texts("args") {
        let is_name =
            !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name {
            section.refuse::<()>(
                &format!("args.{name}"),
                "an argument's name is letters, digits and `_`, no digit first",
            );
        }
        match Kind::from_word(&word) {
            Some(kind) => drop(args.insert(name, kind)),
            None => drop(section.refuse::<()>(
                &format!("args.{name}"),
                format!("{word:?} is no kind of argument: it takes {words}"),
            )),
        }
    }
    args
}

fn exec(section: &mut Section<'_>, args: &BTreeMap<String, Kind>) -> Vec<Template> {
    let wanted = "a program and its arguments in a list, such as [\"/app/decrement\", \"--sku\", \"{sku}\"]";
    let Some(words) = section.list("exec", wanted, |_| Ok(())) else {
        return Vec::new();
    };
    if words.first().is_none_or(|program| program.is_empty()) {
        section.refuse::<()>("exec", format!("it names no program: it takes {wanted}"));
    }
    let mut templates = Vec::new();
    for (i, word) in words.iter().enumerate() {
        match checked(word, args) {
            Ok(template) if i == 0 && template.fields().next().is_some() => {
                section.refuse::<()>("exec", "the program is fixed: a job carries data only and selects no program");
            }
            Ok(template) => templates.push(template),
            Err(mistakes) => drop(section.refuse::<()>("exec", format!("{word:?}: {}", mistakes.join("; ")))),
        }
        if word.contains('\0') {
            section.refuse::<()>("exec", format!("{word:?} holds NUL, which no argument of a process can"));
        }
    }
    templates
}

/// Templates that render to keys.
fn templates(section: &mut Section<'_>, key: &'static str, most: usize, args: &BTreeMap<String, Kind>) -> Vec<String> {
    let wanted = match most {
        1 => "a template in quotes, such as \"order:{order}\"".to_owned(),
        _ => format!("a template such as \"inventory:{{sku}}\", or up to {most} of them in a list"),
    };
    let texts = section.list(key, &wanted, |text| match text.is_empty() {
        true => Err(Error::from(Invalid::new("template", text, "at least one character"))),
        false => Ok(()),
    });
    let texts = texts.unwrap_or_default();
    if texts.len() > most {
        section.refuse::<()>(key, format!("{} of them are not allowed: it takes {wanted}", texts.len()));
    }
    for (i, text) in texts.iter().enumerate() {
        if texts[..i].contains(text) {
            section.refuse::<()>(key, format!("{text:?} is named twice"));
        }
        if let Err(mistakes) = checked(text, args) {
            section.refuse::<()>(key, format!("{text:?}: {}", mistakes.join("; ")));
        }
    }
    texts
}

fn checked(text: &str, args: &BTreeMap<String, Kind>) -> Result<Template, Vec<String>> {
    let template = Template::parse(text)?;
    let unknown: Vec<String> = template
        .fields()
        .filter(|field| !args.contains_key(*field))
        .map(|field| match args.is_empty() {
            true => format!("`{{{field}}}` names no argument: `args` declares none"),
            false => format!(
                "`{{{field}}}` names no argument: `args` declares {}",
                args.keys().cloned().collect::<Vec<_>>().join(", ")
            ),
        })
        .collect();
    if unknown.is_empty() { Ok(template) } else { Err(unknown) }
}

fn on_busy(section: &mut Section<'_>) -> OnBusy {
    let wanted = "\"wait\", \"skip\", \"fail\" or \"snooze 5s\"";
    let text = section.text("on_busy");
    let snooze = |text: &str| {
        humantime::parse_duration(text.strip_prefix("snooze ")?.trim())
            .ok()
            .filter(|d| (TICK..=DELAY_MAX).contains(d))
    };
    match text.as_deref() {
        None | Some("wait") => OnBusy::Wait,
        Some("skip") => OnBusy::Skip,
        Some("fail") => OnBusy::Fail,
        Some(text) => snooze(text)
            .map(OnBusy::Snooze)
            .or_else(|| section.refuse("on_busy", format!("{text:?} is not allowed: it takes {wanted}")))
            .unwrap_or_default(),
    }
}

pub(super) fn priority(section: &mut Section<'_>) -> Priority {
    match section.choice_or("priority", &["normal", "high", "low"]) {
        "high" => Priority::High,
        "low" => Priority::Low,
        _ => Priority::Normal,
    }
}
