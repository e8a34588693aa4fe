//! Locks as they are often written, and the moment at which each fails.

use std::time::Duration;

use redis::aio::MultiplexedConnection;

use crate::stock::Stock;
use crate::{Place, Story};

/// Frees a lock of one's own, and no other.
const COMPARE_AND_DEL: &str = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0";
/// A lease so short that a story is.
const LEASE_MS: u64 = 60;

type Told = anyhow::Result<Story>;

async fn number(redis: &mut MultiplexedConnection, words: &[&str]) -> anyhow::Result<i64> {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    Ok(command.query_async(redis).await?)
}

async fn set_nx_px(redis: &mut MultiplexedConnection, key: &str, token: &str, ms: u64) -> anyhow::Result<bool> {
    let mut command = redis::cmd("SET");
    command.arg(key).arg(token).arg("NX").arg("PX").arg(ms);
    let taken: Option<String> = command.query_async(redis).await?;
    Ok(taken.is_some())
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Whoever tries counts up and sets the expiry again.
pub async fn incr_and_expire(place: &mut Place) -> Told {
    let key = place.key("incr");
    let lease = LEASE_MS.to_string();
    number(&mut place.redis, &["INCR", &key]).await?;
    number(&mut place.redis, &["PEXPIRE", &key, &lease]).await?;
    // the holder dies here; the other tries for five leases
    let mut got = false;
    for _ in 0..10 {
        pass(LEASE_MS / 2).await;
        got |= number(&mut place.redis, &["INCR", &key]).await? == 1;
        number(&mut place.redis, &["PEXPIRE", &key, &lease]).await?;
    }
    let what = "the holder died, and every try of the other pushed the end of its lock away: never taken again";
    Ok(Story::new(what, got))
}

pub async fn setnx_for_ever(place: &mut Place) -> Told {
    let key = place.key("setnx");
    number(&mut place.redis, &["SETNX", &key, "a"]).await?;
    // the holder dies here
    let left = number(&mut place.redis, &["PTTL", &key]).await?;
    let got = number(&mut place.redis, &["SETNX", &key, "b"]).await? == 1;
    Ok(Story::new(
        format!("the holder died: the lock has no end (PTTL {left}), nobody takes anything"),
        got,
    ))
}

pub async fn setnx_then_expire(place: &mut Place) -> Told {
    let key = place.key("expire");
    number(&mut place.redis, &["SETNX", &key, "a"]).await?;
    // dies before number(&["PEXPIRE", ...])
    let left = number(&mut place.redis, &["PTTL", &key]).await?;
    let got = number(&mut place.redis, &["SETNX", &key, "b"]).await? == 1;
    Ok(Story::new(
        format!("the holder died between the two commands: no end again (PTTL {left})"),
        got,
    ))
}

/// The value is when the lock ends, on the clock of who wrote it.
pub async fn client_clocks(place: &mut Place) -> Told {
    let key = place.key("clocks");
    let mut stock = Stock::default();
    let (now_of_a, now_of_b) = (1_000_000, 1_000_000 + 60_000);
    number(&mut place.redis, &["SETNX", &key, &(now_of_a + 30_000).to_string()]).await?;
    let a = stock.read();
    let ends: i64 = redis::cmd("GET").arg(&key).query_async(&mut place.redis).await?;
    if ends < now_of_b {
        let was: i64 = redis::cmd("GETSET")
            .arg(&key)
            .arg(now_of_b + 30_000)
            .query_async(&mut place.redis)
            .await?;
        if was == ends {
            let b = stock.read();
            stock.write(b);
        }
    }
    stock.write(a);
    let what = "a clock one minute ahead took a lock that was held: two holders, one take lost";
    Ok(Story::new(what, stock.is_right(2)))
}

/// The holder outlives its lease, and deletes the lock of the next.
pub async fn bare_del(place: &mut Place) -> Told {
    let key = place.key("del");
    let mut stock = Stock::default();
    set_nx_px(&mut place.redis, &key, "a", LEASE_MS).await?;
    let a = stock.read();
    stock.write(a);
    pass(LEASE_MS * 2).await;
    let b_has = set_nx_px(&mut place.redis, &key, "b", 60_000).await?;
    let b = stock.read();
    number(&mut place.redis, &["DEL", &key]).await?; // the late release of the first
    let c_has = set_nx_px(&mut place.redis, &key, "c", 60_000).await?;
    let c = stock.read();
    stock.write(b);
    if c_has {
        stock.write(c);
    }
    let what = "the first came late and deleted the lock of the second: the third got in beside it, one take lost";
    Ok(Story::new(what, b_has && stock.is_right(2 + u32::from(c_has))))
}

pub async fn no_renewal(place: &mut Place) -> Told {
    let key = place.key("renewal");
    let mut stock = Stock::default();
    set_nx_px(&mut place.redis, &key, "a", LEASE_MS).await?;
    let a = stock.read();
    pass(LEASE_MS * 2).await; // works for longer than its lease
    if set_nx_px(&mut place.redis, &key, "b", 60_000).await? {
        let b = stock.read();
        stock.write(b);
    }
    stock.write(a);
    let freed = number(&mut place.redis, &["EVAL", COMPARE_AND_DEL, "1", &key, "a"]).await?;
    let what = format!("the work took longer than the lease: two holders, one take lost (its release: {freed} freed)");
    Ok(Story::new(what, stock.is_right(2)))
}

pub async fn taken_twice(place: &mut Place) -> Told {
    let key = place.key("twice");
    let mut stock = Stock::default();
    set_nx_px(&mut place.redis, &key, "a", 60_000).await?;
    // a function that it calls takes the lock too
    if set_nx_px(&mut place.redis, &key, "a2", 60_000).await? {
        let read = stock.read();
        stock.write(read);
    }
    Ok(Story::new("the holder waits for itself: nothing is taken", stock.is_right(1)))
}

/// The master dies before the lock has come to the replica.
pub async fn failover(master: &Place, replica: &Place) -> Told {
    let key = "{failover}:lock";
    let mut stock = Stock::default();
    let a_has = set_nx_px(&mut master.redis.clone(), key, "a", 60_000).await?;
    let a = stock.read();
    // the replica is the master from here, without the lock
    let b_has = set_nx_px(&mut replica.redis.clone(), key, "b", 60_000).await?;
    let b = stock.read();
    stock.write(b);
    stock.write(a);
    let what = "the new master does not know the lock: two holders, one take lost";
    Ok(Story::new(what, a_has && b_has && stock.is_right(2)))
}
