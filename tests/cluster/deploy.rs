//! A bad deploy: jobs that end their worker's process, beside good ones.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use linchpin::store::settle::Death;
use linchpin::store::view::State;
use linchpin::{Attempt, TaskResult, Worker, task};

use crate::crew::{LEASE, client, client_at, full, nothing_is_left};
use crate::support::RedisServer;

const URL: &str = "LINCHPIN_CLUSTER_WORKER";

#[task(crash_limit = 2)]
async fn killer() -> TaskResult {
    std::process::abort()
}

#[task]
async fn good(attempt: Attempt, n: u32) -> TaskResult {
    tokio::time::sleep(Duration::from_millis(5)).await;
    let url = std::env::var(URL)?;
    let mut connection = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let _: () = redis::cmd("HINCRBY")
        .arg("effects")
        .arg(attempt.job_id().to_string())
        .arg(1)
        .query_async(&mut connection)
        .await?;
    let _ = n;
    Ok(())
}

/// The worker process of the test below: does nothing in an ordinary run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(URL) else { return };
    let client = client_at(&url).await;
    let worker = Worker::builder(&client).concurrency(8).lease(LEASE).task::<killer>().task::<good>();
    worker
        .build()
        .expect("a worker")
        .run(std::future::pending::<()>())
        .await
        .expect("runs for ever");
}

fn spawn(url: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["deploy::worker_process", "--exact"])
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("a process")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_kill_their_worker_are_buried_and_the_good_ones_all_end_done() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let (killers, goods) = if full() { (5, 400) } else { (2, 100) };
    let mut bad = Vec::new();
    for n in 0..goods {
        client.enqueue(good { n }).await.expect("an enqueue");
        if n % (goods / killers) == 0 {
            bad.push(client.enqueue(killer {}).await.expect("an enqueue").id());
        }
    }
    let mut workers: Vec<Child> = (0..2).map(|_| spawn(&server.url())).collect();
    let begun = Instant::now();
    loop {
        for worker in &mut workers {
            if worker.try_wait().expect("a child").is_some() {
                *worker = spawn(&server.url());
            }
        }
        if client.census().await.expect("a read").pending() == 0 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "{:?}", client.census().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for mut worker in workers {
        worker.kill().expect("a child");
        worker.wait().expect("a child");
    }
    for id in bad {
        let view = client.job(id).await.expect("a read").expect("kept");
        assert!(
            matches!(&view.state, State::Dead { death: Death::Crashed, reason } if reason.contains("worker")),
            "{view:?}"
        );
        client.delete(id).await.expect("a delete");
    }
    assert_eq!(client.census().await.expect("a read").dead, 0, "no good one was buried");
    let effects = server.command(&["HLEN", "effects"]).expect("a command");
    assert_eq!(effects.trim(), format!(":{goods}"), "each good one had its effect");
    // what killed workers left behind, cards among it, goes with the heartbeats of others
    nothing_is_left(&client, &["claims", "active"]).await;
}
