//! What an operator asks and does, on a real server with a worker at work: every state is shown, explained and changed.
#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use linchpin::names::JobId;
use linchpin::store::page::StateName;
use linchpin::{Attempt, Client, Data, TaskError, TaskResult, Worker, task};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::{Notify, oneshot};

#[path = "../../tests/support/server.rs"]
#[allow(dead_code)]
mod server;

use server::RedisServer;

/// Lets held jobs end.
type Gate = Arc<Notify>;

#[task(lock = "inventory:{sku}")]
async fn hold(attempt: Attempt, gate: Data<Gate>, sku: String) -> TaskResult {
    attempt.progress(3, 12, &format!("counting {sku}"));
    gate.notified().await;
    Ok(())
}

#[task(retries = 3, backoff = "1h")]
async fn jam(sku: String) -> TaskResult {
    Err(format!("the shelf of {sku} is jammed").into())
}

#[task]
async fn refuse() -> TaskResult {
    Err(TaskError::discard("no such shelf"))
}

/// A server, and what the command line says of it.
struct Shop {
    server: RedisServer,
    client: Client,
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Shop {
    async fn open() -> Self {
        let server = RedisServer::start();
        let client = Client::connect(&server.url()).await.unwrap();
        Self { server, client }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
        command
            .args(words)
            .env("LINCHPIN__STORE__URL", self.server.url())
            .kill_on_drop(true);
        command
    }

    async fn say(&self, words: &[&str]) -> Said {
        let output = self.command(words).output().await.unwrap();
        Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What a command that works says to people.
    async fn text(&self, words: &[&str]) -> String {
        let said = self.say(words).await;
        assert_eq!(said.code, Some(0), "{words:?}: {}{}", said.out, said.err);
        said.out
    }

    /// What a command that works says to programs.
    async fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.text(&words).await).unwrap()
    }

    async fn reaches(&self, id: JobId, state: StateName) {
        let reached = async {
            while self.client.job(id).await.unwrap().is_none_or(|job| job.state.name() != state) {
                tokio::task::yield_now().await;
            }
        };
        within(&format!("{id} is {state}"), reached).await;
    }

    async fn enqueue(&self, job: impl linchpin::Job) -> JobId {
        self.client.enqueue(job).await.unwrap().id()
    }
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), future).await {
        Ok(output) => output,
        Err(_) => panic!("not within 30 s: {what}"),
    }
}

fn a1() -> hold {
    hold { sku: "A1".into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_state_is_listed_shown_and_explained() {
    let shop = Shop::open().await;
    let gate = Gate::default();
    let builder = Worker::builder(&shop.client).task::<hold>().task::<jam>().task::<refuse>();
    let worker = builder
        .data(gate.clone())
        .label("host", "shelf-7")
        .lease(Duration::from_secs(2))
        .build()
        .unwrap();
    let name = worker.id().to_string();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(stopped));

    let active = shop.enqueue(a1()).await;
    shop.reaches(active, StateName::Active).await;
    let parked = shop.enqueue(a1()).await;
    shop.reaches(parked, StateName::Parked).await;
    let failed = shop.enqueue(jam { sku: "B2".into() }).await;
    shop.reaches(failed, StateName::Scheduled).await;
    let dead = shop.enqueue(refuse {}).await;
    shop.reaches(dead, StateName::Dead).await;
    let ready = shop.client.enqueue(refuse {}).queue("mail").unique("order:1").await.unwrap().id();
    assert_eq!(shop.text(&["queues", "pause", "mail"]).await, "queue mail paused\n");

    let list = shop.text(&["jobs", "list"]).await;
    let row = |list: &str, id: JobId| {
        let found = list.lines().find(|line| line.starts_with(&id.to_string()));
        found.unwrap_or_else(|| panic!("{id} in {list}")).to_owned()
    };
    for (id, words) in [
        (active, vec!["active", "hold", "default", &name]),
        (parked, vec!["parked", "behind inventory:A1 for"]),
        (failed, vec!["scheduled", "jam", "due in", "the shelf of B2 is jammed"]),
        (dead, vec!["dead", "refuse", "discarded: no such shelf"]),
        (ready, vec!["ready", "mail"]),
    ] {
        let row = row(&list, id);
        assert!(words.iter().all(|word| row.contains(word)), "{words:?} in {row}");
    }
    for (state, id) in [
        ("active", active),
        ("parked", parked),
        ("scheduled", failed),
        ("dead", dead),
        ("ready", ready),
    ] {
        let listed = shop.json(&["jobs", "list", "--state", state]).await;
        assert_eq!(listed["jobs"][0]["job"], id.to_string(), "{listed}");
        assert_eq!(
            (listed["jobs"].as_array().unwrap().len(), &listed["next"]),
            (1, &Value::Null),
            "{listed}"
        );
    }
    let of_task = shop.json(&["jobs", "list", "--task", "refuse", "--queue", "mail"]).await;
    assert_eq!(of_task["jobs"][0]["job"], ready.to_string());

    let told = async {
        while shop.client.job(active).await.unwrap().unwrap().progress.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within("a renewal", told).await;
    let shown = shop.text(&["jobs", "show", &active.to_string()]).await;
    assert!(shown.contains("progress     3 of 12 (25 %), counting A1\n"), "{shown}");
    let shown = shop.json(&["jobs", "show", &active.to_string()]).await;
    assert_eq!(
        shown["progress"],
        serde_json::json!({"done": 3, "total": 12, "note": "counting A1"})
    );

    let shown = shop.text(&["jobs", "show", &failed.to_string()]).await;
    assert!(
        ["jam", r#"{"sku":"B2"}"#, "1 charged attempts", "the shelf of B2 is jammed"]
            .iter()
            .all(|word| shown.contains(word)),
        "{shown}"
    );
    let shown = shop.json(&["jobs", "show", "--unique", "order:1"]).await;
    assert_eq!((&shown["job"], &shown["state"]), (&ready.to_string().into(), &"ready".into()));

    let why = shop.text(&["explain", &parked.to_string()]).await;
    let behind = format!("behind lock `inventory:A1`, held by job {active} under {name}.");
    assert!(
        why.contains(&behind) && why.contains(&format!("linchpin explain {active}")),
        "{why}"
    );
    for (id, reasons) in [
        (active, vec!["active"]),
        (parked, vec!["parked"]),
        (failed, vec!["retry"]),
        (dead, vec!["dead"]),
        (ready, vec!["ready", "paused", "not_served"]),
    ] {
        let why = shop.json(&["explain", &id.to_string()]).await;
        let found: Vec<&str> = why["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| reason["reason"].as_str().unwrap())
            .collect();
        assert_eq!(found, reasons, "{why}");
    }

    let queues = shop.json(&["queues", "list"]).await;
    let mail = queues.as_array().unwrap().iter().find(|queue| queue["queue"] == "mail").unwrap();
    assert_eq!(
        (&mail["ready"], &mail["paused"], &mail["workers"]),
        (&1.into(), &true.into(), &0.into())
    );
    assert_eq!(mail["oldest_job"], ready.to_string());
    let workers = shop.json(&["workers", "list"]).await;
    assert_eq!(
        (&workers[0]["worker"], &workers[0]["labels"]["host"]),
        (&name.clone().into(), &"shelf-7".into())
    );
    assert_eq!(workers[0]["live"], true);
    let tasks = shop.json(&["tasks", "list"]).await;
    assert_eq!(
        (&tasks[0]["task"], &tasks[0]["locks"][0], &tasks[0]["workers"]),
        (&"hold".into(), &"inventory:{sku}".into(), &1.into())
    );
    let attempts = shop.json(&["attempts", "--outcome", "retry"]).await;
    assert_eq!(
        (attempts.as_array().unwrap().len(), &attempts[0]["job"]),
        (1, &failed.to_string().into())
    );
    assert_eq!(
        shop.json(&["attempts", "--outcome", "retry", "--task", "refuse"]).await,
        serde_json::json!([])
    );

    gate.notify_one();
    shop.reaches(parked, StateName::Active).await;
    gate.notify_one();
    within("the parked one is done", shop.client.wait(parked)).await.unwrap();
    let under_lock = shop.json(&["attempts", "--lock", "inventory:A1", "--limit", "1"]).await;
    assert_eq!(
        (&under_lock[0]["job"], &under_lock[0]["lock"]),
        (&parked.to_string().into(), &"waited".into())
    );
    let _ = stop.send(());
    within("the worker ends", running).await.unwrap().unwrap();
    assert_eq!(
        shop.text(&["workers", "list"]).await,
        "no worker has spoken within the last 10 minutes\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_cancelled_retried_and_deleted_by_id() {
    let shop = Shop::open().await;
    let (one, two) = (shop.enqueue(a1()).await.to_string(), shop.enqueue(a1()).await.to_string());
    let cancelled = shop.text(&["jobs", "cancel", &one, &two]).await;
    assert_eq!(cancelled, format!("{one} cancelled\n{two} cancelled\n"));
    let again = shop.say(&["jobs", "cancel", &one]).await;
    assert_eq!(again.code, Some(1), "a negative answer: {}", again.out);
    let retried = shop.json(&["jobs", "retry", &one]).await;
    assert_eq!(retried, serde_json::json!([{ "job": one, "answer": "ready" }]));
    assert_eq!(shop.text(&["jobs", "delete", &one]).await, format!("{one} deleted\n"));
    let gone = shop.say(&["jobs", "delete", &one, &two]).await;
    assert_eq!(gone.code, Some(1), "{}", gone.out);
    assert!(
        gone.out.contains("no such job") && gone.out.contains(&format!("{two} deleted")),
        "{}",
        gone.out
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_of_all_dead_leaves_cancelled_ones_alone_and_a_delete_takes_them() {
    let shop = Shop::open().await;
    let mut dead = Vec::new();
    for _ in 0..3 {
        dead.push(shop.enqueue(refuse {}).await);
    }
    let worker = Worker::builder(&shop.client).task::<refuse>().build().unwrap();
    let all_dead = async {
        for id in &dead {
            shop.reaches(*id, StateName::Dead).await;
        }
    };
    within("they die", worker.run(all_dead)).await.unwrap();
    let cancelled = shop.enqueue(a1()).await;
    shop.client.cancel(cancelled).await.unwrap();
    let none = shop.text(&["jobs", "retry", "--dead", "--queue", "mail"]).await;
    assert_eq!(none, "0 dead jobs retried\n");
    let retried = shop.text(&["jobs", "retry", "--dead"]).await;
    assert_eq!(retried, "3 dead jobs retried; 1 cancelled ones left alone\n");
    assert_eq!(shop.client.job(cancelled).await.unwrap().unwrap().state.name(), StateName::Dead);
    let deleted = shop.json(&["jobs", "delete", "--dead"]).await;
    assert_eq!(deleted, serde_json::json!({ "done": 1, "cancelled": 0, "conflicts": 0, "gone": 0 }));
    assert_eq!(shop.client.census().await.unwrap().jobs, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_turned_page_by_page() {
    let shop = Shop::open().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(shop.enqueue(a1()).await.to_string());
    }
    let base = ["jobs", "list", "--state", "ready", "--queue", "default", "--limit", "2"];
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let more = after.iter().flat_map(|cursor| ["--after", cursor]);
        let words: Vec<&str> = base.into_iter().chain(more).collect();
        let page = shop.json(&words).await;
        let jobs = page["jobs"].as_array().unwrap();
        assert!(jobs.len() <= 2);
        seen.extend(jobs.iter().map(|job| job["job"].as_str().unwrap().to_owned()));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
    let text = shop.text(&base).await;
    assert!(text.contains("more: --after r"), "{text}");
    assert_eq!(shop.text(&["jobs", "list", "--state", "dead"]).await, "no such jobs\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_followed_as_it_is_written() {
    let shop = Shop::open().await;
    let before = shop.enqueue(a1()).await;
    shop.client.cancel(before).await.unwrap();
    let mut child = shop
        .command(&["attempts", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || -> Value {
        let line = within("a line", lines.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(next().await["job"], before.to_string(), "what was there comes first");
    for number in 2..5 {
        let id = shop.enqueue(a1()).await;
        shop.client.cancel(id).await.unwrap();
        let entry = next().await;
        assert_eq!((&entry["job"], &entry["number"]), (&id.to_string().into(), &number.into()));
        assert_eq!(entry["outcome"], "cancelled");
    }
    child.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_not_there_is_a_negative_answer() {
    let shop = Shop::open().await;
    let id = JobId::random().to_string();
    for words in [["jobs", "show", &id].as_slice(), &["explain", &id]] {
        let said = shop.say(words).await;
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{words:?}");
        assert!(said.err.contains(&id) && said.err.contains("done, deleted"), "{}", said.err);
    }
    let said = shop.say(&["explain", &id, "--json"]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(1), "null\n"));
    let said = shop.say(&["jobs", "show", "--unique", "order:1"]).await;
    assert!(said.code == Some(1) && said.err.contains("order:1"), "{}", said.err);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_words_are_usage_and_say_what_is_allowed() {
    let shop = Shop::open().await;
    let id = JobId::random().to_string();
    for (words, said) in [
        (["jobs", "show", "nonsense"].as_slice(), "22 characters"),
        (&["jobs", "show"], "JOB"),
        (&["jobs", "show", &id, "--unique", "k"], "cannot be used with"),
        (&["jobs", "list", "--state", "done"], "parked"),
        (&["jobs", "list", "--limit", "0"], "1..=1000"),
        (&["jobs", "list", "--after", "x9"], "as the page before gave it"),
        (&["jobs", "list", "--state", "dead", "--after", "j9"], "same filter"),
        (&["jobs", "list", "--queue", "no queue"], "queue"),
        (&["jobs", "retry"], "JOB"),
        (&["jobs", "retry", &id, "--dead"], "cannot be used with"),
        (&["jobs", "delete", &id, "--queue", "q"], "cannot be used with"),
        (&["attempts", "--outcome", "fine"], "lease_lost"),
    ] {
        let answer = shop.say(words).await;
        assert_eq!(answer.code, Some(2), "{words:?}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(said), "{words:?}: {said:?} in {}", answer.err);
    }
}
