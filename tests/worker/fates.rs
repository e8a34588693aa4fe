use std::time::Duration;

use linchpin::attempt::{Attempt, StopCause};
use linchpin::client::End;
use linchpin::store::settle::{Charge, Death, Outcome, SettleAnswer, Verdict};
use linchpin::{Data, TaskError, TaskResult, task};

use crate::shop::{Running, Say, Shop, within};

#[task(retries = 1)]
async fn act(attempt: Attempt, say: Data<Say>, how: String) -> TaskResult {
    say.say(format!("{how} {}", attempt.number()));
    match how.as_str() {
        "fail" => Err("out of stock".into()),
        "retry_in" => Err(TaskError::retry_in(Duration::from_secs(7), "later")),
        "snooze" => Err(TaskError::snooze(Duration::from_secs(9))),
        "discard" => Err(TaskError::discard("no such sku")),
        "panic" => panic!("the shelf fell over"),
        "wait" => match attempt.cancelled().await {
            StopCause::Cancelled => {
                say.say("told");
                std::future::pending().await
            }
            cause => panic!("{cause}"),
        },
        "finish" => {
            attempt.cancelled().await;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn doing(how: &str) -> act {
    act { how: how.into() }
}

async fn settled(how: &str) -> (Verdict, Outcome) {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<act>());
    shop.client.enqueue(doing(how)).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!(answer, SettleAnswer::Accepted);
    run.stop().await;
    (settle.verdict, settle.record.outcome)
}

#[tokio::test]
async fn a_job_is_done_when_its_handler_succeeds() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<act>());
    shop.client.enqueue(doing("well")).await.unwrap();
    assert_eq!(shop.settled().await.0.verdict, Verdict::Done);
    let summary = run.stop().await;
    assert_eq!((summary.done, summary.lost), (1, 0));
    let attempts = shop.client.attempts(0, 10).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].record.outcome, Outcome::Done);
    assert_eq!(attempts[0].record.task, "act");
}

#[tokio::test]
async fn a_failed_job_is_scheduled_with_its_error() {
    let (verdict, outcome) = settled("fail").await;
    assert_eq!(outcome, Outcome::Retry);
    let Verdict::Schedule { delay, charge, error } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!((charge, error.as_deref()), (Charge::Attempt, Some("out of stock")));
    assert!((11..=19).contains(&delay.as_secs()), "{delay:?}");
}

#[tokio::test]
async fn a_job_is_dead_when_its_retries_are_used_up() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<act>());
    let id = shop.client.enqueue(doing("fail")).await.unwrap().id();
    shop.settled().await;
    shop.client.retry(id).await.unwrap();
    let (settle, _) = shop.settled().await;
    assert_eq!((settle.record.number, settle.record.outcome), (2, Outcome::Dead));
    let Verdict::Bury { reason, death, .. } = settle.verdict else {
        panic!()
    };
    assert_eq!(death, Death::Exhausted);
    assert!(reason.contains("out of stock"), "{reason}");
    let summary = run.stop().await;
    assert_eq!((summary.failed, summary.dead), (1, 1));
}

#[tokio::test]
async fn a_handler_chooses_when_it_runs_again() {
    let (verdict, _) = settled("retry_in").await;
    assert!(matches!(verdict, Verdict::Schedule { delay, charge: Charge::Attempt, .. } if delay.as_secs() == 7));
    let (verdict, outcome) = settled("snooze").await;
    assert!(matches!(verdict, Verdict::Schedule { delay, charge: Charge::None, error: None } if delay.as_secs() == 9));
    assert_eq!(outcome, Outcome::Snoozed);
}

#[tokio::test]
async fn a_discarded_job_is_dead() {
    let (verdict, outcome) = settled("discard").await;
    assert!(matches!(verdict, Verdict::Bury { death: Death::Discarded, reason, .. } if reason == "no such sku"));
    assert_eq!(outcome, Outcome::Dead);
}

#[tokio::test]
async fn a_panic_is_a_charged_failure_of_that_job_alone() {
    let (verdict, outcome) = settled("panic").await;
    assert_eq!(outcome, Outcome::Panicked);
    let Verdict::Schedule { charge, error, .. } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!((charge, error.as_deref()), (Charge::Attempt, Some("panicked: the shelf fell over")));
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_stopped() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<sleep_long>());
    shop.client.enqueue(sleep_long {}).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.record.outcome, answer), (Outcome::TimedOut, SettleAnswer::Accepted));
    assert!(matches!(
        settle.verdict,
        Verdict::Schedule {
            charge: Charge::Attempt,
            ..
        }
    ));
    assert!((50..900).contains(&settle.record.ran_ms), "{}", settle.record.ran_ms);
    run.stop().await;
}

#[task(timeout = "50ms")]
async fn sleep_long() -> TaskResult {
    std::future::pending().await
}

#[tokio::test]
async fn an_active_job_is_cancelled() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<act>());
    let id = shop.client.enqueue(doing("wait")).await.unwrap().id();
    assert_eq!(shop.hears().await, "wait 1");
    shop.client.cancel(id).await.unwrap();
    assert_eq!(shop.hears().await, "told");
    assert_eq!(within("the end", shop.client.wait(id)).await.unwrap(), End::Dead(Death::Cancelled));
    let (settle, _) = shop.settled().await;
    assert_eq!(settle.record.outcome, Outcome::Cancelled);
    run.stop().await;
}

#[tokio::test]
async fn a_handler_that_finishes_when_told_to_stop_is_done() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<act>());
    let id = shop.client.enqueue(doing("finish")).await.unwrap().id();
    shop.hears().await;
    shop.client.cancel(id).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.verdict, answer), (Verdict::Done, SettleAnswer::Accepted));
    run.stop().await;
}

#[tokio::test]
async fn many_jobs_are_each_done_once_and_every_claim_is_finished() {
    let shop = Shop::open();
    let jobs: Vec<_> = (0..5000).map(|number| act { how: number.to_string() }).collect();
    shop.client.enqueue_many(jobs).await.unwrap();
    let run = Running::start(shop.worker().concurrency(100).task::<act>());
    let mut said = shop.said;
    let mut heard = std::collections::HashSet::new();
    while heard.len() < 5000 {
        assert!(heard.insert(within("a word", said.recv()).await.unwrap()), "twice");
    }
    let summary = run.stop().await;
    assert_eq!((summary.done, summary.lost), (5000, 0));
    use std::sync::atomic::Ordering::Relaxed;
    assert_eq!(shop.store.finished.load(Relaxed), shop.store.claims.load(Relaxed));
    let census = shop.client.census().await.unwrap();
    assert_eq!((census.jobs, census.active, census.workers), (0, 0, 0));
}

#[tokio::test]
async fn refused_turns_are_sent_again_with_their_settles() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<act>());
    let id = shop.client.enqueue(doing("finish")).await.unwrap().id();
    shop.hears().await;
    shop.store.refused_turns.store(2, std::sync::atomic::Ordering::Relaxed);
    shop.client.cancel(id).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.verdict, answer), (Verdict::Done, SettleAnswer::Accepted));
    assert!(run.health.live());
    let summary = run.stop().await;
    assert_eq!(summary.done, 1);
}
