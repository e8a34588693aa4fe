//! A shop for the tests of the binary: a server, a configuration, and a worker of it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linchpin::Client;
use linchpin::names::JobId;
use linchpin::store::settle::AttemptRecord;
use rustix::process::{Pid, Signal, kill_process};

#[path = "../../../tests/support/server.rs"]
#[allow(dead_code)]
pub mod server;

use server::RedisServer;

pub fn linchpin(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
    command.args(words).stdin(Stdio::null()).output().expect("the binary runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A shop: a server, a configuration, and a worker of it.
pub struct Shop {
    pub server: RedisServer,
    dir: tempfile::TempDir,
    pub worker: Option<Child>,
    pub client: Client,
}

impl Shop {
    pub async fn open(tasks: &str) -> Self {
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

    pub async fn start(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
        command.args(["work", "--config", self.path("config.toml").to_str().expect("a path")]);
        command.env("SECRET", "do not pass").env("SHELF", "7").stderr(Stdio::null());
        self.worker = Some(command.spawn().expect("the binary runs"));
        until("the worker's tasks", async || {
            self.client.tasks().await.expect("a read").iter().count() > 0
        })
        .await;
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    pub fn enqueue(&self, words: &[&str]) -> Output {
        let store = self.server.url();
        linchpin(&[&["enqueue"], words, &["--store", &store]].concat())
    }

    pub fn job(&self, task: &str, args: &str) -> JobId {
        let output = self.enqueue(&[task, args]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).trim().parse().expect("an id")
    }

    /// The first attempt of a job that was recorded.
    pub async fn attempt(&self, id: JobId) -> AttemptRecord {
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

    pub fn signal(&self, signal: Signal) {
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

pub async fn until(what: &str, mut happened: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !happened().await {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn written(path: &Path) -> String {
    until(&path.display().to_string(), async || {
        std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    std::fs::read_to_string(path).expect("a file")
}

pub const TASKS: &str = r#"
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

[tasks.loud]
exec = ["/bin/sh", "-c", "printf '\\033[31mred' >&2; exit 65"]

[tasks.nowhere]
exec = ["/no/such/program"]
"#;

pub fn enqueue_lines(store: &str, lines: &str) -> Output {
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
