//! The examples do what scripts and readers rely on: names, numbers, exit codes.
#![cfg(all(feature = "macros", feature = "redis"))]

mod support;

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
#[cfg(feature = "postgres")]
use support::PostgresServer;
use support::RedisServer;

/// What `inventory --json` prints, in this order.
const KEYS: [&str; 12] = [
    "store",
    "jobs",
    "workers",
    "killed",
    "stock_expected",
    "stock",
    "lost",
    "double",
    "overlaps",
    "crashed_attempts",
    "seconds",
    "jobs_per_s",
];

/// An example as `cargo test` has built it, beside this test.
fn example(name: &str, args: &[&str]) -> Output {
    let this = std::env::current_exe().expect("a test has a file");
    let path: PathBuf = this
        .ancestors()
        .nth(2)
        .expect("target/<profile>/deps/<test>")
        .join("examples")
        .join(name);
    let ran = Command::new(&path).args(args).output();
    ran.unwrap_or_else(|error| panic!("{}: {error}; `cargo build --examples --all-features` makes it", path.display()))
}

fn report(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "one object and nothing else: {text}");
    let places: Vec<_> = KEYS.iter().map(|key| text.find(&format!("\"{key}\":"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report.as_object().map(|object| object.len()), Some(KEYS.len()), "{text}");
    for none in ["lost", "double", "overlaps"] {
        assert_eq!(report[none], 0, "{text}");
    }
    assert_eq!(report["stock"], report["stock_expected"], "{text}");
    report
}

#[test]
fn every_pitfall_of_locks_fails_and_linchpin_does_not() {
    let output = example("lock_pitfalls", &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("stock WRONG").count(), 8, "{text}");
    assert_eq!(text.matches("Linchpin stock right").count(), 8, "{text}");
    let server = RedisServer::start();
    let output = example("lock_pitfalls", &["--store", &server.url()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        server.command(&["DBSIZE"]).expect("our own server"),
        ":0\r\n",
        "nothing is left there"
    );
}

#[test]
fn each_night_is_one_job_while_replicas_are_killed() {
    let server = RedisServer::start();
    let output = example("nightly", &["--store", &server.url(), "--seconds", "6"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("each was one job"), "{text}");
}

#[test]
fn hello_greets() {
    let output = example("hello", &[]);
    assert!(output.status.success());
    assert_eq!(output.stdout, b"hello, world\n");
}

#[test]
fn inventory_is_exact_on_the_embedded_store() {
    let report = report(&example(
        "inventory",
        &["--jobs", "3000", "--skus", "7", "--workers", "3", "--json"],
    ));
    assert_eq!(
        (&report["store"], &report["jobs"], &report["workers"]),
        (&"memory://".into(), &3000.into(), &3.into())
    );
}

#[test]
fn inventory_refuses_to_kill_its_own_process() {
    let output = example("inventory", &["--kill", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("memory://"));
    assert_eq!(example("inventory", &["--store", "http://h"]).status.code(), Some(2));
}

#[test]
fn inventory_is_exact_while_workers_are_killed_and_leaves_nothing() {
    let server = RedisServer::start();
    let report = report(&example(
        "inventory",
        &["--store", &server.url(), "--jobs", "3000", "--kill", "2", "--json"],
    ));
    assert_eq!((&report["jobs"], &report["killed"]), (&3000.into(), &2.into()));
    assert_eq!(server.command(&["DBSIZE"]).expect("our own server"), ":0\r\n");
}

#[test]
fn inventory_prints_a_table_for_people() {
    let output = example("inventory", &["--jobs", "50"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(text.contains("lost        0") && text.contains("exact"), "{text}");
}

#[cfg(feature = "postgres")]
#[test]
fn payments_are_made_once_while_workers_are_killed_and_nothing_is_left() {
    let (redis, postgres) = (RedisServer::start(), PostgresServer::start());
    let places = ["--store", &redis.url(), "--database", postgres.url()];
    let output = example(
        "payments",
        &[&places[..], &["--payments", "2000", "--kill", "4", "--json"]].concat(),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for (key, value) in [("payments", 2000), ("killed", 4), ("lost", 0), ("double", 0), ("wrong_accounts", 0)] {
        assert_eq!(report[key], value, "{report}");
    }
    assert_eq!(redis.command(&["DBSIZE"]).expect("our own server"), ":0\r\n");
    let schemas = async {
        let pool = sqlx::PgPool::connect(postgres.url()).await.expect("our own server");
        let count = sqlx::query_scalar("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'payments%'");
        count.fetch_one(&pool).await.expect("a count")
    };
    let schemas: i64 = tokio::runtime::Runtime::new().expect("threads").block_on(schemas);
    assert_eq!(schemas, 0);
    let output = example("payments", &["--store", "memory://", "--database", postgres.url()]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
