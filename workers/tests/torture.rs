//! `linchpin torture`: a short run that finds nothing, and what it refuses. That it would notice is `scripts/mutants`' to prove.

#[allow(dead_code)]
mod shop;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shop::server::RedisServer;
use shop::{linchpin, text};

/// What the JSON object holds, in this order.
const FIELDS: [&str; 16] = [
    "seed",
    "seconds",
    "jobs",
    "faults",
    "attempts",
    "refused_late",
    "overlapping_believers",
    "lost",
    "double",
    "fence_regressions",
    "stuck",
    "recovery_ms_max",
    "recovery_ms_p99",
    "recovery_ms_max_by_fault",
    "left_keys",
    "violations",
];

#[test]
fn a_short_run_under_every_fault_that_needs_nothing_finds_no_violation_and_leaves_no_key() {
    let server = RedisServer::start();
    let store = server.url();
    let output = linchpin(&[
        "torture",
        "--store",
        &store,
        "--duration",
        "4s",
        "--workers",
        "3",
        "--seed",
        "11",
        "--every",
        "200ms",
        "--faults",
        "kill,pause,cut,blackhole,flush,break,twin",
        "--json",
    ]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let mut from = 0;
    for field in FIELDS {
        let at = out.find(&format!("\"{field}\":"));
        assert!(at.is_some_and(|at| at >= from), "{field} is not in its place: {out}");
        from = at.unwrap_or(0);
    }
    assert_eq!((&report["seed"], &report["violations"]), (&11.into(), &serde_json::json!([])));
    assert!(report["jobs"].as_u64() > Some(50), "{out}");
    let thrown: u64 = report["faults"]
        .as_object()
        .expect("an object")
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert!(thrown >= 8, "{out}");
    let mut connection = redis::Client::open(store)
        .and_then(|client| client.get_connection())
        .expect("our own server");
    let left: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).expect("a read");
    assert!(left.is_empty(), "all of the run is removed: {left:?}");
}

#[test]
fn a_server_that_is_killed_and_comes_back_with_its_data_loses_and_doubles_nothing() {
    let mut server = RedisServer::options().append_only().start();
    let store = server.url();
    let ask = server.dir().join("restart");
    let command = format!("touch {ask}; while [ -e {ask} ]; do sleep 0.02; done", ask = ask.display());
    let run = std::thread::spawn(move || {
        let mut words = vec!["torture", "--store", &store, "--restart-with", &command, "--json"];
        words.extend(["--faults", "restart,kill", "--every", "700ms", "--duration", "6s", "--seed", "5"]);
        linchpin(&words)
    });
    let mut restarts = 0u64;
    while !run.is_finished() {
        if ask.exists() {
            server.kill();
            server.restart();
            restarts += 1;
            std::fs::remove_file(&ask).expect("our own file");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = run.join().expect("no panic");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert!(restarts >= 2 && report["faults"]["restart"] == restarts, "{restarts} in {out}");
    assert!(report["jobs"].as_u64() > Some(50), "{out}");
}

#[test]
fn a_worker_that_starts_while_it_is_cut_off_tries_again() {
    let mut server = RedisServer::start();
    server.stop();
    let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
    command.arg("torture-worker").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut worker = command.spawn().expect("the binary runs");
    let orders = serde_json::json!({"store": server.url(), "namespace": "torture", "seed": 1, "mutant": null, "failpoint": null});
    let mut input = worker.stdin.take().expect("piped");
    writeln!(input, "{orders}").expect("a line to our own child");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(worker.try_wait().expect("our own child"), None);
    server.restart();
    let began = Instant::now();
    while !server
        .command(&["ZCARD", "{torture}:workers"])
        .expect("our own server")
        .contains(":1")
    {
        assert!(began.elapsed() < Duration::from_secs(20), "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(input);
    assert!(worker.wait().expect("our own child").success());
}

#[test]
fn what_cannot_be_tortured_is_refused_with_the_reason() {
    let refused = |words: &[&str]| {
        let output = linchpin(&[&["torture", "--store"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(refused(&["memory://"]).contains("give --store redis://"));
    assert!(refused(&["rediss://localhost"]).contains("TLS"));
    assert!(refused(&["redis://localhost", "--faults", "restart"]).contains("--restart-with"));
    assert!(refused(&["redis://localhost", "--faults", "earthquake"]).contains("blackhole"));
    assert_eq!(
        linchpin(&["torture", "--store", "redis://127.0.0.1:1", "--duration", "1s"])
            .status
            .code(),
        Some(3)
    );
}
