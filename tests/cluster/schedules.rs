//! A schedule across worker processes that are killed, and a server that freezes, forgets its scripts and is started anew: each tick once, none lost.
//!
//! The wall clocks of the replicas are off by up to three seconds, each by its own: none of them decides anything, the instants come from the
//! server's answers.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use linchpin::schedule::{Missed, Overlap, Schedule};
use linchpin::{Attempt, Client, TaskResult, Worker, task};

use crate::crew::{LEASE, client_at, full};
use crate::support::{RedisServer, WallClock};

const URL: &str = "LINCHPIN_CLUSTER_TICKER";

#[task]
async fn tick(attempt: Attempt) -> TaskResult {
    let tick = attempt.tick().expect("a tick");
    let url = std::env::var(URL)?;
    let mut connection = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let _: () = redis::cmd("HSET")
        .arg("ticks")
        .arg(format!("{} {}", tick.at.timestamp(), attempt.job_id()))
        .arg(1)
        .query_async(&mut connection)
        .await?;
    Ok(())
}

/// A replica: does nothing in an ordinary run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replica() {
    let Ok(url) = std::env::var(URL) else { return };
    let client = client_at(&url).await;
    let schedule = Schedule::every("pulse", "1s")
        .job(tick {})
        .overlap(Overlap::Allow)
        .missed(Missed::FireAll { limit: 100 });
    let worker = Worker::builder(&client).lease(LEASE).task::<tick>().schedule(schedule);
    worker
        .build()
        .expect("a worker")
        .run(std::future::pending::<()>())
        .await
        .expect("runs for ever");
}

fn spawn(url: &str, clock: &WallClock) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["schedules::replica", "--exact"])
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.envs(clock.environment());
    command.spawn().expect("a process")
}

/// The jobs that were seen of each tick.
fn seen(server: &RedisServer) -> BTreeMap<i64, Vec<String>> {
    let mut connection = server.client().get_connection().expect("our own server");
    let fields: Vec<String> = redis::cmd("HKEYS").arg("ticks").query(&mut connection).expect("a read");
    let mut ticks: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for field in fields {
        let (at, job) = field.split_once(' ').expect("written by the task");
        ticks.entry(at.parse().expect("seconds")).or_default().push(job.to_owned());
    }
    ticks
}

async fn survives(faults: usize, fault: impl Fn(&mut RedisServer, &mut Vec<Child>, &[WallClock], usize)) {
    let mut server = RedisServer::options().append_only().start();
    let url = server.url();
    let count = if full() { 8 } else { 4 };
    let clocks: Vec<WallClock> = (0..count).map(|n| WallClock::off_by(n * 6000 / (count - 1) - 3000)).collect();
    let mut replicas: Vec<Child> = clocks.iter().map(|clock| spawn(&url, clock)).collect();
    let begun = Instant::now();
    let mut done = 0;
    while done < faults {
        tokio::time::sleep(Duration::from_secs(3)).await;
        if done > 0 || !seen(&server).is_empty() {
            fault(&mut server, &mut replicas, &clocks, done);
            done += 1;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "no tick");
    }
    // until a tick of after the faults has run, and what it may have left behind
    let client: Client = client_at(&url).await;
    let last = client.schedules().await.expect("a read")[0].next.expect("a tick").at.timestamp();
    while seen(&server).last_key_value().is_none_or(|(at, _)| *at < last + 2) {
        assert!(begun.elapsed() < Duration::from_secs(300), "ticks end: {:?}", seen(&server));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    while client.census().await.expect("a read").jobs > 0 && begun.elapsed() < Duration::from_secs(300) {
        client.pause_schedule("pulse").await.expect("an answer");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for mut replica in replicas {
        replica.kill().expect("a child");
        replica.wait().expect("a child");
    }
    let ticks = seen(&server);
    let (first, last) = (*ticks.keys().next().expect("a tick"), *ticks.keys().last().expect("a tick"));
    assert_eq!(ticks.len() as i64, last - first + 1, "lost: {:?}", ticks.keys());
    assert!(ticks.values().all(|jobs| jobs.len() == 1), "doubled: {ticks:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_once_while_replicas_are_killed() {
    survives(if full() { 40 } else { 3 }, |server, replicas, clocks, n| {
        let at = n % replicas.len();
        replicas[at].kill().expect("a child");
        replicas[at].wait().expect("a child");
        replicas[at] = spawn(&server.url(), &clocks[at]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_once_while_the_server_freezes_restarts_and_forgets_its_scripts() {
    survives(if full() { 12 } else { 3 }, |server, _, _, n| match n % 3 {
        0 => {
            server.pause();
            std::thread::sleep(Duration::from_secs(if full() { 5 } else { 3 }));
            server.cont();
        }
        1 => {
            server.kill();
            server.restart();
        }
        _ => drop(server.command(&["SCRIPT", "FLUSH"]).expect("a command")),
    })
    .await;
}
