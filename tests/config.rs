//! A configuration is right or says everything that is wrong, each with its file, line and key.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use linchpin::config::{Config, LogFormat, Origin, Problems, TaskConfig};
use linchpin::job::Kind;
use linchpin::limits;
use linchpin::retry::Backoff;
use linchpin::store::new_job::{OnBusy, Priority};

fn parse(text: &str) -> Result<Config, Problems> {
    Config::parse("config.toml", text, [])
}

fn with_environment(text: &str, variables: &[(&str, &str)]) -> Result<Config, Problems> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::parse("config.toml", text, variables)
}

/// The file in the repository.
const FILE: &str = include_str!("../config.toml");

#[test]
fn the_file_in_the_repository_holds_every_key_at_its_default() {
    let file = parse(FILE).unwrap();
    let bare = parse("[tasks.decrement]\nexec = [\"echo\"]\n").unwrap();
    assert_eq!(file.store.url.as_deref(), Some("memory://"));
    assert_eq!(
        (&file.store.namespace, &file.worker, &file.log),
        (&bare.store.namespace, &bare.worker, &bare.log)
    );
    let (TaskConfig::Command(written), TaskConfig::Command(plain)) = (&file.tasks["decrement"], &bare.tasks["decrement"]) else {
        panic!("two commands")
    };
    // what the example needs differs, everything else is at its default
    let mut written = written.clone();
    assert_eq!(written.args.len(), 2);
    (written.exec, written.args) = (plain.exec.clone(), plain.args.clone());
    (written.lock, written.env) = (plain.lock.clone(), plain.env.clone());
    assert_eq!(written, *plain);

    // every key that the code reads stands in the file, if only commented out
    for setting in file.settings().iter().chain(bare.settings()) {
        let key = setting.key.rsplit('.').next().unwrap();
        assert!(FILE.contains(&format!("{key} = ")), "{} is not in config.toml", setting.key);
    }
    for optional in ["url_file", "wait_timeout", "unique", "unique_for", "expires_in", "directory"] {
        assert!(FILE.contains(&format!("# {optional} = ")), "{optional} is not in config.toml");
    }
}

#[test]
fn defaults_are_those_of_the_code() {
    let config = parse("").unwrap();
    assert_eq!(config.store.url, None, "there is no default store");
    assert_eq!(config.store.namespace, limits::NAMESPACE);
    let worker = &config.worker;
    assert_eq!(worker.queues, [limits::QUEUE]);
    assert_eq!(
        (worker.concurrency, worker.lease, worker.shutdown_grace, worker.mismatch_window),
        (limits::CONCURRENCY, limits::LEASE, limits::SHUTDOWN_GRACE, limits::MISMATCH_WINDOW)
    );
    assert!(worker.attempts_log && worker.labels.is_empty());
    assert_eq!((config.log.level.as_str(), config.log.format), ("info", LogFormat::Text));
}

#[test]
fn the_documented_defaults_are_those_of_the_code() {
    let documented = include_str!("../docs/configuration.md");
    let config = parse("[tasks.x]\nexec = [\"echo\"]\n[[schedules]]\nname = \"n\"\ntask = \"x\"\nevery = \"1h\"\n").unwrap();
    for setting in config.settings().iter().filter(|setting| setting.origin == Origin::Default) {
        let key = setting.key.strip_prefix("tasks.x.").or(setting.key.strip_prefix("schedules.n."));
        let key = key.unwrap_or(&setting.key);
        let row = format!("| `{key}` | `{}` |", setting.value);
        assert!(documented.contains(&row), "docs/configuration.md lacks: {row}");
    }
}

#[test]
fn a_command_is_read_with_everything_it_can_have() {
    let config = parse(
        r#"
[tasks.transfer]
exec = ["/app/transfer", "--from", "{from}", "{{literally}}"]
args = { from = "string", to = "string", cents = "int", note = "string", fast = "bool", rate = "float" }
lock = ["account:{from}", "account:{to}"]
on_busy = "snooze 5s"
wait_timeout = "1m"
queue = "money"
priority = "high"
retries = 3
backoff = "1s"
backoff_cap = "1m"
timeout = "30s"
kill_grace = "0s"
crash_limit = 1
unique = "transfer:{note}"
unique_for = "24h"
expires_in = "1h"
env = ["PATH", "BANK_URL"]
directory = "/tmp"
"#,
    )
    .unwrap();
    let TaskConfig::Command(task) = &config.tasks["transfer"] else {
        panic!("a command")
    };
    assert_eq!(task.args["cents"], Kind::Int);
    assert_eq!(task.lock, ["account:{from}", "account:{to}"]);
    assert_eq!(task.on_busy, OnBusy::Snooze(Duration::from_secs(5)));
    assert_eq!((task.priority, task.retries, task.crash_limit), (Priority::High, 3, 1));
    let backoff = Backoff {
        first: Duration::from_secs(1),
        cap: Duration::from_secs(60),
    };
    assert_eq!(task.backoff, backoff);
    let words: Vec<String> = task
        .exec
        .iter()
        .map(|word| word.render(|_| Some("-x; rm".into())).unwrap())
        .collect();
    assert_eq!(words, ["/app/transfer", "--from", "-x; rm", "{literally}"]);
}

#[test]
fn a_compiled_task_may_have_other_limits() {
    let config = parse("[tasks.close_books]\ntimeout = \"2h\"\nretries = 0\nbackoff = \"1s\"\n").unwrap();
    let TaskConfig::Overrides(limits) = &config.tasks["close_books"] else {
        panic!("no command")
    };
    assert_eq!((limits.timeout, limits.retries), (Some(Duration::from_secs(7200)), Some(0)));
    assert_eq!(
        limits.backoff.map(|backoff| (backoff.first.as_secs(), backoff.cap.as_secs())),
        Some((1, 3600))
    );
}

#[test]
fn the_environment_goes_before_the_file_and_says_so() {
    let config = with_environment(
        "[worker]\nconcurrency = 5\nlease = \"9s\"\n[tasks.Close_Books]\ntimeout = \"1h\"\n",
        &[
            ("LINCHPIN__WORKER__CONCURRENCY", "8"),
            ("LINCHPIN__WORKER__QUEUES", "urgent, default"),
            ("LINCHPIN__WORKER__ATTEMPTS_LOG", "false"),
            ("LINCHPIN__WORKER__LABELS__ZONE", "b"),
            ("LINCHPIN__STORE__URL", "redis://user:s3cret@host/"),
            ("LINCHPIN__TASKS__CLOSE_BOOKS__TIMEOUT", "2h"),
            ("OTHER__WORKER__LEASE", "1s"),
        ],
    )
    .unwrap();
    let worker = &config.worker;
    assert_eq!((worker.concurrency, worker.lease.as_secs(), worker.attempts_log), (8, 9, false));
    assert_eq!(
        (worker.queues.join(" "), worker.labels["zone"].as_str()),
        ("urgent default".into(), "b")
    );
    let TaskConfig::Overrides(limits) = &config.tasks["Close_Books"] else {
        panic!("no command")
    };
    assert_eq!(limits.timeout, Some(Duration::from_secs(7200)));
    let origin = |key: &str| config.settings().iter().find(|setting| setting.key == key).unwrap().origin.clone();
    assert_eq!(
        origin("worker.concurrency"),
        Origin::Environment("LINCHPIN__WORKER__CONCURRENCY".into())
    );
    assert_eq!(origin("worker.lease"), Origin::Line(3));
    assert_eq!(origin("worker.shutdown_grace"), Origin::Default);
    let shown = format!("{config:?} {:?}", config.settings());
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn a_secret_is_read_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("url");
    std::fs::write(&path, "redis://:s3cret@host/\n").unwrap();
    let text = format!("[store]\nurl_file = {:?}\n", path.to_str().unwrap());
    let config = parse(&text).unwrap();
    assert_eq!(config.store.url.as_deref(), Some("redis://:s3cret@host/"));
    assert!(!format!("{config:?}").contains("s3cret"));
    std::fs::write(&path, " \n").unwrap();
    assert!(parse(&text).unwrap_err().to_string().contains("is empty"));
    std::fs::remove_file(&path).unwrap();
    let problem = parse(&text).unwrap_err().to_string();
    assert!(
        problem.starts_with("config.toml:2: store.url_file: ") && problem.contains("cannot be read"),
        "{problem}"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let problem = Config::load(Some("/nowhere/config.toml".as_ref()), []).unwrap_err().to_string();
    assert!(problem.starts_with("/nowhere/config.toml: it cannot be read"), "{problem}");
}

/// The text, the line and key that must be named, and what must be said.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("[worker]\nconcurency = 5\n", "2: worker.concurency", "the nearest is `concurrency`"),
    ("[wroker]\nconcurrency = 5\n", "1: wroker", "the nearest is `worker`"),
    ("colour = 1\n", "1: colour", "there are store, worker, log, tasks"),
    (
        "[worker]\nconcurrency = 0\n",
        "2: worker.concurrency",
        "0 is not allowed: it takes a whole number from 1 to 10000",
    ),
    ("[worker]\nconcurrency = 10001\n", "2: worker.concurrency", "from 1 to 10000"),
    ("[worker]\nconcurrency = -1\n", "2: worker.concurrency", "-1 is not allowed"),
    (
        "[worker]\nconcurrency = \"many\"\n",
        "2: worker.concurrency",
        "\"many\" is not allowed",
    ),
    ("[worker]\nconcurrency = 1.5\n", "2: worker.concurrency", "1.5 is not allowed"),
    (
        "[worker]\nlease = 15\n",
        "2: worker.lease",
        "a duration from 1s to 1h, such as \"30s\"",
    ),
    (
        "[worker]\nlease = \"15 parsecs\"\n",
        "2: worker.lease",
        "\"15 parsecs\" is not allowed",
    ),
    ("[worker]\nlease = \"500ms\"\n", "2: worker.lease", "from 1s to 1h"),
    ("[worker]\nlease = \"2h\"\n", "2: worker.lease", "from 1s to 1h"),
    (
        "[worker]\n\nshutdown_grace = \"soon\"\n",
        "3: worker.shutdown_grace",
        "it takes a duration",
    ),
    ("[worker]\nmismatch_window = \"2days\"\n", "2: worker.mismatch_window", "to 1day"),
    (
        "[worker]\nattempts_log = \"yes\"\n",
        "2: worker.attempts_log",
        "it takes true or false",
    ),
    (
        "[worker]\nqueues = []\n",
        "2: worker.queues",
        "0 names are not allowed: it takes 1 to 64 names",
    ),
    ("[worker]\nqueues = [\"a b\"]\n", "2: worker.queues", "A-Z a-z 0-9 _ . -"),
    ("[worker]\nqueues = [\n  \"a\",\n  \"no good\",\n]\n", "4: worker.queues", "no good"),
    (
        "[worker]\nqueues = [\"a\", \"b\", \"a\"]\n",
        "2: worker.queues",
        "\"a\" stands there twice",
    ),
    ("[worker]\nqueues = [1]\n", "2: worker.queues", "a list is not allowed"),
    ("[worker]\nlabels = { zone = 3 }\n", "2: worker.labels.zone", "text in quotes"),
    ("worker = 5\n", "1: worker", "it is a section, `[worker]`"),
    ("[store]\nnamespace = \"a:b\"\n", "2: store.namespace", "A-Z a-z 0-9 _ . -"),
    ("[store]\nurl = 6379\n", "2: store.url", "text in quotes"),
    (
        "[store]\nurl = \"memory://\"\nurl_file = \"x\"\n",
        "3: store.url_file",
        "keep one of the two",
    ),
    (
        "[store]\nurl = \"memory://\"\nredisson = true\n",
        "3: store.redisson",
        "name a Redis server",
    ),
    ("[log]\nformat = \"xml\"\n", "2: log.format", "\"text\" or \"json\""),
    ("[log]\nlevel = \"\"\n", "2: log.level", "error, warn, info"),
    ("[worker]\nlease = \"15s\"\nlease = \"16s\"\n", "3", "duplicate key"),
    ("[worker\n", "1", "it must be TOML"),
    ("[worker]\nlease = 15s\n", "2", "it must be TOML"),
    ("[tasks.\"a b\"]\nretries = 1\n", "1: tasks.a b", "task name"),
    ("[tasks.x]\nretrys = 1\n", "2: tasks.x.retrys", "the nearest is `retries`"),
    ("[tasks.x]\nlock = \"k\"\n", "2: tasks.x.lock", "only a task with `exec`"),
    (
        "[tasks.x]\nexec = [\"a\"]\nkill_grace = \"10s\"\n",
        "3: tasks.x.kill_grace",
        "from 0s to 7s 500ms",
    ),
    ("schedules = 5\n", "1: schedules", "`[[schedules]]`"),
    (
        "[[schedules]]\ntask = \"t\"\nevery = \"1h\"\n",
        "1: schedules.1.name",
        "it is missing",
    ),
    (
        "[[schedules]]\nname = \"n\"\nevery = \"1h\"\n",
        "1: schedules.n.task",
        "it is missing",
    ),
    ("[[schedules]]\nname = \"n\"\ntask = \"t\"\n", "1: schedules.n", "it never ticks"),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\ncron = \"0 25 * * *\"\n",
        "4: schedules.n.cron",
        "hour",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\ncron = \"@daily\"\ntz = \"Europe/Berln\"\n",
        "5: schedules.n.tz",
        "Europe/Berlin",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\ncron = \"@daily\"\nevery = \"1h\"\n",
        "5: schedules.n.every",
        "keep one of the two",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\nevery = \"1h\"\noverlap = \"queue_all\"\n",
        "5: schedules.n.overlap",
        "queue_all 10",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\nevery = \"1h\"\nmissed = \"fire_all 1000\"\n",
        "5: schedules.n.missed",
        "1 to 100",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\nevery = \"1h\"\nargs = [1]\n",
        "5: schedules.n.args",
        "it takes a table",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\nevery = \"1h\"\nevry = \"2h\"\n",
        "5: schedules.n.evry",
        "the nearest is `every`",
    ),
    (
        "[[schedules]]\nname = \"n\"\ntask = \"t\"\nevery = \"1h\"\n[[schedules]]\nname = \"n\"\ntask = \"t\"\nevery = \"1h\"\n",
        "5: schedules.n",
        "stands above",
    ),
    ("[tasks.-x]\nretries = 1\n", "1: tasks.-x", "no `-` first"),
    (
        "[tasks.x]\nexec = [\"a\"]\nlock = [\"k\", \"k\"]\n",
        "3: tasks.x.lock",
        "\"k\" is named twice",
    ),
    ("[tasks.x]\nexec = []\n", "2: tasks.x.exec", "it names no program"),
    (
        "[tasks.x]\nexec = [\"{p}\"]\nargs = { p = \"string\" }\n",
        "2: tasks.x.exec",
        "a job carries data only",
    ),
    (
        "[tasks.x]\nexec = [\"a\", \"{sku}\"]\nargs = { qty = \"int\" }\n",
        "2: tasks.x.exec",
        "`args` declares qty",
    ),
    ("[tasks.x]\nexec = [\"a\", \"{sku\"]\n", "2: tasks.x.exec", "never closed"),
    (
        "[tasks.x]\nexec = [\"a\"]\nargs = { qty = \"number\" }\n",
        "3: tasks.x.args.qty",
        "\"string\", \"int\", \"uint\", \"float\", \"bool\"",
    ),
    (
        "[tasks.x]\nexec = [\"a\"]\nargs = { \"q-y\" = \"int\" }\n",
        "3: tasks.x.args.q-y",
        "letters, digits and `_`",
    ),
    (
        "[tasks.x]\nexec = [\"a\"]\nlock = \"k:{sku}\"\n",
        "3: tasks.x.lock",
        "`args` declares none",
    ),
    (
        "[tasks.x]\nexec = [\"a\"]\nlock = \"k\"\nsingleton = true\n",
        "4: tasks.x.singleton",
        "keep one of the two",
    ),
    (
        "[tasks.x]\nexec = [\"a\"]\non_busy = \"dance\"\n",
        "3: tasks.x.on_busy",
        "\"snooze 5s\"",
    ),
    (
        "[tasks.x]\nexec = [\"a\"]\npriority = \"urgent\"\n",
        "3: tasks.x.priority",
        "\"normal\" or \"high\" or \"low\"",
    ),
    (
        "[tasks.x]\nexec = [\"a\"]\nunique_for = \"1h\"\n",
        "3: tasks.x.unique_for",
        "needs its template",
    ),
    ("[tasks.x]\nexec = [\"a\"]\nenv = [\"A=b\"]\n", "3: tasks.x.env", "variable's name"),
    (
        "[tasks.x]\nexec = [\"a\"]\ncrash_limit = 0\n",
        "3: tasks.x.crash_limit",
        "from 1 to 1000",
    ),
    ("[tasks.x]\nexec = [\"a\"]\n[tasks.x]\nexec = [\"b\"]\n", "3", "duplicate"),
];

#[test]
fn each_mistake_names_its_file_line_and_key_and_what_is_allowed() {
    for (text, place, said) in MISTAKES {
        let problems = parse(text).expect_err(text);
        let shown = problems.to_string();
        let named = shown
            .lines()
            .any(|line| line.starts_with(&format!("config.toml:{place}: ")) && line.contains(said));
        assert!(named, "{text}: wanted {place} and {said:?}, was:\n{shown}");
    }
}

#[test]
fn all_mistakes_are_said_at_once_in_the_order_of_the_file() {
    let text = "[worker]\nlease = 15\nconcurrency = 0\n[log]\nformat = \"xml\"\n[store]\nspace = \"x\"\n";
    let problems = with_environment(text, &[("LINCHPIN__WORKER__SPEED", "9"), ("LINCHPIN__LEASE", "9s")]).unwrap_err();
    let places: Vec<(Option<usize>, &str)> = problems.list().iter().map(|problem| (problem.line, problem.key.as_str())).collect();
    assert_eq!(
        places,
        [
            (Some(2), "worker.lease"),
            (Some(3), "worker.concurrency"),
            (Some(5), "log.format"),
            (Some(7), "store.space"),
            (None, ""),
            (None, "worker.speed"),
        ]
    );
    let shown = problems.to_string();
    assert!(
        shown.contains("LINCHPIN__WORKER__SPEED: worker.speed: there is no such key"),
        "{shown}"
    );
    assert!(shown.contains("LINCHPIN__LEASE: a variable names a section and a key"), "{shown}");
}
