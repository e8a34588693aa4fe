//! A Redis that misbehaves under locks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use linchpin::lock::{Loss, ReleaseAnswer};
use linchpin::names::Namespace;
use linchpin::store::redis::RedisStore;
use linchpin::{Client, Error};

use crate::support::{Fault, Proxy, RedisServer, WallClock, within};

pub async fn store(url: &str) -> Arc<RedisStore> {
    let namespace = Namespace::new("t").expect("a name");
    Arc::new(RedisStore::connect(url, &namespace).await.expect("our own server"))
}

/// Whether the long counts are asked for.
fn full() -> bool {
    std::env::var_os("LINCHPIN_FULL").is_some()
}

async fn client(url: &str) -> Client {
    Client::on(store(url).await)
}

pub fn digest(store: &RedisStore, script: &str) -> Vec<u8> {
    let mut scripts = store.scripts().into_iter();
    scripts.find(|(name, _)| *name == script).expect("a script of ours").1.into_bytes()
}

#[tokio::test]
async fn an_acquire_whose_reply_is_lost_is_one_hold() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = store(&proxy.url()).await;
    let client = Client::on(store.clone());
    client.lock("k").run(|_| async {}).await.expect("the scripts are known from here");
    proxy.set(Fault::DropReplies {
        pattern: digest(&store, "acquire"),
        every: 2,
    });
    for _ in 0..3 {
        let dropped = proxy.dropped();
        let guard = within("the lock", client.lock("k").try_acquire()).await.expect("free");
        let again = within("the lock", client.lock("l").try_acquire()).await.expect("free");
        assert!(proxy.dropped() > dropped, "one of them lost its reply");
        for guard in [guard, again] {
            guard.release().await.expect("an answer");
        }
        let keys = client.store().keys().await.expect("a read");
        assert!(!keys.iter().any(|(key, _)| key.starts_with("lock:")), "one release frees: {keys:?}");
    }
}

#[tokio::test]
async fn an_unreachable_store_is_not_a_busy_lock() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let client = client(&proxy.url()).await;
    let guard = client.lock("k").acquire().await.expect("free");
    proxy.set(Fault::Refuse);
    proxy.reset();
    let error = within("an answer", client.lock("l").try_acquire())
        .await
        .expect_err("nobody answers");
    assert!(matches!(error, Error::Unreachable { .. } | Error::Unknown { .. }), "{error}");
    assert!(guard.release().await.is_err(), "no definite answer yet");
    proxy.set(Fault::None);
    assert_eq!(
        within("an answer", guard.release()).await.expect("there again"),
        ReleaseAnswer::Released
    );
}

#[tokio::test]
async fn a_hold_whose_renewals_find_no_answer_is_lost_in_time() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let client = client(&proxy.url()).await;
    let guard = client.lock("k").renewed(Duration::from_secs(1)).acquire().await.expect("free");
    proxy.set(Fault::BlackHole);
    assert_eq!(within("the loss", guard.lost()).await, Loss::Unanswered);
    assert!(guard.valid_until().passed());
    proxy.set(Fault::None);
    assert!(within("an answer", guard.release()).await.is_ok());
}

#[tokio::test]
async fn a_lock_deleted_under_its_holder_is_lost_at_the_next_renewal() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let guard = client.lock("k").renewed(Duration::from_secs(3)).acquire().await.expect("free");
    server.command(&["DEL", "{t}:lock:k"]).expect("our own server");
    let deleted = Instant::now();
    assert_eq!(within("the loss", guard.lost()).await, Loss::Expired);
    assert!(
        deleted.elapsed() < Duration::from_millis(1500),
        "one renew interval: {:?}",
        deleted.elapsed()
    );
    let next = client.lock("k").acquire().await.expect("a renewal takes nothing again");
    assert!(next.fence() > guard.fence());
}

#[tokio::test]
async fn fences_grow_after_all_data_are_lost() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let before = client.lock("k").acquire().await.expect("free");
    server.command(&["FLUSHALL"]).expect("our own server");
    let after = client.lock("k").acquire().await.expect("free");
    assert!(after.fence() > before.fence());
}

#[tokio::test]
async fn a_user_without_channels_waits_and_gets_the_lock() {
    let server = RedisServer::options().tcp().start();
    let user = ["ACL", "SETUSER", "deaf", "on", ">pw", "~*", "+@all", "resetchannels"];
    server.command(&user).expect("our own server");
    let url = format!("redis://deaf:pw@127.0.0.1:{}", server.port());
    let (one, other) = (client(&url).await, client(&url).await);
    let guard = one.lock("k").acquire().await.expect("free");
    let waiting = tokio::spawn(async move { other.lock("k").acquire().await.map(|guard| guard.fence()) });
    within("a line", async {
        while one.census().await.expect("a read").parked != 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    guard.release().await.expect("an answer");
    let fence = within("the lock", waiting).await.expect("no panic").expect("the lock");
    assert!(fence > guard.fence());
}

/// Hand-overs between two processes; answers the longest wait of any.
async fn hand_over(clients: [Client; 2], times: usize) -> Duration {
    let runs = clients.map(|client| {
        tokio::spawn(async move {
            let mut longest = Duration::ZERO;
            let mut last = None;
            for _ in 0..times {
                let asked = Instant::now();
                let guard = within("the lock", client.lock("k").acquire()).await.expect("the lock");
                longest = longest.max(asked.elapsed());
                assert!(Some(guard.fence()) > last);
                last = Some(guard.fence());
                guard.release().await.expect("an answer");
            }
            longest
        })
    });
    let mut longest = Duration::ZERO;
    for run in runs {
        longest = longest.max(run.await.expect("no panic"));
    }
    longest
}

#[tokio::test]
async fn hand_overs_go_on_while_push_connections_are_killed_and_scripts_flushed() {
    let server = RedisServer::start();
    let clients = [client(&server.url()).await, client(&server.url()).await];
    let (times, every, bound) = match full() {
        true => (5000, 50, 1500),
        false => (300, 20, 2500),
    };
    let handing = hand_over(clients, times);
    let mut nasty = server.connection().await;
    let killing = async {
        let mut every = tokio::time::interval(Duration::from_millis(every));
        loop {
            every.tick().await;
            let _: redis::RedisResult<i64> = redis::cmd("CLIENT")
                .arg("KILL")
                .arg("TYPE")
                .arg("pubsub")
                .query_async(&mut nasty)
                .await;
            let _: redis::RedisResult<()> = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut nasty).await;
        }
    };
    let longest = tokio::select! {
        longest = handing => longest,
        () = killing => unreachable!("it goes on"),
    };
    eprintln!("longest wait {longest:?}");
    assert!(longest < Duration::from_millis(bound), "longest wait {longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_tasks_lock_while_scripts_are_flushed_without_an_error() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let rounds = if full() { 200 } else { 15 };
    let tasks: Vec<_> = (0..200)
        .map(|task| {
            let client = client.clone();
            tokio::spawn(async move {
                for round in 0..rounds {
                    let key = format!("k{}", (task + round) % 100);
                    let guard = client.lock(key).acquire().await.expect("the lock");
                    assert!(guard.is_valid());
                    assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::Released);
                }
            })
        })
        .collect();
    let mut nasty = server.connection().await;
    let flushing = tokio::spawn(async move {
        loop {
            let _: redis::RedisResult<()> = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut nasty).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(180), task)
            .await
            .expect("in time")
            .expect("no error");
    }
    flushing.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_holds_are_all_renewed_in_time() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let (holds, lease, lasts) = match full() {
        true => (50_000, 5, 60),
        false => (2000, 2, 5),
    };
    let mut guards = Vec::with_capacity(holds);
    for piece in (0..holds).collect::<Vec<_>>().chunks(500) {
        let locks = piece.iter().map(|n| {
            let lock = client.lock(format!("k{n}")).renewed(Duration::from_secs(lease));
            tokio::spawn(lock.try_acquire())
        });
        for taken in locks.collect::<Vec<_>>() {
            guards.push(taken.await.expect("no panic").expect("free"));
        }
    }
    tokio::time::sleep(Duration::from_secs(lasts)).await;
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    assert_eq!(lost, 0, "of {holds}");
    drop(guards);
    client.close().await.expect("all released");
}

#[tokio::test]
async fn many_locks_used_once_leave_nothing() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    for number in 0..300 {
        client.lock(format!("k{number}")).run(|_| async {}).await.expect("free");
    }
    let keys: Vec<String> = client
        .store()
        .keys()
        .await
        .expect("a read")
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert!(keys.len() <= 2 && !keys.iter().any(|key| key.starts_with("lock:")), "{keys:?}");
}

const SHIFTED: &str = "LINCHPIN_SHIFTED_CLIENT";

/// Adds one to a number in Redis as often as told, by reading and writing it under a lock.
async fn add(client: &Client, server: redis::Client, times: usize) {
    let mut connection = server.get_multiplexed_async_connection().await.expect("our own server");
    for _ in 0..times {
        let lock = client.lock("k").wait(Duration::from_secs(30));
        let guard = within("the lock", lock.acquire()).await.expect("in turn");
        let number: Option<u64> = redis::cmd("GET").arg("n").query_async(&mut connection).await.expect("a read");
        tokio::time::sleep(Duration::from_millis(2)).await;
        let number = number.unwrap_or_default() + 1;
        let fence: u64 = guard.fence().0;
        let last: Option<u64> = redis::cmd("GETSET")
            .arg("fence")
            .arg(fence)
            .query_async(&mut connection)
            .await
            .expect("a write");
        assert!(last.unwrap_or_default() < fence, "fences grow");
        let _: () = redis::cmd("SET")
            .arg("n")
            .arg(number)
            .query_async(&mut connection)
            .await
            .expect("a write");
        guard.release().await.expect("an answer");
    }
}

/// A process whose wall clock is off: does nothing in an ordinary run.
#[tokio::test]
async fn shifted_client() {
    let Ok(url) = std::env::var(SHIFTED) else { return };
    add(&client(&url).await, redis::Client::open(url).expect("an URL"), 50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_an_hour_apart_exclude_each_other_all_the_same() {
    let (ahead, behind) = (WallClock::off_by(3_600_000), WallClock::off_by(-3_600_000));
    let server = RedisServer::options().environment(ahead.environment()).start();
    let mut process = std::process::Command::new(std::env::current_exe().expect("this test"));
    process.args(["faults::shifted_client", "--exact"]).env(SHIFTED, server.url());
    process.envs(behind.environment()).stdout(std::process::Stdio::null());
    let mut process = process.spawn().expect("a process");
    let client = client(&server.url()).await;
    add(&client, server.client(), 50).await;
    let ended = tokio::task::spawn_blocking(move || process.wait()).await.expect("no panic");
    assert!(ended.expect("our own child").success());
    assert!(server.command(&["GET", "n"]).expect("a read").contains("100"));
}

#[tokio::test]
async fn a_server_clock_that_jumps_ends_holds_and_fences_grow_on() {
    let clock = WallClock::off_by(0);
    let server = RedisServer::options().environment(clock.environment()).start();
    let client = client(&server.url()).await;
    let before = client.lock("k").lease(Duration::from_secs(30)).try_acquire().await.expect("free");
    let renewed = client.lock("l").try_acquire().await.expect("free");
    clock.set(3_600_000);
    let after = client.lock("k").try_acquire().await.expect("its time is over for the server");
    assert!(after.fence() > before.fence());
    assert_eq!(before.release().await.expect("an answer"), ReleaseAnswer::NotHeld);
    let loss = within("the loss", renewed.lost()).await;
    assert_eq!(loss, Loss::Expired, "found by the next renewal");
    clock.set(-3_600_000);
    assert_eq!(after.release().await.expect("an answer"), ReleaseAnswer::Released);
    let last = client.lock("k").try_acquire().await.expect("free");
    assert!(last.fence() > after.fence(), "though the clock stepped back");
    let began = calls(&server, "evalsha");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(calls(&server, "evalsha") - began < 20, "nothing spins");
    last.release().await.expect("an answer");
}

/// How often a command was called.
pub fn calls(server: &RedisServer, command: &str) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).expect("a read");
    let line = stats
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |line| line.split(',').next().unwrap_or("0").parse().expect("a number"))
}
