//! The same moments with Linchpin's lock.

use std::time::Duration;

use linchpin::Error;
use linchpin::lock::ReleaseAnswer;

use crate::stock::Stock;
use crate::{Place, Story};

const LEASE: Duration = Duration::from_millis(60);
const PATIENCE: Duration = Duration::from_secs(10);

type Told = anyhow::Result<Story>;

/// One that is gone renews nothing: its lock ends by its lease, and who waits in line gets it.
pub async fn holder_dies(place: &Place, key: &str) -> Told {
    let (a, b) = (place.client().await?, place.client().await?);
    let mut stock = Stock::default();
    // a fixed lease, and no release: as if its process were gone
    std::mem::forget(a.lock(key).lease(LEASE).acquire().await?);
    let guard = b.lock(key).wait(PATIENCE).acquire().await?;
    let read = stock.read();
    stock.write_fenced(read, guard.fence().0);
    guard.release().await?;
    Ok(Story::new(
        "the lock ended with its lease, the one in line got it",
        stock.is_right(1),
    ))
}

/// Time is the server's alone.
pub async fn no_client_clock(place: &Place) -> Told {
    let (a, b) = (place.client().await?, place.client().await?);
    let mut stock = Stock::default();
    let guard = a.lock("clocks").acquire().await?;
    let read = stock.read();
    let busy = matches!(b.lock("clocks").try_acquire().await, Err(Error::Busy { .. }));
    stock.write_fenced(read, guard.fence().0);
    guard.release().await?;
    let guard = b.lock("clocks").acquire().await?;
    let read = stock.read();
    stock.write_fenced(read, guard.fence().0);
    guard.release().await?;
    Ok(Story::new(
        "no client sends a time: the other was told `busy`",
        busy && stock.is_right(2),
    ))
}

pub async fn release_by_token(place: &Place) -> Told {
    let (a, b, c) = (place.client().await?, place.client().await?, place.client().await?);
    let mut stock = Stock::default();
    let late = a.lock("del").lease(LEASE).acquire().await?;
    let read = stock.read();
    stock.write_fenced(read, late.fence().0);
    let second = b.lock("del").wait(PATIENCE).acquire().await?;
    let read = stock.read();
    let answer = late.release().await?;
    let out = matches!(c.lock("del").try_acquire().await, Err(Error::Busy { .. }));
    stock.write_fenced(read, second.fence().0);
    second.release().await?;
    let what = format!("the late release said `{answer:?}` and freed nothing: the third stayed out");
    Ok(Story::new(what, answer == ReleaseAnswer::NotHeld && out && stock.is_right(2)))
}

/// The work takes longer than the lease.
pub async fn renewed(place: &Place) -> Told {
    let (a, b) = (place.client().await?, place.client().await?);
    let mut stock = Stock::default();
    let lease = Duration::from_secs(1);
    let guard = a.lock("renewal").renewed(lease).acquire().await?;
    let read = stock.read();
    tokio::time::sleep(lease * 3 / 2).await;
    let busy = matches!(b.lock("renewal").try_acquire().await, Err(Error::Busy { .. }));
    stock.write_fenced(read, guard.fence().0);
    guard.release().await?;
    let guard = b.lock("renewal").acquire().await?;
    let read = stock.read();
    stock.write_fenced(read, guard.fence().0);
    guard.release().await?;
    Ok(Story::new(
        "the lock was renewed while the work went on: the other waited",
        busy && stock.is_right(2),
    ))
}

pub async fn reentered(place: &Place) -> Told {
    let client = place.client().await?;
    let mut stock = Stock::default();
    let owner = client.owner();
    let outer = owner.lock("twice").acquire().await?;
    let inner = owner.lock("twice").acquire().await?;
    let read = stock.read();
    stock.write_fenced(read, inner.fence().0);
    inner.release().await?;
    outer.release().await?;
    Ok(Story::new("its owner entered it again", stock.is_right(1)))
}

/// Two holders cannot be excluded by a lock that was lost; their writes can.
pub async fn fenced_failover(master: &Place, replica: &Place) -> Told {
    let (a, b) = (master.client().await?, replica.client().await?);
    let mut stock = Stock::default();
    let first = a.lock("failover").acquire().await?;
    let read_a = stock.read();
    let second = b.lock("failover").acquire().await?;
    let read_b = stock.read();
    let took_b = stock.write_fenced(read_b, second.fence().0);
    let took_a = stock.write_fenced(read_a, first.fence().0);
    let told = u32::from(took_a) + u32::from(took_b);
    let what = "the lock was lost here too, but the fence of the first was too low: its write was refused, and it knows";
    Ok(Story::new(what, took_b && !took_a && stock.is_right(told)))
}
