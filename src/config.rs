//! The configuration of a worker process: a TOML file, and environment variables over it.
//!
//! Every problem is found at once, each with its file, line and key, and what is allowed there. The library reads no environment by
//! itself: whoever loads hands it over.
//!
//! ```
//! use linchpin::config::Config;
//!
//! let text = "[store]\nurl = \"memory://\"\n[worker]\nconcurrency = 50\n";
//! let environment = [("LINCHPIN__WORKER__LEASE".to_owned(), "30s".to_owned())];
//! let config = Config::parse("config.toml", text, environment)?;
//! assert_eq!(config.worker.concurrency, 50);
//! assert_eq!(config.worker.lease.as_secs(), 30);
//!
//! let problems = Config::parse("config.toml", "[worker]\nconcurency = 50\n", []).unwrap_err();
//! assert_eq!(problems.to_string(), "config.toml:2: worker.concurency: there is no such key; the nearest is `concurrency`");
//! # Ok::<(), linchpin::config::Problems>(())
//! ```

mod document;
mod problem;
mod schedules;
mod section;
mod tasks;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits::{
    CONCURRENCY, CONCURRENCY_MAX, LEASE, LEASE_MAX, LEASE_MIN, MISMATCH_WINDOW, NAMESPACE, QUEUE, QUEUES_MAX, SHUTDOWN_GRACE, WINDOW_MAX,
};
use crate::names::{Namespace, QueueName};
use crate::schedule::Schedule;
use document::Document;
use section::Section;

pub use problem::{Problem, Problems};
pub use section::{Origin, Setting};
pub use tasks::{CommandTask, TaskConfig, TaskOverrides};

/// What begins the name of an environment variable that sets a key; sections and keys follow, each behind `__`.
pub const ENVIRONMENT_PREFIX: &str = "LINCHPIN__";

/// Everything that can be configured.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where jobs live.
    pub store: StoreConfig,
    /// How the worker works.
    pub worker: WorkerConfig,
    /// What is logged.
    pub log: LogConfig,
    /// Tasks by name: commands to run, or other limits for tasks that are compiled in.
    pub tasks: BTreeMap<String, TaskConfig>,
    /// `[[schedules]]`: jobs that come due by themselves.
    pub schedules: Vec<Schedule>,
    settings: Vec<Setting>,
}

/// `[store]`
#[derive(Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// `url`, or the contents of the file that `url_file` names. There is no default.
    pub url: Option<String>,
    /// `namespace`: everything of one installation. Default `linchpin`.
    pub namespace: String,
    /// `redisson`: locks are shared with Java programs that use Redisson. Default no.
    pub redisson: bool,
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConfig")
            .field("url", &self.url.as_deref().map(crate::store::redacted))
            .field("namespace", &self.namespace)
            .field("redisson", &self.redisson)
            .finish()
    }
}

/// `[worker]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// `queues`, the first is emptied first. Default `default` alone.
    pub queues: Vec<String>,
    /// `concurrency`: attempts at once, 1 to 10,000. Default 20.
    pub concurrency: usize,
    /// `lease`: how long a claim goes on without renewing, 1 s to 1 h. Default 15 s.
    pub lease: Duration,
    /// `shutdown_grace`: how long a stopping worker waits for handlers, up to a day. Default 25 s.
    pub shutdown_grace: Duration,
    /// `mismatch_window`: how long jobs that nobody here understands go back uncharged, up to a day. Default 15 min.
    pub mismatch_window: Duration,
    /// `attempts_log`: whether attempts are recorded in the store. Default yes.
    pub attempts_log: bool,
    /// `[worker.labels]`: for people, for example the data centre.
    pub labels: BTreeMap<String, String>,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// `level`: `error`, `warn`, `info`, `debug`, `trace` or `off`, also per module (`info,linchpin=debug`). Default `info`.
    pub level: String,
    /// `format`. Default `text`.
    pub format: LogFormat,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Config {
    /// Reads a file and the environment over it; without a file the defaults and the environment alone.
    ///
    /// # Errors
    /// [`Problems`]: all of them.
    pub fn load(file: Option<&Path>, environment: impl IntoIterator<Item = (String, String)>) -> Result<Self, Problems> {
        let Some(path) = file else {
            return Self::parse("environment", "", environment);
        };
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&name, &text, environment),
            Err(error) => Err(Problem::of_file(
                &name,
                format!("it cannot be read ({error}): name a TOML file that this user may read"),
            )
            .into()),
        }
    }

    /// Reads the text of a file called `name` in messages, and the environment over it.
    ///
    /// # Errors
    /// [`Problems`]: all of them.
    pub fn parse(name: &str, text: &str, environment: impl IntoIterator<Item = (String, String)>) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let mut document = Document::parse(name, text, &mut problems);
        document.overlay(environment, &mut problems);
        let mut settings = Vec::new();
        let mut root = Section::root(document, &mut problems, &mut settings);
        let (store, worker, log) = (store(&mut root), worker(&mut root), log(&mut root));
        let config = Self {
            store,
            tasks: tasks::read(&mut root, worker.lease),
            schedules: schedules::read(&mut root),
            worker,
            log,
            settings: Vec::new(),
        };
        root.finish();
        match problems.is_empty() {
            true => Ok(Self { settings, ..config }),
            false => Err(problems),
        }
    }

    /// Sets the store and namespace as flags of a command line do: before everything else.
    pub fn set(&mut self, url: Option<&str>, namespace: Option<&str>) {
        let told = |key: &str, value: String| Setting {
            key: key.to_owned(),
            value: format!("{value:?}"),
            origin: Origin::Flag,
        };
        if let Some(url) = url {
            self.store.url = Some(url.to_owned());
            self.settings.retain(|setting| !setting.key.starts_with("store.url"));
            self.settings.insert(0, told("store.url", crate::store::redacted(url)));
        }
        if let Some(namespace) = namespace {
            self.store.namespace = namespace.to_owned();
            self.settings.retain(|setting| setting.key != "store.namespace");
            self.settings.insert(0, told("store.namespace", namespace.to_owned()));
        }
    }

    /// Every setting with its value and where that comes from, in the order of the file; passwords are left out.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }
}

fn store(root: &mut Section<'_>) -> StoreConfig {
    let mut section = root.section("store");
    let inline = section.secret("url");
    let file: Option<PathBuf> = section.text("url_file").map(PathBuf::from);
    let url = match (inline, file) {
        (Some(_), Some(_)) => section.refuse("url_file", "`url` is set too: keep one of the two"),
        (inline, None) => inline,
        (None, Some(path)) => match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => {
                section.refuse("url_file", format!("{} is empty: it holds the store's URL", path.display()))
            }
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) => section.refuse(
                "url_file",
                format!("{} cannot be read ({error}): name a file that this user may read", path.display()),
            ),
        },
    };
    let namespace = section.text_or("namespace", NAMESPACE, |name| Namespace::new(name).map(|_| ()));
    let redisson = section.switch_or("redisson", false);
    if redisson && url.as_deref().is_some_and(|url| url.starts_with("memory:")) {
        section.refuse::<()>(
            "redisson",
            "the store is memory://, whose locks nobody else sees: name a Redis server, or leave it out",
        );
    }
    section.finish();
    StoreConfig { url, namespace, redisson }
}

fn worker(root: &mut Section<'_>) -> WorkerConfig {
    let mut section = root.section("worker");
    let worker = WorkerConfig {
        queues: section.names_or("queues", &[QUEUE], QUEUES_MAX, |name| QueueName::new(name).map(|_| ())),
        concurrency: section.number_or("concurrency", CONCURRENCY as u64, 1..=CONCURRENCY_MAX as u64) as usize,
        lease: section.duration_or("lease", LEASE, LEASE_MIN..=LEASE_MAX),
        shutdown_grace: section.duration_or("shutdown_grace", SHUTDOWN_GRACE, Duration::ZERO..=WINDOW_MAX),
        mismatch_window: section.duration_or("mismatch_window", MISMATCH_WINDOW, Duration::ZERO..=WINDOW_MAX),
        attempts_log: section.switch_or("attempts_log", true),
        labels: section.texts("labels"),
    };
    section.finish();
    worker
}

fn log(root: &mut Section<'_>) -> LogConfig {
    let mut section = root.section("log");
    let level = section.text_or("level", "info", |level| match level.trim().is_empty() {
        true => Err(crate::Error::from(crate::Invalid::new(
            "level",
            level,
            "error, warn, info, debug, trace or off",
        ))),
        false => Ok(()),
    });
    let format = match section.choice_or("format", &["text", "json"]) {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    };
    section.finish();
    LogConfig { level, format }
}
