//! `linchpin locks`: who holds what, who waits in which order, and breaking a lock.

use std::time::Duration;

use linchpin::Client;
use linchpin::lock::Loss;
use linchpin::store::settle::Outcome;

#[allow(dead_code)]
mod shop;

use shop::server::RedisServer;
use shop::{Shop, linchpin, text, until};

fn ask(store: &str, words: &[&str]) -> (Option<i32>, String, String) {
    let output = linchpin(&[&["locks"], words, &["--store", store]].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_listed_shown_with_its_line_and_broken_and_its_holder_is_told() {
    let server = RedisServer::start();
    let store = server.url();
    let client = Client::connect(&store).await.expect("our own server");
    let (code, out, _) = ask(&store, &["list"]);
    assert!(code == Some(0) && out.contains("nobody holds a lock"), "{out}");
    let guard = client.lock("inventory:A1").try_acquire().await.expect("free");
    let other = Client::connect(&store).await.expect("our own server");
    let waiting = tokio::spawn(async move { other.lock("inventory:A1").acquire().await });
    until("somebody in line", async || {
        client
            .lock_line("inventory:A1")
            .await
            .expect("a read")
            .is_some_and(|line| line.lock.waiters == 1)
    })
    .await;

    let (_, list, _) = ask(&store, &["list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let lock = &list["locks"][0];
    assert_eq!((&lock["key"], &lock["waiters"]), (&"inventory:A1".into(), &1.into()));
    assert_eq!(lock["holder"]["fence"], guard.fence().0);
    assert!(lock["holder"]["left_ms"].as_u64().is_some_and(|left| left > 10_000), "{list}");
    let (code, shown, _) = ask(&store, &["show", "inventory:A1"]);
    assert!(
        code == Some(0) && shown.contains("held by   process") && shown.contains("1   client"),
        "{shown}"
    );
    let (code, _, error) = ask(&store, &["show", "inventory:a1"]);
    assert!(code == Some(1) && error.contains("did you mean inventory:A1?"), "{error}");

    let (code, out, _) = ask(&store, &["break", "inventory:A1"]);
    assert!(code == Some(0) && out.contains(&format!("under fence {}", guard.fence())), "{out}");
    let lost = tokio::time::timeout(Duration::from_secs(10), guard.lost()).await.expect("told");
    assert_eq!(lost, Loss::Broken);
    let next = waiting.await.expect("no panic").expect("the next in line");
    next.release().await.expect("an answer");
    assert_eq!(ask(&store, &["break", "inventory:A1"]).0, Some(1), "nobody holds it");
    let (code, _, error) = ask(&store, &["show", ""]);
    assert!(code == Some(2) && error.contains("lock key"), "{error}");
}

const TASKS: &str = r#"
[tasks.slow]
exec = ["/bin/sh", "-c", "echo x >> DIR/runs; if [ $(wc -l < DIR/runs) = 1 ]; then echo in > DIR/in; sleep 20; fi"]
lock = "shelf"
env = ["PATH"]
kill_grace = "0s"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_break_the_holders_settle_is_refused_and_its_job_runs_again() {
    let shop = Shop::open(TASKS).await;
    let job = shop.job("slow", "{}");
    shop::written(&shop.path("in")).await;
    let (_, shown, _) = ask(&shop.server.url(), &["show", "shelf"]);
    assert!(shown.contains(&format!("job {job}")), "{shown}");
    assert_eq!(ask(&shop.server.url(), &["break", "shelf"]).0, Some(0));
    assert_eq!(shop.attempt(job).await.outcome, Outcome::LeaseLost);
    until("the second run", async || shop.client.census().await.expect("a read").jobs == 0).await;
    assert_eq!(std::fs::read_to_string(shop.path("runs")).expect("a file").lines().count(), 2);
}
