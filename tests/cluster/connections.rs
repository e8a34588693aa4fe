//! Connections and scripts that go away under load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use linchpin::{Attempt, Client, Data, TaskResult, Worker, task};

use crate::crew::{Crew, Ledger, client, client_at, drained, full, nothing_is_left, shared};
use crate::support::{Fault, Proxy, RedisServer, within};

#[task(lock = "sku:{sku}")]
async fn brief(attempt: Attempt, ledger: Data<Arc<Ledger>>, sku: u32) -> TaskResult {
    let key = sku.to_string();
    ledger.enter(&key);
    tokio::time::sleep(Duration::from_millis(2)).await;
    ledger.leave(&key);
    ledger.effect(attempt.job_id());
    Ok(())
}

async fn fill(client: &Client, jobs: u32) {
    for answer in client
        .enqueue_many((0..jobs).map(|n| brief { sku: n % 50 }))
        .await
        .expect("a bulk enqueue")
    {
        answer.expect("accepted");
    }
}

fn exact(ledger: &Ledger, jobs: u32) {
    let overlaps = ledger.overlaps.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!((ledger.jobs(), ledger.doubled(), overlaps), (jobs as usize, vec![], 0));
}

/// Sends a command again and again while workers drain the queue.
async fn under(words: &'static [&'static str], every: Duration) {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    let (jobs, lasts) = if full() {
        (60_000, Duration::from_secs(30))
    } else {
        (6000, Duration::from_secs(4))
    };
    fill(&client, jobs).await;
    let crew = Crew::start((0..2).map(|_| Worker::builder(&client).task::<brief>().data(ledger.clone())));
    let begun = Instant::now();
    while begun.elapsed() < lasts {
        server.command(words).expect("a command of the test");
        tokio::time::sleep(every).await;
    }
    within("the rest", drained(&client)).await;
    crew.stop().await;
    exact(&ledger, jobs);
    nothing_is_left(&client, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_connections_lose_and_double_nothing() {
    under(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"], Duration::from_millis(100)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushed_scripts_lose_and_double_nothing() {
    under(&["SCRIPT", "FLUSH"], Duration::from_millis(50)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_claims_again_within_five_seconds_of_a_black_hole() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (through, direct) = (client_at(&proxy.url()).await, client(&server).await);
    let ledger: Arc<Ledger> = shared();
    let crew = Crew::start([Worker::builder(&through).task::<brief>().data(ledger.clone())]);
    fill(&direct, 100).await;
    within("the first jobs", drained(&direct)).await;
    proxy.set(Fault::BlackHole);
    tokio::time::sleep(Duration::from_secs(3)).await;
    fill(&direct, 100).await;
    proxy.set(Fault::None);
    let ended = Instant::now();
    within("the jobs after it", drained(&direct)).await;
    assert!(
        ended.elapsed() < Duration::from_secs(8),
        "claimed again and drained after {:?}",
        ended.elapsed()
    );
    crew.stop().await;
    exact(&ledger, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_restarted_with_its_log_loses_and_doubles_nothing() {
    let mut server = RedisServer::options().append_only().start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    fill(&client, 3000).await;
    let crew = Crew::start((0..2).map(|_| Worker::builder(&client).task::<brief>().data(ledger.clone())));
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.kill();
    server.restart();
    within("the rest", drained(&client)).await;
    crew.stop().await;
    exact(&ledger, 3000);
    nothing_is_left(&client, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_tells_of_its_tasks_anew_after_the_data_were_lost() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    let crew = Crew::start([Worker::builder(&client).task::<brief>().data(ledger.clone())]);
    fill(&client, 10).await;
    within("the first jobs", drained(&client)).await;
    server.command(&["FLUSHALL"]).expect("a command of the test");
    let told = async {
        while client.tasks().await.expect("the tasks").get("brief").is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    within("the worker's word", told).await;
    fill(&client, 10).await;
    within("the jobs after it", drained(&client)).await;
    crew.stop().await;
    exact(&ledger, 20);
}
