//! `linchpin work` and `linchpin enqueue`: commands as tasks, through the whole path, and nothing of them outlives its attempt.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linchpin::names::JobId;
use linchpin::store::settle::{AttemptRecord, Outcome};
use linchpin::store::view::State;
use linchpin::{Client, TaskResult, task};
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};

#[path = "../../tests/support/server.rs"]
#[allow(dead_code)]
mod server;

use server::RedisServer;

fn linchpin(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
    command.args(words).stdin(Stdio::null()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A shop: a server, a configuration, and a worker of it.
struct Shop {
    server: RedisServer,
    dir: tempfile::TempDir,
    worker: Option<Child>,
    client: Client,
}

impl Shop {
    async fn open(tasks: &str) -> Self {
        let server = RedisServer::start();
        let dir = tempfile::tempdir().expect("a folder");
        let config = format!(
            "[store]\nurl = {:?}\n[worker]\nlease = \"2s\"\nshutdown_grace = \"1s\"\n{}",
            server.url(),
            tasks.replace("DIR", dir.path().to_str().expect("a path"))
        );
        std::fs::write(dir.path().join("config.toml"), config).expect("a file");
        let client = Client::connect(&server.url()).await.expect("our own server");
        let mut shop = Self {
            server,
            dir,
            worker: None,
            client,
        };
        shop.start().await;
        shop
    }

    async fn start(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
        command.args(["work", "--config", self.path("config.toml").to_str().expect("a path")]);
        command.env("SECRET", "do not pass").env("SHELF", "7").stderr(Stdio::null());
        self.worker = Some(command.spawn().expect("the binary runs"));
        until("the worker's tasks", async || {
            self.client.tasks().await.expect("a read").iter().count() > 0
        })
        .await;
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn enqueue(&self, words: &[&str]) -> Output {
        let store = self.server.url();
        linchpin(&[&["enqueue"], words, &["--store", &store]].concat())
    }

    fn job(&self, task: &str, args: &str) -> JobId {
        let output = self.enqueue(&[task, args]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).trim().parse().expect("an id")
    }

    /// The first attempt of a job that was recorded.
    async fn attempt(&self, id: JobId) -> AttemptRecord {
        let mut found = None;
        until("an attempt", async || {
            let log = self.client.attempts(0, 10_000).await.expect("a read");
            found = log
                .into_iter()
                .map(|entry| entry.record)
                .find(|record| record.job == id.to_string());
            found.is_some()
        })
        .await;
        found.expect("found")
    }

    fn signal(&self, signal: Signal) {
        let worker = self.worker.as_ref().expect("it runs");
        kill_process(Pid::from_child(worker), signal).expect("our own child");
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

async fn until(what: &str, mut happened: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !happened().await {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn written(path: &Path) -> String {
    until(&path.display().to_string(), async || {
        std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    std::fs::read_to_string(path).expect("a file")
}

/// Whether anybody is left in the group whose leader wrote its id to a file.
async fn group_of(path: &Path) -> impl Fn() -> bool + use<> {
    let pid = Pid::from_raw(written(path).await.trim().parse().expect("a process id")).expect("a process id");
    move || test_kill_process_group(pid).is_ok()
}

#[test]
fn the_file_in_the_repository_runs_a_job_at_once() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../config.toml");
    let output = linchpin(&["work", "--config", config, "--once", r#"decrement {"sku":"A1","qty":2}"#]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(": done"), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("taking 2 of A1 out of stock"),
        "{}",
        text(&output.stderr)
    );
    for (job, said) in [
        (r#"decremnt {"sku":"A1","qty":2}"#, "the nearest is `decrement`"),
        (r#"decrement {"sku":"A1"}"#, "\"qty\""),
        (r#"decrement {"sku":"A1","qty":"two"}"#, "text is no uint"),
        (r#"decrement {"sku":"A1","qty":2,"colour":"red"}"#, "\"colour\""),
        ("decrement {sku:A1}", "this is no JSON"),
        ("decrement [1]", "one JSON object"),
    ] {
        let output = linchpin(&["work", "--config", config, "--once", job]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{job}: {error}");
        assert!(error.contains(said), "{job}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_job_runs_on_a_shared_store_while_others_stay_where_they_are() {
    let server = RedisServer::start();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../config.toml");
    let once = |job: &str| linchpin(&["work", "--config", config, "--store", &server.url(), "--once", job]);
    let output = once(r#"decrement {"sku":"A1","qty":2}"#);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let store = server.url();
    let other = linchpin(&["enqueue", "decrement", r#"{"sku":"A1","qty":1}"#, "--store", &store]);
    assert_eq!(other.status.code(), Some(0), "{}", text(&other.stderr));
    let output = once(r#"decrement {"sku":"A1","qty":3}"#);
    assert!(text(&output.stdout).contains(": done after"), "{}", text(&output.stdout));
    let client = Client::connect(&store).await.expect("our own server");
    assert_eq!(client.census().await.expect("a read").jobs, 1, "the other one waits for a worker");
}

const TASKS: &str = r#"
[tasks.tell]
exec = ["/bin/sh", "-c", "cat > DIR/stdin; env | sort > DIR/env; printf '%s\\n' \"$@\" > DIR/args; exit 0", "sh", "{text}", "--n={n}"]
args = { text = "string", n = "int" }
lock = "tell:{n}"
env = ["PATH", "SHELF"]

[tasks.exit]
exec = ["/bin/sh", "-c", "echo out; echo problem $1 >&2; exit $1", "sh", "{code}"]
args = { code = "int" }

[tasks.stubborn]
exec = ["/bin/sh", "-c", "trap '' TERM; (trap '' TERM; echo grandchild; while :; do sleep 1; done) & echo $$ > DIR/pid; wait; while :; do sleep 1; done"]
timeout = "500ms"
kill_grace = "200ms"
retries = 0

[tasks.long]
exec = ["/bin/sh", "-c", "sleep 60 & echo $$ > DIR/pid; wait"]
kill_grace = "200ms"

[tasks.leaver]
exec = ["/bin/sh", "-c", "sleep 60 & echo $$ > DIR/pid; exit 0"]

[tasks.flood]
exec = ["/bin/sh", "-c", "yes error | head -c 1000000 >&2; echo the last words >&2; exit 3"]

[tasks.nowhere]
exec = ["/no/such/program"]
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_gets_its_job_as_data_and_nothing_else() {
    let shop = Shop::open(TASKS).await;
    let nasty = r#"-rf $(touch DIR/pwned) `id` "quotes" 'single' ; line1
line2 * é"#;
    let args = serde_json::json!({"text": nasty, "n": -3}).to_string();
    let id = shop.job("tell", &args);
    let attempt = shop.attempt(id).await;
    assert_eq!(
        (attempt.outcome, attempt.lock_keys.as_str()),
        (Outcome::Done, "tell:-3"),
        "{attempt:?}"
    );
    let stdin: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(shop.path("stdin")).expect("a file")).expect("JSON");
    assert_eq!(stdin, serde_json::json!({"text": nasty, "n": -3}));
    assert_eq!(
        std::fs::read_to_string(shop.path("args")).expect("a file"),
        format!("{nasty}\n--n=-3\n")
    );
    assert!(!shop.path("pwned").exists());
    let env = std::fs::read_to_string(shop.path("env")).expect("a file");
    assert!(
        env.contains(&format!("LINCHPIN_JOB_ID={id}\n")) && env.contains("LINCHPIN_ATTEMPT=1\n") && env.contains("LINCHPIN_FENCE="),
        "{env}"
    );
    assert!(env.contains("SHELF=7\n") && !env.contains("SECRET"), "{env}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_codes_and_the_end_of_standard_error_say_how_it_ended() {
    let shop = Shop::open(TASKS).await;
    let [done, retried, dead, flood, nowhere] = [
        shop.job("exit", r#"{"code":0}"#),
        shop.job("exit", r#"{"code":3}"#),
        shop.job("exit", r#"{"code":65}"#),
        shop.job("flood", "{}"),
        shop.job("nowhere", "{}"),
    ];
    assert_eq!(shop.attempt(done).await.outcome, Outcome::Done);
    let attempt = shop.attempt(retried).await;
    assert_eq!(
        (attempt.outcome, attempt.error.as_str()),
        (Outcome::Retry, "exit code 3: problem 3")
    );
    let attempt = shop.attempt(dead).await;
    assert_eq!((attempt.outcome, attempt.error.as_str()), (Outcome::Dead, "problem 65"));
    let attempt = shop.attempt(flood).await;
    assert!(
        attempt.error.len() <= 4096 && attempt.error.ends_with("the last words"),
        "{}",
        attempt.error.len()
    );
    let attempt = shop.attempt(nowhere).await;
    assert!(
        attempt.outcome == Outcome::Retry && attempt.error.contains("start `/no/such/program`"),
        "{attempt:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_timeout_nobody_is_left_in_the_group_even_who_ignores_term() {
    let shop = Shop::open(TASKS).await;
    let id = shop.job("stubborn", "{}");
    let alive = group_of(&shop.path("pid")).await;
    let attempt = shop.attempt(id).await;
    assert_eq!(attempt.outcome, Outcome::Dead, "{attempt:?}");
    assert!(
        attempt.error.contains("500ms") || attempt.error.contains("timed out") || attempt.error.contains("timeout"),
        "{attempt:?}"
    );
    until("an empty group", async || !alive()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_leaves_behind_ends_with_its_attempt() {
    let shop = Shop::open(TASKS).await;
    let id = shop.job("leaver", "{}");
    let alive = group_of(&shop.path("pid")).await;
    assert_eq!(shop.attempt(id).await.outcome, Outcome::Done);
    until("an empty group", async || !alive()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_command_ends_with_its_group() {
    let shop = Shop::open(TASKS).await;
    let id = shop.job("long", "{}");
    let alive = group_of(&shop.path("pid")).await;
    shop.client.cancel(id).await.expect("an answer");
    assert_eq!(shop.attempt(id).await.outcome, Outcome::Cancelled);
    until("an empty group", async || !alive()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_stops_when_told_hands_its_jobs_back_and_leaves_nobody() {
    let mut shop = Shop::open(TASKS).await;
    let id = shop.job("long", "{}");
    let alive = group_of(&shop.path("pid")).await;
    shop.signal(Signal::TERM);
    let ended = shop.worker.take().expect("it runs").wait().expect("our own child");
    assert!(ended.success(), "{ended}");
    until("an empty group", async || !alive()).await;
    let job = shop.client.job(id).await.expect("a read").expect("kept");
    assert!(matches!(job.state, State::Ready), "{job:?}");
    assert_eq!(job.tries.charged, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_the_worker_at_once_and_nobody_is_left() {
    let mut shop = Shop::open(
        &TASKS
            .replace("kill_grace = \"200ms\"", "kill_grace = \"1h\"")
            .replace("sleep 60 & echo", "trap '' TERM; sleep 60 & echo"),
    )
    .await;
    shop.job("long", "{}");
    let alive = group_of(&shop.path("pid")).await;
    shop.signal(Signal::INT);
    tokio::time::sleep(Duration::from_millis(200)).await;
    shop.signal(Signal::INT);
    let ended = shop.worker.take().expect("it runs").wait().expect("our own child");
    assert_eq!(ended.code(), Some(130));
    until("an empty group", async || !alive()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_enqueued_from_the_shell_or_refused_with_the_argument_named() {
    let shop = Shop::open(TASKS).await;
    for (words, said) in [
        (&["tel", "{}"][..], "the nearest is `tell`"),
        (&["tell", r#"{"text":"a"}"#], "\"n\""),
        (&["tell", r#"{"text":5,"n":1}"#], "a number is no string"),
        (&["tell", r#"{"text":"a","n":1,"x":2}"#], "\"x\""),
        (&["tell", "{"], "this is no JSON"),
        (&["tell", "{}", "--delay", "soon"], "--delay"),
        (&["tell", "{}", "--priority", "urgent"], "it is high, normal or low"),
    ] {
        let output = shop.enqueue(words);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
    }
    let good = r#"{"text":"a","n":1}"#;
    let output = shop.enqueue(&["tell", good, "--delay", "1h", "--unique", "once", "--json"]);
    let first: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(first["new"], true);
    let output = shop.enqueue(&["tell", good, "--delay", "1h", "--unique", "once", "--json"]);
    let second: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((second["new"].as_bool(), &second["job"]), (Some(false), &first["job"]));
    let output = shop.enqueue(&["later.defined", "{\"any\":1}", "--unchecked", "--queue", "elsewhere"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn enqueue_lines(store: &str, lines: &str) -> Output {
    use std::io::Write;
    let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
    command.args(["enqueue", "-", "--store", store, "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("a pipe");
    child.wait_with_output().expect("our own child")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_are_enqueued_all_or_none() {
    let shop = Shop::open(&format!("{TASKS}\n[tasks.none]\nexec = [\"/bin/true\"]\nqueue = \"later\"\n")).await;
    let bad = enqueue_lines(&shop.server.url(), "none {}\n\n{\"task\":\"none\"}\nnone {\"x\":1}\nnon\n");
    let error = text(&bad.stderr);
    assert_eq!(bad.status.code(), Some(2), "{error}");
    assert!(
        error.contains("nothing was enqueued") && error.contains("line 4: ") && error.contains("line 5: "),
        "{error}"
    );
    assert_eq!(shop.client.census().await.expect("a read").jobs, 0);
    let good = enqueue_lines(&shop.server.url(), &"none {}\n{\"task\":\"none\",\"args\":{}}\n".repeat(1500));
    assert_eq!(
        text(&good.stdout),
        "{\"existing\":0,\"new\":3000,\"refused\":0}\n",
        "{}",
        text(&good.stderr)
    );
    assert_eq!(shop.client.census().await.expect("a read").jobs, 3000);
}

#[task(lock = "tell:{n}")]
async fn tell(text: String, n: i64) -> TaskResult {
    let _ = (text, n);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_the_shell_and_of_rust_share_their_locks() {
    let tasks = r#"
[tasks.tell]
exec = ["/bin/sh", "-c", "if ! mkdir DIR/inside-$1; then echo overlap >> DIR/overlaps; exit 1; fi; sleep 0.02; rmdir DIR/inside-$1; echo x >> DIR/done", "sh", "{n}"]
args = { text = "string", n = "int" }
lock = "tell:{n}"
env = ["PATH"]
"#;
    let shop = Shop::open(tasks).await;
    let lines: String = (0..100).map(|n| format!("tell {{\"text\":\"shell\",\"n\":{}}}\n", n % 5)).collect();
    assert!(enqueue_lines(&shop.server.url(), &lines).status.success());
    let jobs = (0..100).map(|n| tell {
        text: "rust".into(),
        n: n % 5,
    });
    for answer in shop.client.enqueue_many(jobs).await.expect("a bulk enqueue") {
        answer.expect("accepted");
    }
    until("all jobs", async || shop.client.census().await.expect("a read").jobs == 0).await;
    assert!(!shop.path("overlaps").exists());
    assert_eq!(std::fs::read_to_string(shop.path("done")).expect("a file").lines().count(), 200);
}
