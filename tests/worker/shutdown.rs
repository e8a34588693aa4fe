use std::time::Duration;

use linchpin::attempt::Attempt;
use linchpin::store::settle::{Outcome, SettleAnswer, Verdict};
use linchpin::store::view::State;
use linchpin::{Data, TaskResult, task};

use crate::shop::{Running, Say, Shop, within};

#[task]
async fn linger(attempt: Attempt, say: Data<Say>, number: u32) -> TaskResult {
    say.say(format!("{number} {}", attempt.number()));
    std::future::pending().await
}

#[tokio::test]
async fn a_stopping_worker_hands_its_jobs_back_at_the_head_uncharged() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().concurrency(1).shutdown_grace(Duration::ZERO).task::<linger>());
    let first = shop.client.enqueue(linger { number: 1 }).await.unwrap().id();
    assert_eq!(shop.hears().await, "1 1");
    shop.client.enqueue(linger { number: 2 }).await.unwrap();
    let summary = run.stop().await;
    assert_eq!((summary.returned, summary.done, summary.failed), (1, 0, 0));
    let (settle, answer) = shop.settled().await;
    assert_eq!(
        (settle.verdict, settle.record.outcome, answer),
        (Verdict::Return, Outcome::Returned, SettleAnswer::Accepted)
    );
    let view = shop.client.job(first).await.unwrap().unwrap();
    assert_eq!((view.state, view.tries.charged, view.tries.suspect), (State::Ready, 0, false));
    let run = Running::start(shop.worker().concurrency(1).shutdown_grace(Duration::ZERO).task::<linger>());
    assert_eq!(shop.hears().await, "1 1", "before the other one, and not charged");
    run.stop().await;
    let census = shop.client.census().await.unwrap();
    assert_eq!((census.jobs, census.active, census.workers), (2, 0, 0));
}

#[task]
async fn finish(say: Data<Say>, go: Data<std::sync::Arc<tokio::sync::Notify>>) -> TaskResult {
    say.say("began");
    go.notified().await;
    Ok(())
}

#[tokio::test]
async fn a_stopping_worker_waits_for_its_handlers_and_claims_nothing_more() {
    let mut shop = Shop::open();
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let run = Running::start(shop.worker().data(go.clone()).task::<finish>());
    let health = run.health.clone();
    shop.client.enqueue(finish {}).await.unwrap();
    assert_eq!(shop.hears().await, "began");
    let client = shop.client.clone();
    let (summary, ()) = tokio::join!(run.stop(), async {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        client.enqueue(finish {}).await.unwrap();
        go.notify_one();
    });
    assert_eq!((summary.done, summary.returned), (1, 0));
    assert!(!health.live());
    assert_eq!(shop.client.census().await.unwrap().pending(), 1);
}

#[tokio::test]
async fn a_worker_without_work_ends_at_once() {
    let shop = Shop::open();
    let run = Running::start(shop.worker().task::<linger>());
    assert_eq!(run.stop().await, linchpin::Summary::default());
}

#[tokio::test]
async fn a_worker_that_the_store_refuses_does_not_run() {
    let shop = Shop::open();
    shop.store.refuse_register.store(true, std::sync::atomic::Ordering::Relaxed);
    let worker = shop.worker().task::<linger>().build().unwrap();
    let refused = within("a refusal", worker.run(std::future::pending::<()>())).await;
    assert!(matches!(refused, Err(linchpin::Error::Refused { .. })), "{refused:?}");
}

#[tokio::test]
async fn an_idle_worker_runs_what_becomes_due_and_what_is_enqueued() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().shutdown_grace(Duration::ZERO).task::<linger>());
    within("a ready worker", async {
        while !run.health.ready() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    shop.client
        .enqueue(linger { number: 1 })
        .delay(Duration::from_millis(300))
        .await
        .unwrap();
    assert_eq!(shop.hears().await, "1 1");
    shop.client.enqueue(linger { number: 2 }).await.unwrap();
    assert_eq!(shop.hears().await, "2 1");
    run.stop().await;
}
