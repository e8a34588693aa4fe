//! Locks shared with Java programs: the real Redisson on the other side (docs/redisson.md).
//!
//! Needs java, and Redisson as `scripts/test` fetches it with Maven; where one is absent these tests say so and check nothing.
#![cfg(all(feature = "redis", feature = "macros"))]
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use linchpin::{Client, Data, TaskResult, Worker, task};
use tokio::sync::Notify;

mod support;

use support::{RedisServer, within};

const KEY: &str = "inventory:A1";
/// The same lock as Java names it.
const JAVA_KEY: &str = "{linchpin}:lock:inventory:A1";

/// A Java process that takes locks as it is told.
struct Peer {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(server: &RedisServer) -> Option<Self> {
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/target/redisson");
        let Ok(libraries) = std::fs::read_to_string(format!("{built}/classpath")) else {
            eprintln!("not checked: Redisson is not here (`scripts/test` fetches it with mvn)");
            return None;
        };
        let mut process = Command::new("java")
            .args(["-cp", &format!("{built}/classes:{}", libraries.trim()), "Peer", &server.url()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("java runs");
        let orders = process.stdin.take().expect("piped");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        let mut peer = Self { process, orders, answers };
        assert_eq!(peer.answer(), "ready");
        Some(peer)
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("the peer listens");
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the peer answers");
        line.trim().to_owned()
    }

    fn ask(&mut self, order: &str) -> String {
        self.order(&format!("{order} {JAVA_KEY}"));
        self.answer()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn shared() -> Option<(RedisServer, Client, Peer)> {
    let server = RedisServer::options().tcp().start();
    let peer = Peer::start(&server)?;
    let client = Client::builder(&server.url())
        .redisson(true)
        .connect()
        .await
        .expect("our own server");
    Some((server, client, peer))
}

/// How long Java waited for the lock, by its own clock.
fn waited(answer: &str) -> Duration {
    let ms = answer.strip_prefix("held ").unwrap_or_else(|| panic!("{answer}"));
    Duration::from_millis(ms.parse().expect("milliseconds"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_side_excludes_the_other() {
    let Some((_server, client, mut peer)) = shared().await else {
        return;
    };
    let ours = client.lock(KEY).try_acquire().await.expect("free");
    assert_eq!(peer.ask("try"), "busy");
    ours.release().await.expect("an answer");
    assert_eq!(peer.ask("try"), "held");
    assert!(matches!(client.lock(KEY).try_acquire().await, Err(linchpin::Error::Busy { .. })));
    assert_eq!(peer.ask("unlock"), "unlocked");
    client
        .lock(KEY)
        .try_acquire()
        .await
        .expect("free")
        .release()
        .await
        .expect("an answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_java_holds_several_times_is_its_own_until_the_last_unlock() {
    let Some((_server, client, mut peer)) = shared().await else {
        return;
    };
    assert_eq!(
        (peer.ask("try"), peer.ask("try"), peer.ask("holds")),
        ("held".into(), "held".into(), "holds 2".into())
    );
    assert!(client.lock(KEY).try_acquire().await.is_err());
    assert_eq!(peer.ask("unlock"), "unlocked");
    assert!(client.lock(KEY).try_acquire().await.is_err(), "held once more");
    assert_eq!(peer.ask("holds"), "holds 1");
    assert_eq!(peer.ask("unlock"), "unlocked");
    client
        .lock(KEY)
        .try_acquire()
        .await
        .expect("free")
        .release()
        .await
        .expect("an answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_java_waiter_wakes_at_our_release() {
    let Some((_server, client, mut peer)) = shared().await else {
        return;
    };
    // without word from us it would look again when our lease ends, in 17 s
    let ours = client.lock(KEY).try_acquire().await.expect("free");
    peer.order(&format!("lock {JAVA_KEY} 30000"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    ours.release().await.expect("an answer");
    let waited = waited(&peer.answer());
    assert!(waited < Duration::from_secs(3), "{waited:?}");
    assert_eq!(peer.ask("unlock"), "unlocked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_waiter_has_it_within_a_second_of_javas_unlock() {
    let Some((_server, client, mut peer)) = shared().await else {
        return;
    };
    assert_eq!(peer.ask("try"), "held");
    let waiting = tokio::spawn(async move {
        let guard = client.lock(KEY).acquire().await.expect("the lock");
        let got = Instant::now();
        guard.release().await.expect("an answer");
        got
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(peer.ask("unlock"), "unlocked");
    let freed = Instant::now();
    let got = within("the lock", waiting).await.expect("no panic");
    let took = got.saturating_duration_since(freed);
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[task(lock = "inventory:{sku}")]
async fn decrement(doors: Data<Arc<Doors>>, sku: String) -> TaskResult {
    let _ = sku;
    doors.inside.notify_one();
    doors.leave.notified().await;
    Ok(())
}

#[derive(Default)]
struct Doors {
    inside: Notify,
    leave: Notify,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_task_and_java_exclude_each_other_and_wake_each_other() {
    let Some((_server, client, mut peer)) = shared().await else {
        return;
    };
    let doors: Arc<Doors> = Arc::default();
    let worker = Worker::builder(&client)
        .task::<decrement>()
        .data(doors.clone())
        .build()
        .expect("a worker");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    assert_eq!(peer.ask("try"), "held");
    let job = client.enqueue(decrement { sku: "A1".into() }).await.expect("accepted").id();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(
        tokio::time::timeout(Duration::from_millis(1), doors.inside.notified())
            .await
            .is_err(),
        "it ran beside Java's lock"
    );
    assert_eq!(peer.ask("unlock"), "unlocked");
    let freed = Instant::now();
    within("the handler", doors.inside.notified()).await;
    assert!(freed.elapsed() < Duration::from_secs(2), "{:?}", freed.elapsed());
    assert_eq!(peer.ask("try"), "busy");
    peer.order(&format!("lock {JAVA_KEY} 30000"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    doors.leave.notify_one();
    let waited = waited(&peer.answer());
    assert!(waited < Duration::from_secs(3), "{waited:?}");
    assert_eq!(peer.ask("unlock"), "unlocked");
    within("the end", client.wait(job)).await.expect("an answer");
    drop(stop);
    within("the worker", running).await.expect("no panic").expect("no error");
}
