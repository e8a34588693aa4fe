use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use linchpin::attempt::Attempt;
use linchpin::limits::NESTED_RECORDED;
use linchpin::names::{LockKey, OwnerToken, ProcessId};
use linchpin::store::Store;
use linchpin::store::lease::AcquireAnswer;
use linchpin::store::settle::{SettleAnswer, Verdict};
use linchpin::{Data, Error, TaskResult, task};

use tokio::sync::Notify;

use crate::shop::{LEASE, Running, Say, Shop, within};

async fn is_free(shop: &Shop, key: &str) -> bool {
    let token = OwnerToken::new(&ProcessId::random(), 1000, 1);
    let key = LockKey::new(key).unwrap();
    let answer = shop.store.acquire(&key, &token, Duration::from_secs(5)).await.unwrap();
    if answer == AcquireAnswer::Busy {
        return false;
    }
    shop.store.release(&key, &token).await.unwrap();
    true
}

#[task(lock = "order:{order}")]
async fn ship(attempt: Attempt, say: Data<Say>, order: u32, keep: bool) -> TaskResult {
    let own = attempt.lock(format!("order:{order}")).await?;
    assert_eq!(own.fence(), attempt.fence(), "its own lock is entered again");
    own.release().await?;
    let shelf = attempt.lock("shelf").await?;
    let again = attempt.lock("shelf").await?;
    assert_eq!(shelf.fence(), again.fence());
    drop(again);
    say.say("holds");
    // Renewed with the attempt.
    tokio::time::sleep(3 * LEASE).await;
    if keep {
        drop(shelf);
    } else {
        shelf.release().await?;
        say.say("released");
        let again = attempt.lock("shelf").await?;
        drop(again);
    }
    Ok(())
}

#[tokio::test]
async fn a_nested_lock_is_renewed_and_freed_by_the_settle() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<ship>());
    shop.client.enqueue(ship { order: 1, keep: true }).await.unwrap();
    assert_eq!(shop.hears().await, "holds");
    assert!(!is_free(&shop, "shelf").await);
    let (settle, answer) = shop.settled().await;
    assert_eq!((&settle.verdict, answer), (&Verdict::Done, SettleAnswer::Accepted));
    assert_eq!(settle.nested.len(), 1);
    assert!(is_free(&shop, "shelf").await);
    assert!(is_free(&shop, "order:1").await);
    run.stop().await;
}

#[tokio::test]
async fn a_released_lock_may_be_taken_again_under_a_new_token() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<ship>());
    shop.client.enqueue(ship { order: 1, keep: false }).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!((&settle.verdict, answer), (&Verdict::Done, SettleAnswer::Accepted));
    assert!(is_free(&shop, "shelf").await);
    run.stop().await;
}

/// Takes more locks, in more ways, than are recorded.
#[task(lock = "order:{order}")]
async fn rummage(attempt: Attempt, order: u32) -> TaskResult {
    attempt.lock(format!("order:{order}")).await?.release().await?;
    for _ in 0..2 {
        let shelf = attempt.lock("shelf").await?;
        attempt.lock("shelf").await?.release().await?;
        shelf.release().await?;
    }
    assert!(attempt.try_lock("taken").await.is_err());
    for box_number in 0..NESTED_RECORDED {
        drop(attempt.lock(format!("box:{box_number}")).await?);
    }
    Ok(())
}

#[tokio::test]
async fn what_became_of_nested_locks_is_in_the_log_and_bounded() {
    let shop = Shop::open();
    let token = OwnerToken::new(&ProcessId::random(), 1000, 1);
    let taken = LockKey::new("taken").unwrap();
    shop.store.acquire(&taken, &token, Duration::from_secs(60)).await.unwrap();
    let run = Running::start(shop.worker().task::<rummage>());
    let id = shop.client.enqueue(rummage { order: 1 }).await.unwrap().id();
    within("its end", shop.client.wait(id)).await.unwrap();
    run.stop().await;
    let entries = shop.client.attempts(0, 10).await.unwrap();
    let record = &entries[0].record;
    let words: Vec<_> = record
        .nested
        .iter()
        .map(|row| (row.key.as_str(), row.lock.as_str(), row.times))
        .collect();
    let told = [
        ("order:1", "reentered", 1),
        ("shelf", "acquired", 2),
        ("shelf", "reentered", 2),
        ("shelf", "released", 2),
        ("taken", "busy", 1),
        ("box:0", "acquired", 1),
    ];
    assert_eq!(words[..told.len()], told);
    assert_eq!(words.len(), NESTED_RECORDED);
    assert_eq!(record.nested_omitted, 5, "the last boxes");
}

#[task(lock = "order:{order}")]
async fn grab(attempt: Attempt, say: Data<Say>, order: u32) -> TaskResult {
    match attempt.try_lock("shelf").await {
        Ok(_held) => say.say("held"),
        Err(Error::Busy { key }) => say.say(format!("{key} is busy")),
        Err(error) => say.say(error.to_string()),
    }
    let _ = order;
    attempt.cancelled().await;
    Ok(())
}

#[tokio::test]
async fn two_attempts_of_one_claim_exclude_each_other() {
    let mut shop = Shop::open();
    shop.client.enqueue_many([grab { order: 1 }, grab { order: 2 }]).await.unwrap();
    let run = Running::start(shop.worker().shutdown_grace(Duration::ZERO).task::<grab>());
    let mut words = [shop.hears().await, shop.hears().await];
    words.sort();
    assert_eq!(words, ["held", "shelf is busy"]);
    assert_eq!(run.stop().await.done, 2);
    assert!(is_free(&shop, "shelf").await);
}

#[task(lock = "order:{order}")]
async fn outer(attempt: Attempt, say: Data<Say>, order: u32) -> TaskResult {
    attempt.run(inner { order, shelf: "a".into() }).await?;
    say.say("inner ran");
    let error = attempt.run(unregistered {}).await.unwrap_err();
    say.say(error.to_string());
    Ok(())
}

#[task(lock = ["order:{order}", "shelf:{shelf}"])]
async fn inner(attempt: Attempt, say: Data<Say>, order: u32, shelf: String) -> TaskResult {
    say.say(format!("{order} {shelf}"));
    attempt.lock("shelf:a").await?.release().await?;
    Ok(())
}

#[task]
async fn unregistered() -> TaskResult {
    Ok(())
}

#[tokio::test]
async fn another_job_runs_inline_under_the_same_locks() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<outer>().task::<inner>());
    shop.client.enqueue(outer { order: 7 }).await.unwrap();
    assert_eq!(shop.hears().await, "7 a");
    assert_eq!(shop.hears().await, "inner ran");
    let refusal = shop.hears().await;
    assert!(refusal.contains("unregistered"), "{refusal}");
    let (settle, answer) = shop.settled().await;
    assert_eq!((&settle.verdict, answer), (&Verdict::Done, SettleAnswer::Accepted));
    assert!(settle.nested.is_empty(), "freed after the inner run");
    assert!(is_free(&shop, "shelf:a").await);
    run.stop().await;
}

#[task(lock = "order:{order}")]
async fn let_go(attempt: Attempt, say: Data<Say>, go: Data<Arc<Notify>>, order: u32) -> TaskResult {
    let _ = order;
    let shelf = attempt.lock("shelf").await?;
    say.say("holds");
    go.notified().await;
    shelf.release().await?;
    say.say("released");
    tokio::select! {
        cause = attempt.cancelled() => say.say(format!("{cause:?}")),
        () = go.notified() => say.say("went on"),
    }
    Ok(())
}

#[tokio::test]
async fn a_release_that_overtakes_a_renewal_does_not_stop_the_attempt() {
    let mut shop = Shop::open();
    let go = Arc::new(Notify::new());
    let run = Running::start(shop.worker().data(go.clone()).task::<let_go>());
    shop.client.enqueue(let_go { order: 1 }).await.unwrap();
    assert_eq!(shop.hears().await, "holds");
    shop.store.hold_renewal.store(true, Relaxed);
    within("a renewal that names the lock", shop.store.renewal_held.notified()).await;
    go.notify_one();
    assert_eq!(shop.hears().await, "released");
    let before = shop.store.renewals.load(Relaxed);
    shop.store.renewal_goes.notify_one();
    within("two renewals more", async {
        while shop.store.renewals.load(Relaxed) < before + 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    go.notify_one();
    assert_eq!(shop.hears().await, "went on");
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.verdict, answer), (Verdict::Done, SettleAnswer::Accepted));
    run.stop().await;
}

#[task(lock = "order:{order}")]
async fn fetch(attempt: Attempt, say: Data<Say>, order: u32) -> TaskResult {
    let _ = order;
    let shelf = attempt.lock("shelf").await?;
    say.say("holds");
    shelf.release().await?;
    Ok(())
}

#[tokio::test]
async fn an_attempt_waits_in_line_for_a_nested_lock() {
    let mut shop = Shop::open();
    let guard = shop.client.lock("shelf").acquire().await.unwrap();
    let run = Running::start(shop.worker().task::<fetch>());
    let id = shop.client.enqueue(fetch { order: 1 }).await.unwrap().id();
    within("a line", async {
        while shop.client.census().await.unwrap().parked != 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    guard.release().await.unwrap();
    assert_eq!(shop.hears().await, "holds");
    within("its end", shop.client.wait(id)).await.unwrap();
    run.stop().await;
    let entries = shop.client.attempts(0, 10).await.unwrap();
    let words: Vec<_> = entries[0].record.nested.iter().map(|row| row.lock.as_str()).collect();
    assert_eq!(words, ["waited", "released"]);
}

#[task(lock = "order:{order}")]
async fn swap(attempt: Attempt, say: Data<Say>, order: u32) -> TaskResult {
    let _ = order;
    let table = attempt.lock("table").await?;
    let (shelf, released) = tokio::join!(attempt.lock("shelf"), async {
        say.say("waits");
        let released = table.release().await;
        say.say("released");
        released
    });
    released?;
    shelf?.release().await?;
    Ok(())
}

#[tokio::test]
async fn a_release_does_not_wait_for_an_acquisition_of_the_same_attempt() {
    let mut shop = Shop::open();
    let guard = shop.client.lock("shelf").acquire().await.unwrap();
    let run = Running::start(shop.worker().task::<swap>());
    shop.client.enqueue(swap { order: 1 }).await.unwrap();
    assert_eq!(shop.hears().await, "waits");
    assert_eq!(shop.hears().await, "released", "while the other lock is still held");
    assert!(is_free(&shop, "table").await);
    guard.release().await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.verdict, answer), (Verdict::Done, SettleAnswer::Accepted));
    run.stop().await;
}
