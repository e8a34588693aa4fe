//! What every command has in common: exit codes, where errors go, JSON or a table.

use std::process::{Command, Output};

#[path = "../../tests/support/server.rs"]
#[allow(dead_code)]
mod server;

use server::RedisServer;

fn linchpin(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_linchpin"))
        .args(words)
        .env_remove("LINCHPIN__STORE__URL")
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn without_a_store_the_two_to_choose_from_are_named() {
    let output = linchpin(&["queues", "pause", "mail"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--store redis://") && error.contains("--store memory://"), "{error}");
}

#[test]
fn a_store_of_this_process_alone_is_refused_with_the_reason() {
    let output = linchpin(&["queues", "pause", "mail", "--store", "memory://"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("ends with its process"), "{error}");
}

#[test]
fn an_unreachable_store_is_exit_code_3_and_shows_no_password() {
    let output = linchpin(&["queues", "pause", "mail", "--store", "redis://:s3cret@127.0.0.1:1/"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn a_variable_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = Command::new(env!("CARGO_BIN_EXE_linchpin"));
    command.args(["config", "check"]);
    command.env("LINCHPIN__WORKER__LEASE", std::ffi::OsStr::from_bytes(b"15\xff"));
    let output = command.output().expect("the binary runs");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("LINCHPIN__WORKER__LEASE") && error.contains("UTF-8"), "{error}");
}

#[test]
fn a_database_that_the_server_lacks_is_wrong_usage() {
    let server = RedisServer::start();
    let url = match server.url().strip_suffix("/0") {
        Some(url) => format!("{url}/99"),
        None => format!("{}?db=99", server.url()),
    };
    let output = linchpin(&["queues", "list", "--store", &url]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("databases"), "{error}");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for words in [
        &["queues"][..],
        &["queues", "halt"],
        &["dance"],
        &["queues", "pause", "no such name", "--store", "redis://127.0.0.1:1/"],
    ] {
        assert_eq!(linchpin(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn a_queue_is_paused_shown_and_resumed() {
    let server = RedisServer::start();
    let store = server.url();
    let list = || {
        let output = linchpin(&["queues", "list", "--store", &store, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let queues: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let names = queues.as_array().expect("a list").iter().filter(|queue| queue["paused"] == true);
        names.map(|queue| queue["queue"].to_string()).collect::<Vec<_>>()
    };
    assert!(list().is_empty());
    let output = linchpin(&["queues", "pause", "mail", "--store", &store]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "queue mail paused\n".into())
    );
    assert_eq!(list(), ["\"mail\""]);
    let output = linchpin(&["queues", "resume", "mail", "--store", &store, "--json"]);
    assert_eq!(text(&output.stdout), "{\"queue\":\"mail\",\"paused\":false}\n");
    assert!(list().is_empty());
}

#[test]
fn a_configuration_that_lies_here_is_not_read_unasked_but_named() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(
        dir.path().join("config.toml"),
        "[store]\nurl = \"memory://\"\n[tasks.hi]\nexec = [\"echo\", \"hi\"]\nenv = [\"PATH\"]\n",
    )
    .expect("a file");
    let run = |variable: Option<&str>, words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_linchpin"));
        command
            .current_dir(dir.path())
            .args(words)
            .envs(variable.map(|file| ("LINCHPIN_CONFIG", file)));
        command.output().expect("the binary runs")
    };
    for words in [&["work"][..], &["jobs", "list"], &["work", "--once", "hi {}"]] {
        let output = run(None, words);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("name it with --config config.toml"), "{error}");
    }
    let output = run(Some("config.toml"), &["work", "--once", "hi {}"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(Some("none.toml"), &["jobs", "list"]);
    assert!(text(&output.stderr).contains("none.toml"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(2));
}
