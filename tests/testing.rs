//! A sandbox runs a shop's tasks as production does, on a clock that the test moves.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use linchpin::names::{LockKey, OwnerToken, ProcessId};
use linchpin::store::settle::{LockWord, Outcome};
use linchpin::testing::Sandbox;
use linchpin::worker::WorkerBuilder;
use linchpin::{Attempt, Client, Data, Error, TaskError, TaskResult, task};

#[task(lock = "inventory:{sku}", retries = 2, backoff = "10s")]
async fn decrement(attempt: Attempt, sku: String, qty: u32) -> TaskResult {
    match (sku.as_str(), attempt.number()) {
        ("jammed", 1) => Err("the shelf is jammed".into()),
        ("gone", _) => Err(TaskError::discard(format!("no shelf for {qty}"))),
        _ => Ok(()),
    }
}

#[task(queue = "mail")]
async fn tell(to: String) -> TaskResult {
    assert!(!to.is_empty());
    Ok(())
}

#[task]
async fn order(client: Data<Client>, sku: String) -> TaskResult {
    client.enqueue(decrement { sku: sku.clone(), qty: 1 }).await?;
    client.enqueue(tell { to: sku }).await?;
    Ok(())
}

#[task]
async fn again(client: Data<Client>) -> TaskResult {
    client.enqueue(again {}).await?;
    Ok(())
}

#[task(lock = "one", wait_timeout = "1m", retries = 0)]
async fn patient() -> TaskResult {
    Ok(())
}

fn plain(worker: WorkerBuilder) -> WorkerBuilder {
    worker.task::<decrement>().task::<tell>()
}

fn shelf(sku: &str) -> decrement {
    decrement { sku: sku.into(), qty: 2 }
}

#[tokio::test]
async fn one_job_runs_inline_and_says_how_it_ended() {
    let shop = Sandbox::new(plain);
    shop.client().enqueue(shelf("another")).await.unwrap();
    let done = shop.run(shelf("A1")).await.unwrap().unwrap();
    assert_eq!(
        (done.outcome, done.lock_keys.as_str(), done.number),
        (Outcome::Done, "inventory:A1", 1)
    );
    let failed = shop.run(shelf("jammed")).await.unwrap().unwrap();
    assert_eq!((failed.outcome, failed.error.as_str()), (Outcome::Retry, "the shelf is jammed"));
    let dead = shop.run(shelf("gone")).await.unwrap().unwrap();
    assert_eq!((dead.outcome, dead.error.as_str()), (Outcome::Dead, "no shelf for 2"));
    assert!(shop.has_pending(&shelf("another")).unwrap(), "others were left alone");
}

#[tokio::test]
async fn a_delayed_job_is_not_run_inline() {
    let shop = Sandbox::new(plain);
    let later = shop.client().enqueue(shelf("A1")).delay(Duration::from_secs(5));
    assert_eq!(shop.run(later).await.unwrap(), None);
    assert!(shop.drain().await.unwrap().is_empty());
    shop.advance(Duration::from_secs(5)).await.unwrap();
    assert_eq!(shop.drain().await.unwrap().len(), 1);
}

#[tokio::test]
async fn retries_and_short_delays_follow_the_clock_of_the_test() {
    let shop = Sandbox::new(plain);
    shop.client().enqueue(shelf("jammed")).await.unwrap();
    shop.client().enqueue(shelf("B2")).delay(Duration::from_millis(20)).await.unwrap();
    assert_eq!(shop.drain().await.unwrap().len(), 1, "the delayed one is not due");
    shop.advance(Duration::from_millis(20)).await.unwrap();
    assert_eq!(shop.drain().await.unwrap().len(), 1, "now it is, and the retry is not");
    shop.advance(Duration::from_secs(13)).await.unwrap();
    let retried = shop.drain().await.unwrap();
    assert_eq!((retried[0].outcome, retried[0].number), (Outcome::Done, 2));
}

#[tokio::test]
async fn a_job_behind_a_lock_of_the_test_waits_until_its_patience_ends() {
    let shop = Sandbox::new(|worker| worker.task::<patient>());
    let (key, token) = (LockKey::new("one").unwrap(), OwnerToken::new(&ProcessId::random(), 0, 1));
    let hour = Duration::from_secs(3600);
    shop.client().store().acquire(&key, &token, hour).await.unwrap();
    assert_eq!(shop.run(patient {}).await.unwrap(), None, "it is parked");
    assert!(shop.drain().await.unwrap().is_empty());
    shop.advance(Duration::from_secs(60)).await.unwrap();
    let ended = shop.drain().await.unwrap();
    assert_eq!((ended[0].outcome, ended[0].lock), (Outcome::Dead, LockWord::GaveUp));
}

#[tokio::test]
async fn a_drain_follows_jobs_into_other_queues() {
    let client = std::sync::Arc::new(std::sync::OnceLock::<Client>::new());
    let given = client.clone();
    let shop = Sandbox::new(move |worker| plain(worker).task::<order>().data(given.get().unwrap().clone()));
    client.set(shop.client().clone()).unwrap();
    shop.client().enqueue(order { sku: "A1".into() }).await.unwrap();
    let tasks: Vec<String> = shop
        .drain()
        .await
        .unwrap()
        .into_iter()
        .map(|attempt| attempt.task.to_string())
        .collect();
    assert_eq!(tasks, ["order", "decrement", "tell"]);
}

#[tokio::test]
async fn what_was_enqueued_can_be_asked() {
    let shop = Sandbox::new(plain);
    shop.client().enqueue(shelf("A1")).await.unwrap();
    shop.client().enqueue(shelf("B2")).delay(Duration::from_secs(60)).await.unwrap();
    assert!(shop.has_pending(&shelf("B2")).unwrap());
    assert!(!shop.has_pending(&shelf("C3")).unwrap());
    assert!(!shop.has_pending(&tell { to: "A1".into() }).unwrap());
    let skus: Vec<String> = shop.pending::<decrement>().unwrap().into_iter().map(|job| job.sku).collect();
    assert_eq!(skus, ["A1", "B2"]);
    shop.drain().await.unwrap();
    assert!(!shop.has_pending(&shelf("A1")).unwrap(), "it has ended");
}

#[tokio::test]
async fn jobs_without_end_are_an_error_that_says_so() {
    let client = std::sync::Arc::new(std::sync::OnceLock::<Client>::new());
    let given = client.clone();
    let shop = Sandbox::new(move |worker| worker.task::<again>().data(given.get().unwrap().clone()));
    client.set(shop.client().clone()).unwrap();
    shop.client().enqueue(again {}).await.unwrap();
    let error = shop.drain().await.unwrap_err();
    assert!(
        matches!(&error, Error::Invalid(_)) && error.to_string().contains("enqueue itself"),
        "{error}"
    );
}

#[tokio::test]
async fn a_worker_that_cannot_be_built_says_why() {
    let shop = Sandbox::new(|worker| worker.task::<order>());
    shop.client().enqueue(order { sku: "A1".into() }).await.unwrap();
    let error = shop.drain().await.unwrap_err().to_string();
    assert!(error.contains("Client") && error.contains("order"), "{error}");
}
