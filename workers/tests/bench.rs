//! The figures come as documented, and a server is as it was before.

use std::process::{Command, Output};

#[path = "../../tests/support/server.rs"]
#[allow(dead_code)]
mod server;

use server::RedisServer;

fn bench(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_linchpin"))
        .arg("bench")
        .args(words)
        .output()
        .expect("the binary runs")
}

fn figures(words: &[&str]) -> serde_json::Value {
    let output = bench(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn every_workload_of_one_worker_runs_on_the_embedded_store() {
    for workload in ["noop", "locked", "hot", "latency", "enqueue", "exec"] {
        let figures = figures(&[workload, "--store", "memory://", "--jobs", "30", "--json"]);
        assert_eq!(figures["workload"], workload);
        assert_eq!(figures["jobs"], 30);
        assert!(
            figures["redis_cpu_us_per_job"].is_null() && (workload == "exec" || figures["ratio_to_floor"].is_null()),
            "{figures}"
        );
        let measured = if workload == "enqueue" { "enqueue_per_s" } else { "seconds" };
        assert!(workload == "latency" || figures[measured].as_f64().unwrap() > 0.0, "{figures}");
    }
}

#[test]
fn a_run_measures_its_floor_and_leaves_nothing_on_the_server() {
    let server = RedisServer::start();
    for workload in ["noop", "locked", "hot", "latency", "enqueue", "drain", "exec", "lines"] {
        let figures = figures(&[workload, "--store", &server.url(), "--jobs", "60", "--json"]);
        let measured: &[&str] = match workload {
            "noop" | "locked" | "hot" => &[
                "jobs_per_s",
                "floor_jobs_per_s",
                "ratio_to_floor",
                "redis_commands_per_job",
                "redis_calls_per_job",
            ],
            "latency" => &["p50_us", "p99_us", "max_us", "ping_p50_us"],
            "enqueue" => &[
                "enqueue_per_s",
                "bulk_enqueue_per_s",
                "floor_enqueue_per_s",
                "ratio_to_floor",
                "redis_bytes_per_pending_job",
            ],
            "exec" => &["jobs_per_s", "floor_jobs_per_s", "ratio_to_floor"],
            "lines" => &["enqueue_per_s", "floor_enqueue_per_s", "ratio_to_floor"],
            _ => &["left_bytes"],
        };
        for name in measured {
            assert!(
                figures[name].as_f64().is_some_and(|value| value > 0.0),
                "{workload}: {name} in {figures}"
            );
        }
        assert_eq!(server.command(&["DBSIZE"]).unwrap(), ":0\r\n", "after {workload}");
    }
}

/// The names that others script against, in their order.
const LOCK_NAMES: [&str; 14] = [
    "kind",
    "tasks",
    "keys",
    "hold_ms",
    "pairs_per_s",
    "p50_us",
    "p99_us",
    "max_wait_us",
    "server_commands_per_acquisition",
    "client_calls_per_acquisition",
    "handoffs_per_s",
    "ideal_handoffs_per_s",
    "floor_pairs_per_s",
    "ratio_to_floor",
];

#[test]
fn locks_are_measured_beside_their_floor_and_leave_nothing() {
    let server = RedisServer::start();
    let url = server.url();
    let words = [
        "lock",
        "--store",
        &url,
        "--jobs",
        "40",
        "--tasks",
        "4",
        "--keys",
        "1",
        "--hold-ms",
        "1",
    ];
    let output = bench(&[&words[..], &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut at = 0;
    for name in LOCK_NAMES {
        let found = text[at..].find(&format!("\"{name}\":"));
        at += found.unwrap_or_else(|| panic!("{name} is missing or out of order in {text}"));
    }
    let figures: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
    for name in &LOCK_NAMES[4..] {
        assert!(figures[name].as_f64().is_some_and(|value| value > 0.0), "{name} in {figures}");
    }
    assert_eq!(server.command(&["DBSIZE"]).unwrap(), ":0\r\n");
    let figures = self::figures(&["lock", "--store", "memory://", "--jobs", "20", "--json"]);
    assert!(
        figures["handoffs_per_s"].is_null() && figures["ratio_to_floor"].is_null(),
        "{figures}"
    );
    let refused = bench(&["noop", "--store", "memory://", "--tasks", "3"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn the_slow_log_is_set_back() {
    let server = RedisServer::start();
    let before = server.command(&["CONFIG", "GET", "slowlog-*"]).unwrap();
    let figures = figures(&["due", "--store", &server.url(), "--jobs", "50", "--args-bytes", "5000", "--json"]);
    assert_eq!(figures["args_bytes"], 5000);
    assert!(figures["slowest_script_us"].is_u64(), "{figures}");
    assert_eq!(server.command(&["CONFIG", "GET", "slowlog-*"]).unwrap(), before);
}

#[test]
fn a_namespace_that_holds_keys_is_refused_and_kept() {
    let server = RedisServer::start();
    server.command(&["SET", "{shop}:jobs", "precious"]).unwrap();
    let output = bench(&["noop", "--store", &server.url(), "--namespace", "shop"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--namespace"), "{output:?}");
    assert_eq!(server.command(&["GET", "{shop}:jobs"]).unwrap(), "$8\r\nprecious\r\n");
}

#[test]
fn a_password_is_never_printed() {
    let server = RedisServer::options().password("hunter2").start();
    let wrong = server.url().replace("hunter2", "hunter3");
    for (url, secret) in [(server.url(), "hunter2"), (wrong, "hunter3")] {
        let output = bench(&["noop", "--store", &url, "--jobs", "20", "--json"]);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!text.contains(secret), "{text}");
    }
}
