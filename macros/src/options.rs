//! The options of `#[task(..)]` and `#[job(..)]`: read, then held against each other.

mod read;

pub(crate) use read::check_name;

use std::collections::HashMap;
use std::time::Duration;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{LitStr, Type};

use crate::entries::{self, Entry};
use crate::errors::Errors;
use crate::nearest::nearest;

/// Options of the job: what a producer needs.
const JOB_SIDE: [&str; 11] = [
    "name",
    "queue",
    "priority",
    "lock",
    "singleton",
    "on_busy",
    "wait_timeout",
    "crash_limit",
    "unique",
    "unique_for",
    "expires_in",
];
/// Options of the handler: what a worker needs.
const HANDLER_SIDE: [&str; 7] = ["also", "retries", "backoff", "timeout", "cron", "tz", "every"];
/// Options that bind a handler to its job.
const BINDING: [&str; 2] = ["job", "for"];

/// Which attribute the options stand in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `#[task(..)]` on a function.
    Task,
    /// `#[job(..)]` on a struct that derives `Job`.
    Job,
}

/// Every option as given; `None` where it was not, or wrongly.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) also: Vec<LitStr>,
    pub(crate) job: Option<Ident>,
    pub(crate) for_job: Option<Type>,
    pub(crate) queue: Option<LitStr>,
    pub(crate) priority: Option<Priority>,
    pub(crate) locks: Vec<LitStr>,
    pub(crate) singleton: bool,
    pub(crate) on_busy: Option<OnBusy>,
    pub(crate) wait_timeout: Option<Duration>,
    pub(crate) retries: Option<u32>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) crash_limit: Option<u32>,
    pub(crate) unique: Option<LitStr>,
    pub(crate) unique_for: Option<Duration>,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) cron: Option<LitStr>,
    pub(crate) tz: Option<LitStr>,
    pub(crate) every: Option<LitStr>,
    given: HashMap<String, Ident>,
}

/// A queue's priorities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    High,
    Normal,
    Low,
}

/// What happens when a lock is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBusy {
    Wait,
    Skip,
    Fail,
    Snooze(Duration),
}

/// Delays between charged attempts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    pub(crate) first: Duration,
    pub(crate) cap: Option<Duration>,
}

impl Options {
    /// Reads the options of an attribute, noting every mistake.
    pub(crate) fn parse(tokens: TokenStream, place: Place, errors: &mut Errors) -> Self {
        let entries = entries::split(tokens, errors);
        let elsewhere = place == Place::Task && entries.iter().any(|entry| entry.key == "for");
        let mut options = Self::default();
        for entry in entries {
            if !options.belongs(&entry, place, elsewhere, errors) {
                continue;
            }
            if options.given.insert(entry.key.clone(), entry.name.clone()).is_some() {
                errors.on(&entry.name, format!("`{}` is given twice", entry.key));
                continue;
            }
            if let Err(error) = options.read(&entry, errors) {
                errors.absorb(error);
            }
        }
        options.relate(errors);
        if options.job.is_some() {
            options.for_job = None;
        }
        options
    }

    /// Whether the option exists and may stand here.
    fn belongs(&self, entry: &Entry, place: Place, elsewhere: bool, errors: &mut Errors) -> bool {
        let key = entry.key.as_str();
        let job_side = JOB_SIDE.contains(&key);
        if !job_side && !HANDLER_SIDE.contains(&key) && !BINDING.contains(&key) {
            errors.on(&entry.name, unknown(key, place));
        } else if place == Place::Job && !job_side {
            let to = if BINDING.contains(&key) {
                format!("`{key}` stands in `#[task(..)]` on the handler")
            } else {
                format!("`{key}` belongs to the handler: write it in `#[task(for = .., {key} = ..)]`")
            };
            errors.on(&entry.name, to);
        } else if elsewhere && job_side {
            let option = if key == "singleton" {
                key.to_string()
            } else {
                format!("{key} = ..")
            };
            errors.on(
                &entry.name,
                format!("`{key}` belongs to the job, which is defined elsewhere: write `#[job({option})]` on its struct"),
            );
        } else {
            return true;
        }
        false
    }

    /// Holds the options against each other.
    fn relate(&self, errors: &mut Errors) {
        let mut refuse = |key: &str, message: &str| errors.on(&self.given[key], message);
        let has = |key: &str| self.given.contains_key(key);
        if has("job") && has("for") {
            refuse("job", "`job` names a new struct and `for` one that exists: give one of them");
        }
        if has("singleton") && has("lock") {
            refuse(
                "singleton",
                "`singleton` is a lock of its own: give `singleton` or `lock`, not both",
            );
        }
        let locked = has("lock") || has("singleton");
        if has("on_busy") && !locked {
            refuse(
                "on_busy",
                "`on_busy` needs a lock that can be busy: add `lock = \"..\"` or `singleton`",
            );
        }
        if has("wait_timeout") && !locked {
            refuse(
                "wait_timeout",
                "`wait_timeout` needs a lock to wait for: add `lock = \"..\"` or `singleton`",
            );
        } else if has("wait_timeout") && self.on_busy.is_some_and(|on_busy| on_busy != OnBusy::Wait) {
            refuse("wait_timeout", "`wait_timeout` needs `on_busy = wait`: the others never wait");
        }
        if has("every") && has("cron") {
            refuse("every", "`every` and `cron` both say when it ticks: give one of them");
        } else if has("tz") && has("every") {
            refuse("tz", "`every` counts from 1970 in UTC: use `cron` for the time of a place");
        } else if has("tz") && !has("cron") {
            refuse("tz", "`tz` is the zone of a crontab line: add `cron = \"..\"`");
        }
        if has("unique_for") && !has("unique") {
            refuse(
                "unique_for",
                "`unique_for` says how long a unique key is held: add `unique = \"..\"`",
            );
        }
    }

    /// The tokens of an option's name, to report on; `other` where it was not given.
    pub(crate) fn place_of(&self, key: &str, other: impl ToTokens) -> TokenStream {
        self.given
            .get(key)
            .map_or_else(|| other.to_token_stream(), ToTokens::to_token_stream)
    }
}

fn unknown(key: &str, place: Place) -> String {
    let all: Vec<&str> = match place {
        Place::Task => JOB_SIDE.into_iter().chain(HANDLER_SIDE).chain(BINDING).collect(),
        Place::Job => JOB_SIDE.to_vec(),
    };
    match nearest(key, all.iter().copied()) {
        Some(near) => format!("unknown option `{key}`: did you mean `{near}`?"),
        None => format!("unknown option `{key}`: the options are {}", all.join(", ")),
    }
}
