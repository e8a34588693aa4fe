use std::time::Duration;

use linchpin::attempt::Attempt;
use linchpin::client::End;
use linchpin::store::settle::{Outcome, SettleAnswer};
use linchpin::{Client, Data, Error, Need, TaskError, TaskResult, task};

use crate::shop::{Running, Say, Shop, within};

#[task(retries = 1, backoff = "1h")]
async fn sell(attempt: Attempt, say: Data<Say>, how: String) -> TaskResult {
    attempt.at_settle(|fx| {
        fx.require("stock", Need::AtLeast(2));
        fx.decr_by("stock", 2);
    })?;
    attempt.at_settle(|fx| fx.rpush("sold", "2"))?;
    match how.as_str() {
        "fail" => Err("the till is jammed".into()),
        "snooze" => Err(TaskError::snooze(Duration::from_secs(3600))),
        "panic" => panic!("the till fell over"),
        "late" => {
            let late = attempt.clone();
            say.say("handed over");
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                let answer = late.at_settle(|fx| fx.set("late", "yes"));
                say.say(format!("{}", answer.unwrap_err()));
            });
            Ok(())
        }
        "follow" => {
            attempt.at_settle(|fx| {
                fx.enqueue(ship { order: 7 });
                fx.keep_result(&("sold", 2), Duration::from_secs(60));
            })?;
            Ok(())
        }
        _ => Ok(()),
    }
}

#[task]
async fn ship(say: Data<Say>, order: u32) -> TaskResult {
    say.say(format!("shipped {order}"));
    Ok(())
}

async fn number(client: &Client, key: &str) -> Option<i64> {
    client.value(key).await.unwrap().and_then(|value| value.as_int())
}

async fn stocked(stock: i64) -> (Shop, Running) {
    let shop = Shop::open();
    shop.client.apply(|fx| fx.set("stock", stock.to_string())).await.unwrap();
    let run = Running::start(shop.worker().task::<sell>().task::<ship>());
    (shop, run)
}

fn selling(how: &str) -> sell {
    sell { how: how.into() }
}

#[tokio::test]
async fn what_a_handler_hands_over_is_done_when_it_succeeds_and_not_otherwise() {
    let (mut shop, run) = stocked(10).await;
    for how in ["fail", "snooze", "panic"] {
        shop.client.enqueue(selling(how)).await.unwrap();
        let (settle, answer) = shop.settled().await;
        assert_eq!((answer, settle.riding), (SettleAnswer::Accepted, None), "{how}");
    }
    assert_eq!(number(&shop.client, "stock").await, Some(10));
    shop.client.enqueue(selling("well")).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!((answer, settle.riding.unwrap().effects.len()), (SettleAnswer::Accepted, 3));
    assert_eq!(number(&shop.client, "stock").await, Some(8));
    let summary = run.stop().await;
    assert_eq!((summary.done, summary.failed, summary.snoozed), (1, 2, 1));
}

#[tokio::test]
async fn a_refused_job_is_retried_as_a_failed_one_and_dies_of_it() {
    let (mut shop, run) = stocked(1).await;
    let id = shop.client.enqueue(selling("well")).await.unwrap().id();
    let (_, answer) = shop.settled().await;
    assert!(matches!(answer, SettleAnswer::Refused(_)), "{answer:?}");
    let view = shop.client.job(id).await.unwrap().unwrap();
    assert_eq!(view.errors, ["its effects were refused: `stock` is 1, at least 2 is required"]);
    assert_eq!(view.tries.charged, 1);
    shop.client.retry(id).await.unwrap();
    within("its death", shop.client.wait(id)).await.unwrap();
    let attempts = shop.client.attempts(0, 10).await.unwrap();
    let ends: Vec<_> = attempts
        .iter()
        .map(|entry| (entry.record.outcome, entry.record.error.as_str()))
        .collect();
    let error = "its effects were refused: `stock` is 1, at least 2 is required";
    assert_eq!(ends, [(Outcome::Retry, error), (Outcome::Dead, error)]);
    let summary = run.stop().await;
    assert_eq!((summary.done, summary.failed, summary.dead), (0, 1, 1));
    assert_eq!(number(&shop.client, "stock").await, Some(1));
}

#[tokio::test]
async fn nothing_is_handed_over_after_the_handler_has_ended() {
    let (mut shop, run) = stocked(10).await;
    shop.client.enqueue(selling("late")).await.unwrap();
    assert_eq!(shop.said.recv().await.unwrap(), "handed over");
    let said = within("the late one", shop.said.recv()).await.unwrap();
    assert!(said.starts_with("hand over effects: the handler has ended"), "{said}");
    run.stop().await;
    assert_eq!(number(&shop.client, "stock").await, Some(8));
    assert_eq!(number(&shop.client, "late").await, None);
}

#[tokio::test]
async fn a_job_follows_and_a_result_is_kept() {
    let (mut shop, run) = stocked(10).await;
    let id = shop.client.enqueue(selling("follow")).await.unwrap().id();
    let ended = within("its end", shop.client.wait_for::<(String, u32)>(id)).await.unwrap();
    assert!(
        matches!(&ended, (End::Done | End::Gone, Some((word, 2))) if word == "sold"),
        "{ended:?}"
    );
    assert_eq!(within("the next", shop.said.recv()).await.unwrap(), "shipped 7");
    let wrong = shop.client.result::<u32>(id).await.unwrap_err();
    assert!(matches!(wrong, Error::Invalid(_)), "{wrong}");
    run.stop().await;
}

#[test]
fn what_is_wrong_is_said_at_once_and_then_nothing_of_it_is_handed_over() {
    let attempt = Attempt::test();
    let problems = |say: &dyn Fn(&mut linchpin::Effects)| match attempt.at_settle(say) {
        Err(Error::Invalid(problems)) => problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let said = problems(&|fx| {
        fx.set("good", "1");
        fx.set("", "1");
        fx.decr_by("n", i64::MIN);
        fx.zadd("z", f64::NAN, "m");
        fx.xadd("s", [("", ""); 0]);
        fx.expire("k", Duration::ZERO);
        fx.keep_result(&"x".repeat(70_000), Duration::from_secs(1));
    });
    assert_eq!(said.len(), 6, "{said:#?}");
    assert!(attempt.effects().is_empty());
    let said = problems(&|fx| (0..65).for_each(|i| fx.set(format!("k{i}"), "")));
    assert_eq!(said, ["effects \"65\": at most 64 a job"]);
    let said = problems(&|fx| fx.set("k", vec![0u8; 65_536]));
    assert!(said[0].contains("at most 65536 bytes a job"), "{said:?}");

    // it adds up over calls
    attempt.at_settle(|fx| (0..60).for_each(|i| fx.set(format!("k{i}"), ""))).unwrap();
    let said = problems(&|fx| (0..5).for_each(|i| fx.set(format!("m{i}"), "")));
    assert_eq!(said, ["effects \"65\": at most 64 a job"]);
    attempt.at_settle(|fx| (0..4).for_each(|i| fx.set(format!("m{i}"), ""))).unwrap();
    assert_eq!(attempt.effects().list().len(), 64);
}

#[tokio::test]
async fn keys_of_the_namespace_are_refused() {
    let shop = Shop::open();
    let refused = shop.client.apply(|fx| fx.del("{linchpin}:jobs")).await.unwrap_err();
    assert!(refused.to_string().contains("a key of your own"), "{refused}");
    let refused = shop.client.apply(|fx| fx.publish("{linchpin}:push:x", "e")).await.unwrap_err();
    assert!(refused.to_string().contains("a key of your own"), "{refused}");
    let refused = shop.client.apply(|fx| fx.enqueue(ship { order: 1 })).await.unwrap_err();
    assert!(refused.to_string().contains("effects on keys only"), "{refused}");
    let refused = shop.client.apply(|fx| fx.require("stock", 1)).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("`stock` is not there, and is required; nothing was applied"),
        "{refused}"
    );
}
