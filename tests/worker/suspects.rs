use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use linchpin::attempt::Attempt;
use linchpin::store::settle::{SettleAnswer, Verdict};
use linchpin::{Client, Data, TaskResult, task};
use tokio::sync::{Semaphore, watch};

use crate::shop::{Running, Say, Shop, within};

#[task(crash_limit = 1)]
async fn dangerous(attempt: Attempt, say: Data<Say>, go: Data<std::sync::Arc<tokio::sync::Semaphore>>) -> TaskResult {
    say.say(format!("dangerous {}", attempt.number()));
    go.acquire().await?.forget();
    Ok(())
}

#[task]
async fn harmless(say: Data<Say>) -> TaskResult {
    say.say("harmless");
    Ok(())
}

/// Runs until the next one does, so that its worker is never empty while it claims.
#[task]
async fn churn(client: Data<Client>, started: Data<Arc<watch::Sender<u64>>>) -> TaskResult {
    client.enqueue(churn {}).await?;
    let mut next = started.subscribe();
    started.send_modify(|count| *count += 1);
    let mine = *next.borrow();
    // Nobody comes after the last one: the worker claims no more.
    let _ = tokio::time::timeout(Duration::from_secs(2), next.wait_for(|count| *count > mine)).await;
    Ok(())
}

#[tokio::test]
async fn a_suspect_at_its_last_strike_runs_under_constant_load() {
    let mut shop = Shop::open();
    let go = Arc::new(Semaphore::new(1));
    let started = Arc::new(watch::Sender::new(0_u64));
    let build = |shop: &Shop| {
        let worker = shop.worker().data(go.clone()).data(started.clone()).data(shop.client.clone());
        worker.task::<dangerous>().task::<churn>()
    };
    go.try_acquire().unwrap().forget();
    let first = Running::start(build(&shop));
    let id = shop.client.enqueue(dangerous {}).await.unwrap().id();
    assert_eq!(shop.hears().await, "dangerous 1");
    first.kill().await;

    shop.client.enqueue(churn {}).await.unwrap();
    let second = Running::start(build(&shop));
    assert_eq!(shop.hears().await, "dangerous 1", "the worker made room for it");
    let before = *started.borrow();
    go.add_permits(1);
    within("its end", shop.client.wait(id)).await.unwrap();
    let mut next = started.subscribe();
    within("the others go on", next.wait_for(|count| *count > before)).await.unwrap();
    second.stop().await;
}

#[tokio::test]
async fn a_suspect_at_its_last_strike_runs_alone() {
    let mut shop = Shop::open();
    let go = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let build = |shop: &Shop| shop.worker().data(go.clone()).task::<dangerous>().task::<harmless>();
    let first = Running::start(build(&shop));
    let id = shop.client.enqueue(dangerous {}).await.unwrap().id();
    assert_eq!(shop.hears().await, "dangerous 1");
    first.kill().await;

    let second = Running::start(build(&shop));
    assert_eq!(shop.hears().await, "dangerous 1", "after the lease it runs again");
    let view = shop.client.job(id).await.unwrap().unwrap();
    assert!(view.tries.suspect);
    assert!(shop.store.alone_turns.load(Relaxed) > 0);
    let other = shop.client.enqueue(harmless {}).await.unwrap().id();
    let mut said_early = false;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
        said_early |= shop.said.try_recv().is_ok();
    }
    assert!(!said_early, "nothing runs beside it");
    go.add_permits(1);
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.id, settle.verdict, answer), (id, Verdict::Done, SettleAnswer::Accepted));
    assert_eq!(shop.hears().await, "harmless");
    within("the other's end", shop.client.wait(other)).await.unwrap();
    second.stop().await;
}
