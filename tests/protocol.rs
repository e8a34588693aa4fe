//! docs/protocol.md: jobs enqueued by the Python example run here, whatever lock keys it sends.
//!
//! Needs python3 and redis-py (`scripts/test` fetches it); where one is absent these tests say so and check nothing.
#![cfg(all(feature = "redis", feature = "macros"))]
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use linchpin::names::JobId;
use linchpin::store::settle::Outcome;
use linchpin::{Client, Data, TaskResult, Worker, task};
use support::{RedisServer, within};

type Ran = Arc<Mutex<Vec<(String, u32)>>>;

#[task(lock = "inventory:{sku}")]
async fn decrement(ran: Data<Ran>, sku: String, qty: u32) -> TaskResult {
    ran.lock().map_err(|_| "poisoned")?.push((sku, qty));
    Ok(())
}

/// A Python that has redis-py; `None`, with a word, where there is none.
fn python() -> Option<String> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/target/venv/bin/python3");
    let candidates = [own, "python3"].into_iter().filter(|name| *name != own || Path::new(own).exists());
    for candidate in candidates {
        let asked = Command::new(candidate).args(["-c", "import redis"]).output();
        if asked.is_ok_and(|output| output.status.success()) {
            return Some(candidate.to_owned());
        }
    }
    eprintln!("not checked: there is no python3 with redis-py here (`scripts/test` fetches it)");
    None
}

/// What the example prints for these words.
fn enqueue(python: &str, server: &RedisServer, words: &[&str]) -> Result<JobId, String> {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/enqueue.py");
    // the interpreter must leave no cache beside the example
    let output = Command::new(python)
        .arg("-B")
        .arg(example)
        .arg(server.url())
        .args(words)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.success() {
        true => said.parse().map_err(|error| format!("{said:?}: {error}")),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Runs a worker until these jobs have ended; answers what its handler saw.
async fn work(client: &Client, jobs: &[JobId]) -> Vec<(String, u32)> {
    let ran = Ran::default();
    let worker = Worker::builder(client).task::<decrement>().data(ran.clone()).build().unwrap();
    let all_ended = async {
        for id in jobs {
            client.wait(*id).await.unwrap();
        }
    };
    within("the jobs run", worker.run(all_ended)).await.unwrap();
    let mut ran = std::mem::take(&mut *ran.lock().unwrap());
    ran.sort();
    ran
}

#[tokio::test]
async fn jobs_of_the_python_example_run_under_their_locks() {
    let Some(python) = python() else {
        assert!(std::env::var_os("LINCHPIN_NEEDS_PYTHON").is_none(), "redis-py is needed here");
        return;
    };
    let server = RedisServer::options().tcp().start();
    let client = Client::connect(&server.url()).await.unwrap();
    let first = enqueue(
        &python,
        &server,
        &["linchpin", "decrement", r#"{"sku":"A1","qty":2}"#, "inventory:A1"],
    )
    .unwrap();
    let odd = r#"{"sku":"50%|,\u0001é","qty":3}"#;
    let escaped = enqueue(&python, &server, &["linchpin", "decrement", odd, "inventory:50%|,\u{1}é"]).unwrap();
    let bulky = format!(r#"{{"sku":"{}","qty":4}}"#, "x".repeat(400));
    let bulky = enqueue(
        &python,
        &server,
        &["linchpin", "decrement", &bulky, &format!("inventory:{}", "x".repeat(400))],
    )
    .unwrap();
    let seen = client.job(first).await.unwrap().unwrap();
    let envelope = seen.envelope.unwrap();
    assert_eq!(envelope.body.task.as_str(), "decrement");
    assert_eq!(
        envelope.header.locks.iter().map(|key| key.as_str()).collect::<Vec<_>>(),
        ["inventory:A1"]
    );
    assert!(
        first.made_at_ms().abs_diff(now_ms()) < 60_000,
        "the id holds the time it was made at"
    );
    let ran = work(&client, &[first, escaped, bulky]).await;
    let expected = [("50%|,\u{1}é".to_owned(), 3), ("A1".to_owned(), 2), ("x".repeat(400), 4)];
    assert_eq!(ran, expected);
    let log = client.attempts(0, 100).await.unwrap();
    assert!(
        log.iter().all(|entry| entry.record.outcome == Outcome::Done),
        "no key was wrong: {log:?}"
    );
}

#[tokio::test]
async fn a_wrong_or_missing_lock_key_of_the_producer_is_put_right() {
    let Some(python) = python() else {
        assert!(std::env::var_os("LINCHPIN_NEEDS_PYTHON").is_none(), "redis-py is needed here");
        return;
    };
    let server = RedisServer::options().tcp().start();
    let client = Client::connect(&server.url()).await.unwrap();
    let wrong = enqueue(&python, &server, &["linchpin", "decrement", r#"{"sku":"A1","qty":2}"#, "stock:A1"]).unwrap();
    let missing = enqueue(&python, &server, &["linchpin", "decrement", r#"{"sku":"B2","qty":1}"#]).unwrap();
    assert_eq!(work(&client, &[wrong, missing]).await, [("A1".to_owned(), 2), ("B2".to_owned(), 1)]);
    let log = client.attempts(0, 100).await.unwrap();
    for (id, key) in [(wrong, "inventory:A1"), (missing, "inventory:B2")] {
        let of_job = log.iter().map(|entry| &entry.record).filter(|record| record.job == id.to_string());
        let attempts: Vec<_> = of_job
            .map(|record| (record.outcome, record.number, record.lock_keys.as_str()))
            .collect();
        assert_eq!(attempts.len(), 2, "{attempts:?}");
        assert_eq!((attempts[0].0, attempts[0].1), (Outcome::Returned, 1));
        assert_eq!(attempts[1], (Outcome::Done, 1, key), "uncharged, under the right key");
    }
}

#[tokio::test]
async fn a_body_over_four_kibibytes_stands_apart_and_is_read() {
    let Some(python) = python() else {
        assert!(std::env::var_os("LINCHPIN_NEEDS_PYTHON").is_none(), "redis-py is needed here");
        return;
    };
    let server = RedisServer::options().tcp().start();
    let client = Client::connect(&server.url()).await.unwrap();
    let args = format!(r#"{{"text":"{}"}}"#, "y".repeat(9000));
    let id = enqueue(&python, &server, &["linchpin", "note", &args]).unwrap();
    let envelope = client.job(id).await.unwrap().unwrap().envelope.unwrap();
    assert!(envelope.body.args.len() > 9000);
    let keys = client.store().keys().await.unwrap();
    assert!(keys.iter().any(|(key, _)| key == "bodies"), "{keys:?}");
}

#[tokio::test]
async fn the_example_refuses_a_namespace_of_newer_workers() {
    let Some(python) = python() else {
        assert!(std::env::var_os("LINCHPIN_NEEDS_PYTHON").is_none(), "redis-py is needed here");
        return;
    };
    let server = RedisServer::options().tcp().start();
    server.command(&["SET", "{shop}:schema", "2"]).unwrap();
    let error = enqueue(&python, &server, &["shop", "decrement", "{}"]).unwrap_err();
    assert!(error.contains("newer"), "{error}");
    assert!(!server.command(&["EXISTS", "{shop}:jobs"]).unwrap().contains('1'));
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}
