//! Processes that stop for a while, slow and broken links, and rows nobody understands beside live workers.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use linchpin::names::JobId;
use linchpin::store::settle::Outcome;
use linchpin::{Attempt, Client, Data, TaskResult, Worker, task};
use rustix::process::{Pid, Signal, kill_process};

use crate::crew::{Crew, LEASE, Ledger, client, client_at, drained, nothing_is_left, shared};
use crate::support::{Fault, Proxy, RedisServer, within};

const URL: &str = "LINCHPIN_PAUSED_WORKER";

/// Says that it has started, then waits to be let go on.
#[task(lock = "one")]
async fn held(attempt: Attempt, url: Data<String>) -> TaskResult {
    let mut connection = redis::Client::open(url.as_str())?.get_multiplexed_async_connection().await?;
    let _: u32 = redis::cmd("INCR")
        .arg(format!("started:{}", attempt.job_id()))
        .query_async(&mut connection)
        .await?;
    let _: (String, String) = redis::cmd("BLPOP").arg("go").arg(60).query_async(&mut connection).await?;
    Ok(())
}

/// The worker process of the test below: does nothing in an ordinary run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(URL) else { return };
    worker(&client_at(&url).await, &url)
        .lease(LEASE)
        .build()
        .expect("a worker")
        .run(std::future::pending::<()>())
        .await
        .expect("runs for ever");
}

fn worker(client: &Client, url: &str) -> linchpin::worker::WorkerBuilder {
    Worker::builder(client).concurrency(4).task::<held>().data(url.to_owned())
}

fn spawn(url: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["pauses::worker_process", "--exact"])
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("a process")
}

async fn started(server: &RedisServer, id: JobId, times: u32) {
    let key = format!("started:{id}");
    within("a start", async {
        while !server
            .command(&["GET", &key])
            .expect("a command")
            .ends_with(&format!("\r\n{times}\r\n"))
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_paused_worker_says_late_is_refused_and_it_works_on() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let first = client.enqueue(held {}).await.expect("an enqueue").id();
    let mut paused = spawn(&server.url());
    started(&server, first, 1).await;
    let pid = Pid::from_child(&paused);
    kill_process(pid, Signal::STOP).expect("our own child");

    let crew = Crew::start([worker(&client, &server.url())]);
    started(&server, first, 2).await;
    // both wait now; the paused one is the first in line
    kill_process(pid, Signal::CONT).expect("our own child");
    server.command(&["RPUSH", "go", "1", "2"]).expect("a command");
    within("the end", drained(&client)).await;
    crew.stop().await;
    let log = client.attempts(0, 100).await.expect("a read");
    let done = log.iter().filter(|entry| entry.record.outcome == Outcome::Done).count();
    assert_eq!(done, 1, "{log:?}");

    let second = client.enqueue(held {}).await.expect("an enqueue").id();
    started(&server, second, 1).await;
    server.command(&["RPUSH", "go", "1"]).expect("a command");
    within("the second", drained(&client)).await;
    paused.kill().expect("a child");
    paused.wait().expect("a child");
    // the killed process leaves its last claims and card to the fleet
    nothing_is_left(&client, &["claims", "active"]).await;
}

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

fn crew(client: &Client, ledger: &Arc<Ledger>) -> Crew {
    Crew::start((0..2).map(|_| Worker::builder(client).task::<brief>().data(ledger.clone())))
}

fn overlaps(ledger: &Ledger) -> u32 {
    ledger.overlaps.load(std::sync::atomic::Ordering::Relaxed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_paused_for_longer_than_a_lease_loses_nothing() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    fill(&client, 3000).await;
    let crew = crew(&client, &ledger);
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        server.pause();
        tokio::time::sleep(LEASE * 3).await;
        server.cont();
    }
    within("the rest", drained(&client)).await;
    crew.stop().await;
    // an attempt whose lease ended unsettled runs again, so its effect outside Linchpin may come twice; beside each other never
    assert_eq!((ledger.jobs(), overlaps(&ledger)), (3000, 0));
    nothing_is_left(&client, &[]).await;
}

async fn over(fault: Fault, jobs: u32) {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (through, direct) = (client_at(&proxy.url()).await, client(&server).await);
    let ledger: Arc<Ledger> = shared();
    fill(&direct, jobs).await;
    proxy.set(fault.clone());
    let crew = crew(&through, &ledger);
    within("all jobs", drained(&direct)).await;
    proxy.set(Fault::None);
    crew.stop().await;
    assert_eq!(
        (ledger.jobs(), ledger.doubled(), overlaps(&ledger)),
        (jobs as usize, vec![], 0),
        "{fault:?}"
    );
    nothing_is_left(&direct, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_link_loses_and_doubles_nothing() {
    over(Fault::Delay(Duration::from_millis(80)), 600).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_reset_after_every_few_replies_loses_and_doubles_nothing() {
    over(Fault::CutAfter(40_000), 1500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_drops_requests_loses_and_doubles_nothing() {
    over(
        Fault::DropRequests {
            pattern: Vec::new(),
            every: 5,
        },
        600,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_beside_live_workers_hurts_only_itself() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    let plant = |words: &[&str]| {
        let key = format!("{{cluster}}:{}", words[1]);
        let mut words = words.to_vec();
        words[1] = &key;
        let reply = server.command(&words).expect("a command");
        assert!(!reply.starts_with('-'), "{words:?}: {reply}");
    };
    let crew = crew(&client, &ledger);
    /// Long enough for the fleet to look a few times.
    const LOOKS: Duration = Duration::from_secs(2);
    let (unread, alien) = (JobId::random().to_string(), JobId::random().to_string());
    let long = "x".repeat(10_000);
    for round in 0..20 {
        fill(&client, 50).await;
        for entry in [
            "",
            "|",
            "x",
            "a,b|c",
            "\u{1}\u{2}",
            &long,
            &unread,
            &format!("{unread}|a,b,c"),
            &alien,
        ] {
            plant(&["LPUSH", "queue:default:1", entry]);
        }
        plant(&["HSET", "jobs", &unread, "no header at all"]);
        plant(&["HSET", "places", &alien, "?"]);
        plant(&["ZADD", "scheduled", "1", "garbage", "2", &format!("1default|{alien}")]);
        plant(&["ZADD", "lock_checks", "1", "nobody"]);
        plant(&["ZADD", "active", "1", &format!("garbage.{round}")]);
        plant(&["HSET", "claims", &format!("garbage.{round}"), "no claim"]);
        plant(&["RPUSH", "parked:sku:7", "garbage", &format!("1default|{alien}|sku:7")]);
        plant(&["HSET", "next", "sku:8", "garbage", "sku:9", &format!("1|x|1default|{alien}|sku:9")]);
        plant(&["ZADD", "lock_checks", "1", "sku:8", "1", "sku:9"]);
        plant(&["ZADD", "waits", "1", &alien, "2", "garbage"]);
        plant(&["HSET", "tries", &alien, "garbage"]);
        plant(&["HSET", "watched", &alien, ",,"]);
        tokio::time::sleep(LOOKS / 20).await;
    }
    within("the good ones", async {
        while ledger.jobs() < 1000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    crew.stop().await;
    assert_eq!((ledger.jobs(), ledger.doubled(), overlaps(&ledger)), (1000, vec![], 0));
    // and operators can still ask, and clear it away
    client.census().await.expect("a read");
    for id in [unread, alien] {
        let id = id.parse().expect("an id");
        client.job(id).await.expect("a read");
        client.cancel(id).await.expect("an answer");
        client.retry(id).await.expect("an answer");
        client.delete(id).await.expect("an answer");
    }
}
