//! `linchpin work`: commands as tasks, through the whole path, and nothing of them outlives its attempt.

use std::path::Path;
use std::time::Duration;

use linchpin::Client;
use linchpin::store::settle::Outcome;
use linchpin::store::view::State;
use rustix::process::{Pid, Signal, test_kill_process_group};

#[allow(dead_code)]
mod shop;

use shop::server::RedisServer;
use shop::{Shop, TASKS, linchpin, text, until, written};

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
    assert!(text(&output.stderr).contains("INFO"), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains('\u{1b}'), "colours are for a terminal");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_of_any_length_is_on_standard_input() {
    let shop = Shop::open(TASKS).await;
    for length in [4096, 60_000] {
        let job = serde_json::json!({"text": "x".repeat(length), "n": length});
        let id = shop.job("tell", &job.to_string());
        assert_eq!(shop.attempt(id).await.outcome, Outcome::Done);
        let stdin = std::fs::read_to_string(shop.path("stdin")).expect("a file");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&stdin).expect("JSON"), job);
    }
}

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
            .replace("kill_grace = \"200ms\"", "kill_grace = \"1s\"")
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
async fn a_command_whose_lease_was_lost_ends_at_once_with_its_group() {
    let mut shop = Shop::open(&TASKS.replace("kill_grace = \"200ms\"", "kill_grace = \"1s\"")).await;
    let id = shop.job("long", "{}");
    let alive = group_of(&shop.path("pid")).await;
    shop.signal(Signal::STOP);
    // lease 2 s, and the grace of its locks
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(alive(), "a command goes on while its worker is paused");
    std::fs::remove_file(shop.path("pid")).expect("a file");
    shop.signal(Signal::CONT);
    until("an empty group", async || !alive()).await;
    let attempt = shop.attempt(id).await;
    assert_eq!(attempt.outcome, Outcome::Crashed, "{attempt:?}");
    // taken again, it runs again: end it
    written(&shop.path("pid")).await;
    shop.client.cancel(id).await.expect("an answer");
    shop.signal(Signal::TERM);
    assert!(shop.worker.take().expect("it runs").wait().expect("our own child").success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_group_has_the_grace_not_its_leader_alone() {
    let tasks = r#"
[tasks.orderly]
exec = ["/bin/sh", "-c", "(trap 'sleep 0.5; echo tidied > DIR/tidied; exit 0' TERM; echo ready > DIR/ready; while :; do sleep 0.05; done) & trap 'exit 0' TERM; wait"]
kill_grace = "1s"
env = ["PATH"]
"#;
    let shop = Shop::open(tasks).await;
    let id = shop.job("orderly", "{}");
    written(&shop.path("ready")).await;
    shop.client.cancel(id).await.expect("an answer");
    assert_eq!(shop.attempt(id).await.outcome, Outcome::Cancelled);
    assert_eq!(
        std::fs::read_to_string(shop.path("tidied")).expect("written in the grace"),
        "tidied\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_characters_of_a_job_are_shown_not_sent_to_the_terminal() {
    let shop = Shop::open(TASKS).await;
    let id = shop.job("loud", "{}");
    assert_eq!(shop.attempt(id).await.outcome, Outcome::Dead);
    let store = shop.server.url();
    for words in [vec!["jobs", "show"], vec!["explain"], vec!["attempts", "--job"]] {
        let id = id.to_string();
        let output = linchpin(&[&words[..], &[&id, "--store", &store]].concat());
        let said = text(&output.stdout);
        assert!(
            !said.contains('\u{1b}') && said.contains("[31mred"),
            "{words:?}: {said:?} {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_worker_that_could_do_nothing_does_not_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("config.toml");
    let file = path.to_str().expect("a path");
    for (config, said) in [
        ("[store]\nurl = \"memory://\"\n", "add a `[tasks.NAME]`"),
        (
            "[store]\nurl = \"memory://\"\n[tasks.a]\nexec = [\"/bin/true\"]\ndirectory = \"/no/such/folder\"\n",
            "tasks.a.directory: `/no/such/folder` is no directory",
        ),
    ] {
        std::fs::write(&path, config).expect("a file");
        let output = linchpin(&["work", "--config", file]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
    std::fs::write(&path, "[store]\nurl = \"memory://\"\n").expect("a file");
    let output = linchpin(&["config", "check", "--config", file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("[tasks.NAME]"));
}
