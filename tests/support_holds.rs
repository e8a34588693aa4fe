//! The ground the other tests stand on holds: servers start, stop and come back; each fault of the proxy is one.
mod support;

use redis::AsyncCommands;
use support::{Fault, Proxy, RedisServer, WallClock, within};

async fn connect(url: &str) -> redis::RedisResult<redis::aio::MultiplexedConnection> {
    redis::Client::open(url)?.get_multiplexed_async_connection().await
}

#[tokio::test]
async fn a_server_keeps_its_data_through_a_kill_when_it_appends() {
    let mut server = RedisServer::options().append_only().start();
    let _: () = server.connection().await.set("k", "v").await.unwrap();
    server.kill();
    assert!(server.command(&["PING"]).is_err());
    server.restart();
    let value: String = server.connection().await.get("k").await.unwrap();
    assert_eq!(value, "v");
    server.pause();
    server.cont();
    assert!(server.command(&["DBSIZE"]).unwrap().contains(":1"));
    server.stop();
}

#[tokio::test]
async fn a_server_with_a_password_answers_only_with_it() {
    let server = RedisServer::options().tcp().password("s3cret").start();
    assert!(server.command(&["PING"]).unwrap().contains("PONG"));
    let _: () = server.connection().await.set("k", "v").await.unwrap();
    assert!(
        connect(&format!("redis://127.0.0.1:{}", server.port()))
            .await
            .unwrap()
            .get::<_, String>("k")
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_dropped_reply_was_applied_and_a_dropped_request_was_not() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let pattern = b"counter".to_vec();
    proxy.set(Fault::DropReplies {
        pattern: pattern.clone(),
        every: 1,
    });
    let mut through = connect(&proxy.url()).await.unwrap();
    assert!(within("reset", through.incr::<_, _, i64>("counter", 1)).await.is_err());
    within("dropped", proxy.wait_dropped(1)).await;
    let mut direct = server.connection().await;
    assert_eq!(direct.get::<_, i64>("counter").await.unwrap(), 1);

    proxy.set(Fault::DropRequests { pattern, every: 1 });
    let mut through = connect(&proxy.url()).await.unwrap();
    assert!(within("reset", through.incr::<_, _, i64>("counter", 1)).await.is_err());
    assert_eq!(direct.get::<_, i64>("counter").await.unwrap(), 1);

    proxy.set(Fault::None);
    let mut through = connect(&proxy.url()).await.unwrap();
    assert_eq!(through.incr::<_, _, i64>("counter", 1).await.unwrap(), 2);
    proxy.reset();
    assert!(within("reset", through.incr::<_, _, i64>("counter", 1)).await.is_err());
}

#[tokio::test]
async fn a_black_hole_is_silent_until_it_ends() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let client = redis::Client::open(proxy.url()).unwrap();
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let mut through = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    proxy.set(Fault::BlackHole);
    let mut asking = through.clone();
    let mut asked = tokio::spawn(async move { asking.incr::<_, _, i64>("n", 1).await });
    let answered = tokio::time::timeout(std::time::Duration::from_millis(50), &mut asked).await;
    assert!(answered.is_err(), "answered through a black hole");
    proxy.set(Fault::None);
    assert_eq!(within("answered", asked).await.unwrap().unwrap(), 1);
    proxy.set(Fault::CutAfter(4));
    within("cut", async { while through.incr::<_, _, i64>("n", 1).await.is_ok() {} }).await;
    proxy.set(Fault::Refuse);
    assert!(connect(&proxy.url()).await.is_err());
}

#[test]
fn a_wall_clock_is_off_for_who_was_given_it_and_can_be_set_meanwhile() {
    let now = || {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs() as i64
    };
    let clock = WallClock::off_by(3_600_000);
    let server = RedisServer::options().environment(clock.environment()).start();
    let off = || {
        let reply = server.command(&["TIME"]).unwrap();
        reply.lines().nth(2).unwrap().parse::<i64>().unwrap() - now()
    };
    assert!((3590..=3610).contains(&off()), "{}", off());
    clock.set(-3_600_000);
    assert!((-3610..=-3590).contains(&off()), "{}", off());
}
