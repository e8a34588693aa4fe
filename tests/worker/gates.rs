use std::time::Duration;

use linchpin::names::{JobId, LockKey, ProcessId, QueueName, TaskName};
use linchpin::store::Store;
use linchpin::store::new_job::{Body, Due, Header, NewJob, OnBusy, Priority};
use linchpin::store::settle::{Charge, Death, LockWord, Outcome, Settle, Verdict};
use linchpin::{Data, TaskResult, task};

use crate::shop::{Running, Say, Shop};

#[task(lock = "inventory:{sku}")]
async fn decrement(say: Data<Say>, sku: String, qty: u32) -> TaskResult {
    say.say(format!("{sku} {qty}"));
    Ok(())
}

/// A job as another producer might write it.
fn foreign(task: &str, locks: &[&str], args: &'static str) -> NewJob {
    NewJob {
        id: JobId::random(),
        header: Header {
            queue: QueueName::new("default").unwrap(),
            priority: Priority::Normal,
            locks: locks.iter().map(|key| LockKey::new(key).unwrap()).collect(),
            on_busy: OnBusy::Wait,
            wait_timeout: None,
            unique: None,
            crash_limit: 3,
            expires_in: None,
        },
        body: Body {
            task: TaskName::new(task).unwrap(),
            retries: None,
            timeout: None,
            lock_at_least: None,
            tick: None,
            args: args.as_bytes().into(),
        },
        due: Due::Now,
        unique: None,
    }
}

async fn enqueued(shop: &Shop, job: NewJob) -> JobId {
    let id = job.id;
    shop.store.enqueue(&ProcessId::random(), vec![job]).await.unwrap();
    id
}

/// How a worker with `decrement` settles a job.
async fn settled(shop: &mut Shop, job: NewJob) -> Settle {
    enqueued(shop, job).await;
    let run = Running::start(shop.worker().task::<decrement>());
    let settle = shop.settled().await.0;
    run.stop().await;
    settle
}

fn mismatch(settle: &Settle) -> (Duration, &str) {
    match &settle.verdict {
        Verdict::Schedule {
            delay,
            charge: Charge::Mismatch,
            error: Some(error),
        } => (*delay, error),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unknown_task_goes_back_uncharged_and_names_the_nearest() {
    let mut shop = Shop::open();
    let settle = settled(&mut shop, foreign("decremnt", &[], "{}")).await;
    let (delay, error) = mismatch(&settle);
    assert_eq!(delay, Duration::from_secs(2));
    assert!(error.contains("`decremnt`") && error.contains("nearest is `decrement`"), "{error}");
    assert_eq!(settle.record.outcome, Outcome::Returned);
}

#[tokio::test]
async fn unfit_arguments_go_back_uncharged_with_both_field_lists() {
    let mut shop = Shop::open();
    let settle = settled(&mut shop, foreign("decrement", &["inventory:A1"], r#"{"sku":"A1","qnt":"s3cret"}"#)).await;
    let (_, error) = mismatch(&settle);
    assert!(error.contains("[sku, qty]") && error.contains("[qnt, sku]"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_mismatch_is_buried_when_its_window_has_passed() {
    let mut shop = Shop::open();
    let id = enqueued(&shop, foreign("nobody", &[], "{}")).await;
    let run = Running::start(shop.worker().mismatch_window(Duration::ZERO).task::<decrement>());
    let (settle, _) = shop.settled().await;
    assert!(matches!(
        settle.verdict,
        Verdict::Bury {
            death: Death::Unfit,
            charge: Charge::None,
            ..
        }
    ));
    assert_eq!(settle.id, id);
    run.stop().await;
}

#[tokio::test]
async fn a_job_under_a_wrong_key_never_runs_but_goes_back_under_the_right_one() {
    let mut shop = Shop::open();
    enqueued(&shop, foreign("decrement", &["inventory:B2"], r#"{"sku":"A1","qty":2}"#)).await;
    let run = Running::start(shop.worker().task::<decrement>());
    let (first, _) = shop.settled().await;
    let right = LockKey::new("inventory:A1").unwrap();
    assert_eq!(first.verdict, Verdict::Rekey(vec![right.clone()]));
    assert_eq!(first.locks, [LockKey::new("inventory:B2").unwrap()]);
    let (second, _) = shop.settled().await;
    assert_eq!(
        (second.verdict, second.locks, second.record.number),
        (Verdict::Done, vec![right], 1)
    );
    assert_eq!(shop.hears().await, "A1 2");
    run.stop().await;
    assert!(shop.said.try_recv().is_err(), "ran once");
}

#[tokio::test]
async fn an_unreadable_job_is_buried_alone() {
    let mut shop = Shop::open();
    let bad = enqueued(&shop, foreign("decrement", &[], "{}")).await;
    shop.store.inner.spoil(bad);
    shop.client.enqueue(decrement { sku: "A1".into(), qty: 1 }).await.unwrap();
    let run = Running::start(shop.worker().task::<decrement>());
    let mut settles = [shop.settled().await.0, shop.settled().await.0];
    settles.sort_by_key(|settle| settle.id != bad);
    assert!(matches!(settles[0].verdict, Verdict::Bury { death: Death::Unfit, .. }));
    assert_eq!(settles[1].verdict, Verdict::Done);
    run.stop().await;
}

#[tokio::test]
async fn a_lock_key_that_holds_something_else_buries_the_job() {
    let mut shop = Shop::open();
    shop.store.inner.plant_foreign_lock(&LockKey::new("inventory:A1").unwrap());
    let settle = settled(&mut shop, foreign("decrement", &["inventory:A1"], r#"{"sku":"A1","qty":2}"#)).await;
    assert!(matches!(settle.verdict, Verdict::Bury { death: Death::Unfit, .. }));
    assert!(settle.locks.is_empty());
}

#[tokio::test]
async fn an_expired_job_is_buried_without_running() {
    let mut shop = Shop::open();
    let mut job = foreign("decrement", &["inventory:A1"], r#"{"sku":"A1","qty":2}"#);
    job.header.expires_in = Some(Duration::ZERO);
    let settle = settled(&mut shop, job).await;
    assert!(matches!(settle.verdict, Verdict::Bury { death: Death::Expired, .. }));
    assert!(shop.said.try_recv().is_err());
}

/// How a job is settled whose lock somebody else holds.
async fn settled_when_busy(on_busy: OnBusy) -> Settle {
    let mut shop = Shop::open();
    let key = LockKey::new("inventory:A1").unwrap();
    let other = linchpin::names::OwnerToken::new(&ProcessId::random(), 1000, 1);
    shop.store.acquire(&key, &other, Duration::from_secs(60)).await.unwrap();
    let mut job = foreign("decrement", &["inventory:A1"], r#"{"sku":"A1","qty":2}"#);
    job.header.on_busy = on_busy;
    let settle = settled(&mut shop, job).await;
    assert!(settle.locks.is_empty());
    assert_eq!(settle.record.lock, LockWord::Busy);
    assert!(shop.said.try_recv().is_err());
    settle
}

#[tokio::test]
async fn a_busy_lock_is_dealt_with_as_the_job_says() {
    let skipped = settled_when_busy(OnBusy::Skip).await;
    assert_eq!((skipped.verdict, skipped.record.outcome), (Verdict::Done, Outcome::Skipped));
    let failed = settled_when_busy(OnBusy::Fail).await;
    assert!(matches!(
        failed.verdict,
        Verdict::Schedule {
            charge: Charge::Attempt,
            ..
        }
    ));
    assert_eq!(failed.record.outcome, Outcome::Busy);
    let snoozed = settled_when_busy(OnBusy::Snooze(Duration::from_secs(5))).await;
    assert!(matches!(snoozed.verdict, Verdict::Schedule { charge: Charge::None, delay, .. } if delay.as_secs() == 5));
}
