//! Effects: what rides a settle is done with it, all of it or nothing, once.

use std::sync::Arc;

use linchpin::Effects;
use linchpin::names::JobId;
use linchpin::store::effects::{Applied, Effect, KeptResult, Need, Riding, Value};
use linchpin::store::settle::{Charge, Death, Outcome, Settle, SettleAnswer, Verdict};
use linchpin::store::turn::{Suspects, Turn};
use linchpin::store::view::{Ended, Push};

use super::bench::Bench;
use super::draft::{Draft, job, secs, strange_token};
use super::worker::{Held, LAPSE, wants};

fn riding(say: impl FnOnce(&mut Effects)) -> Riding {
    let mut effects = Effects::default();
    say(&mut effects);
    Riding {
        effects: effects.list().to_vec(),
        jobs: Vec::new(),
        result: None,
        fallback: Verdict::Schedule {
            delay: secs(5),
            charge: Charge::Attempt,
            error: Some("refused: ".into()),
        },
    }
}

fn done_with(held: &Held, riding: Riding) -> Settle {
    Settle {
        riding: Some(Arc::new(riding)),
        ..held.settle(Verdict::Done)
    }
}

async fn apply(bench: &Bench, say: impl FnOnce(&mut Effects)) -> Applied {
    bench.apply(riding(say).effects).await.expect("an answer")
}

async fn value(bench: &Bench, key: &str) -> Option<Value> {
    bench.value(key.as_bytes()).await.expect("a read")
}

async fn number(bench: &Bench, key: &str) -> Option<i64> {
    value(bench, key).await.and_then(|value| value.as_int())
}

/// The reason of a refusal, which is in the job's errors too.
async fn refused(bench: &Bench, id: JobId, answer: SettleAnswer) -> String {
    let SettleAnswer::Refused(refusal) = answer else {
        panic!("not refused: {answer:?}");
    };
    let view = bench.view(id).await.expect("kept");
    let error = match view.state {
        linchpin::store::view::State::Dead { reason, .. } => reason,
        _ => view.errors.last().cloned().unwrap_or_default(),
    };
    assert!(
        error.ends_with(&refusal.reason) && !refusal.reason.is_empty(),
        "{error} / {refusal:?}"
    );
    error
}

async fn effects_are_done_with_the_settle_and_the_job_is_gone(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k").unique("u", 1)).await;
    let held = worker.claim_one().await;
    let riding = riding(|fx| {
        fx.incr_by("stock", 10);
        fx.decr_by("stock", 3);
        fx.set("name", "nail\r\n\0");
        fx.hset("sizes", "A1", "long");
        fx.hincr_by("sizes", "count", 2);
        fx.sadd("seen", "a");
        fx.sadd("seen", "b");
        fx.srem("seen", "a");
        fx.zadd("by_price", 2.5, "nail");
        fx.zadd("by_price", -1.0, "pin");
        fx.rpush("line", "2");
        fx.rpush("line", "3");
        fx.lpush("line", "1");
        fx.xadd("moved", [("sku", "A1"), ("qty", "3")]);
        fx.publish("moves", "A1");
    });
    let answer = worker.send(done_with(&held, riding)).await;
    assert_eq!(answer, SettleAnswer::Accepted);
    assert_eq!(bench.state(id).await, "gone");
    assert_eq!(bench.outcomes(id).await, [Outcome::Done]);
    assert_eq!(number(bench, "stock").await, Some(7));
    let text = |text: &str| text.as_bytes().to_vec();
    assert_eq!(value(bench, "name").await, Some(Value::String(text("nail\r\n\0"))));
    let sizes = [("A1", "long"), ("count", "2")].map(|(field, value)| (text(field), text(value)));
    assert_eq!(value(bench, "sizes").await, Some(Value::Hash(sizes.into())));
    assert_eq!(value(bench, "seen").await, Some(Value::Set([text("b")].into())));
    let prices = vec![(text("pin"), -1.0), (text("nail"), 2.5)];
    assert_eq!(value(bench, "by_price").await, Some(Value::SortedSet(prices)));
    assert_eq!(value(bench, "line").await, Some(Value::List(vec![text("1"), text("2"), text("3")])));
    let moved = vec![vec![(text("sku"), text("A1")), (text("qty"), text("3"))]];
    assert_eq!(value(bench, "moved").await, Some(Value::Stream(moved)));
    // its unique key and its lock are free
    bench.put(job().lock("k").unique("u", 2)).await;
    let held = worker.claim_one().await;
    worker.done(&held).await;
}

async fn what_was_emptied_is_gone_and_what_is_not_there_is_not_made(bench: &Bench) {
    let done = apply(bench, |fx| {
        fx.hset("hash", "f", "v");
        fx.sadd("set", "m");
        fx.zadd("sorted", 1.0, "m");
        fx.set("string", "v");
    })
    .await;
    assert_eq!(done, Applied::Done);
    let done = apply(bench, |fx| {
        fx.hdel("hash", "f");
        fx.srem("set", "m");
        fx.zrem("sorted", "m");
        fx.del("string");
        fx.hdel("other", "f");
        fx.srem("other", "m");
        fx.zrem("other", "m");
        fx.expire("other", secs(5));
    })
    .await;
    assert_eq!(done, Applied::Done);
    for key in ["hash", "set", "sorted", "string", "other"] {
        assert_eq!(value(bench, key).await, None, "{key}");
    }
}

async fn a_settle_that_is_lost_does_nothing(bench: &Bench) {
    let (worker, other) = (bench.worker(), bench.worker());
    bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let take = |held: &Held| done_with(held, riding(|fx| fx.incr_by("stock", 1)));

    let mut strange = take(&held);
    strange.token = strange_token();
    assert_eq!(other.send(strange).await, SettleAnswer::Lost);
    assert_eq!(number(bench, "stock").await, None);

    bench.engine.lose_lock(&super::draft::key("k")).await;
    assert_eq!(worker.send(take(&held)).await, SettleAnswer::Lost, "its lock is gone");
    assert_eq!(number(bench, "stock").await, None);

    let held = worker.claim_one().await;
    bench.later(LAPSE).await;
    other.look().await;
    let (again, _) = other.claim_suspects(1, Suspects::One).await;
    let again = &again[0];
    assert_eq!(worker.send(take(&held)).await, SettleAnswer::Lost, "it was reaped");
    assert_eq!(number(bench, "stock").await, None);
    assert_eq!(other.send(take(again)).await, SettleAnswer::Accepted);
    assert_eq!(other.send(take(again)).await, SettleAnswer::Lost, "a second time");
    assert_eq!(number(bench, "stock").await, Some(1));
}

async fn a_job_whose_requirement_fails_is_refused_alone(bench: &Bench) {
    let worker = bench.worker();
    apply(bench, |fx| fx.set("stock", "3")).await;
    let ids = [
        bench.put(job().lock("a").unique("u", 1)).await,
        bench.put(job()).await,
        bench.put(job()).await,
    ];
    let held = worker.claim(3).await;
    let settles = held.iter().map(|held| {
        let say = |fx: &mut Effects| {
            fx.require("stock", Need::AtLeast(2));
            fx.decr_by("stock", 2);
            fx.rpush("sold", "2");
        };
        done_with(held, riding(say))
    });
    let turn = Turn {
        settles: settles.collect(),
        ..wants(0, &[])
    };
    let (_, reply) = worker.turn(turn).await;
    assert_eq!(reply.settled[0], SettleAnswer::Accepted);
    for (i, answer) in reply.settled.into_iter().enumerate().skip(1) {
        let error = refused(bench, ids[i], answer).await;
        assert_eq!(error, "refused: `stock` is 1, at least 2 is required");
        assert_eq!(bench.state(ids[i]).await, "scheduled");
        let view = bench.view(ids[i]).await.expect("kept");
        assert_eq!(view.tries.charged, 1);
    }
    assert_eq!(bench.outcomes(ids[1]).await, [Outcome::Retry]);
    assert_eq!(number(bench, "stock").await, Some(1));
    assert_eq!(value(bench, "sold").await, Some(Value::List(vec![b"2".to_vec()])));

    // goods came in: they run again
    apply(bench, |fx| fx.incr_by("stock", 10)).await;
    bench.later(secs(6)).await;
    for held in worker.claim(2).await {
        let answer = worker.send(done_with(&held, riding(|fx| fx.decr_by("stock", 2)))).await;
        assert_eq!(answer, SettleAnswer::Accepted);
    }
    assert_eq!(number(bench, "stock").await, Some(7));
}

async fn a_refused_job_keeps_its_unique_key_frees_its_lock_and_may_die(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k").unique("u", 1)).await;
    let held = worker.claim_one().await;
    let mut refusing = riding(|fx| fx.require("stock", Need::Present));
    let answer = worker.send(done_with(&held, refusing.clone())).await;
    refused(bench, id, answer).await;
    assert_eq!(bench.unique_holder(&super::draft::unique_key("u")).await.expect("a read"), Some(id));
    bench.put(job().lock("k")).await;
    worker.done(&worker.claim_one().await).await;

    bench.later(secs(6)).await;
    let held = worker.claim_one().await;
    refusing.fallback = Verdict::Bury {
        reason: "2 of 2 attempts failed: ".into(),
        death: Death::Exhausted,
        charge: Charge::Attempt,
    };
    let answer = worker.send(done_with(&held, refusing)).await;
    assert!(matches!(&answer, SettleAnswer::Refused(refusal) if refusal.dead), "{answer:?}");
    let reason = refused(bench, id, answer).await;
    assert_eq!(reason, "2 of 2 attempts failed: `stock` is not there, and is required");
    assert_eq!(bench.state(id).await, "dead:exhausted");
    assert_eq!(bench.unique_holder(&super::draft::unique_key("u")).await.expect("a read"), None);
    assert_eq!(bench.outcomes(id).await, [Outcome::Retry, Outcome::Dead]);
}

async fn a_cancelled_job_whose_effects_are_refused_is_buried_as_cancelled(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    bench.cancel(id).await.expect("asked");
    let answer = worker.send(done_with(&held, riding(|fx| fx.require("stock", Need::Present)))).await;
    assert!(matches!(answer, SettleAnswer::Refused(_)), "{answer:?}");
    assert_eq!(bench.state(id).await, "dead:cancelled");
}

/// What refuses a whole batch of effects, after one that would be good.
async fn nothing_is_applied_where_one_would_fail(bench: &Bench) {
    let done = apply(bench, |fx| {
        fx.set("text", "nail");
        fx.set("most", i64::MAX.to_string());
        fx.set("odd", "007");
        fx.hset("hash", "text", "nail");
        fx.hset("hash", "least", i64::MIN.to_string());
        fx.sadd("set", "m");
    })
    .await;
    assert_eq!(done, Applied::Done);
    type Say = fn(&mut Effects);
    let bad: &[(&str, Say)] = &[
        ("`text` holds no whole number", |fx| fx.incr_by("text", 1)),
        ("`odd` holds no whole number", |fx| fx.incr_by("odd", 1)),
        ("`most` would leave 64 bits", |fx| fx.incr_by("most", 1)),
        ("`hash` would leave 64 bits", |fx| fx.hincr_by("hash", "least", -1)),
        ("`hash` holds no whole number", |fx| fx.hincr_by("hash", "text", 1)),
        ("`set` holds a set, no string", |fx| fx.incr_by("set", 1)),
        ("`text` holds a string, no hash", |fx| fx.hset("text", "f", "v")),
        ("`text` holds a string, no hash", |fx| fx.hdel("text", "f")),
        ("`text` holds a string, no set", |fx| fx.sadd("text", "m")),
        ("`hash` holds a hash, no set", |fx| fx.srem("hash", "m")),
        ("`set` holds a set, no zset", |fx| fx.zadd("set", 1.0, "m")),
        ("`set` holds a set, no zset", |fx| fx.zrem("set", "m")),
        ("`set` holds a set, no list", |fx| fx.lpush("set", "v")),
        ("`set` holds a set, no list", |fx| fx.rpush("set", "v")),
        ("`set` holds a set, no stream", |fx| fx.xadd("set", [("f", "v")])),
        ("`set` holds a set, no string", |fx| fx.require("set", Need::Present)),
        ("`set` holds a set, no hash", |fx| fx.require_field("set", "f", Need::Present)),
        ("`text` is not what is required", |fx| fx.require("text", "screw")),
        ("`none` is not there, and is required", |fx| fx.require("none", "screw")),
        ("`text` is there, and is required not to be", |fx| fx.require("text", Need::Absent)),
        ("`text` holds no whole number", |fx| fx.require("text", Need::AtLeast(1))),
        ("`most` is 9223372036854775807, at most 9223372036854775806 is required", |fx| {
            fx.require("most", Need::AtMost(i64::MAX - 1));
        }),
        (
            "`hash.least` is -9223372036854775808, at least -9223372036854775807 is required",
            |fx| {
                fx.require_field("hash", "least", Need::AtLeast(i64::MIN + 1));
            },
        ),
        ("`hash.none` is not there, and is required", |fx| {
            fx.require_field("hash", "none", Need::Present)
        }),
        ("`good` would leave 64 bits: 1 and 9223372036854775807", |fx| {
            fx.incr_by("good", i64::MAX)
        }),
        ("`good` holds a string, no list", |fx| fx.rpush("good", "v")),
        ("`good` is 1, at least 2 is required", |fx| fx.require("good", Need::AtLeast(2))),
    ];
    for (reason, say) in bad {
        let answer = apply(bench, |fx| {
            fx.incr_by("good", 1);
            say(fx);
        })
        .await;
        match answer {
            Applied::Refused(why) => assert!(why.starts_with(reason), "{why} instead of {reason}"),
            other => panic!("{other:?} instead of {reason}"),
        }
        assert_eq!(value(bench, "good").await, None, "{reason}");
    }
    // and each alone
    for (reason, say) in bad.iter().filter(|(reason, _)| !reason.starts_with("`good`")) {
        let answer = apply(bench, say).await;
        assert!(matches!(answer, Applied::Refused(_)), "{answer:?} instead of {reason}");
    }
}

async fn checks_see_what_the_effects_before_them_have_made(bench: &Bench) {
    let done = apply(bench, |fx| {
        fx.set("a", "nail");
        fx.del("a");
        fx.rpush("a", "now a list");
        fx.hset("b", "n", "4");
        fx.hincr_by("b", "n", 1);
        fx.require_field("b", "n", 5);
        fx.set("b", "41");
        fx.incr_by("b", 1);
        fx.require("b", "42");
        fx.del("b");
        fx.require("b", Need::Absent);
        fx.incr_by("b", i64::MAX);
        fx.decr_by("b", i64::MAX);
        fx.require("b", Need::AtMost(0));
        fx.hset("c", "f", "v");
        fx.hdel("c", "f");
        fx.require_field("c", "f", Need::Absent);
    })
    .await;
    assert_eq!(done, Applied::Done);
    assert_eq!(value(bench, "a").await, Some(Value::List(vec![b"now a list".to_vec()])));
    assert_eq!(number(bench, "b").await, Some(0));
    assert_eq!(value(bench, "c").await, None);
}

async fn numbers_beyond_what_a_double_holds_are_exact(bench: &Bench) {
    let done = apply(bench, |fx| {
        fx.incr_by("n", i64::MAX - 10);
        fx.incr_by("n", 3);
        fx.require("n", i64::MAX - 7);
        fx.require("n", Need::AtLeast(i64::MAX - 7));
        fx.require("n", Need::AtMost(i64::MAX - 7));
        fx.hincr_by("h", "n", i64::MIN + 1);
        fx.hincr_by("h", "n", -1);
        fx.require_field("h", "n", i64::MIN);
    })
    .await;
    assert_eq!(done, Applied::Done);
    assert_eq!(number(bench, "n").await, Some(i64::MAX - 7));
}

async fn jobs_follow_with_the_settle_or_not_at_all(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    bench.put(job()).await;
    let taken = bench.put(job().unique("taken", 1).after(secs(500))).await;
    let held = worker.claim(2).await;
    let follow = |bench: &Bench, draft: Draft| {
        bench.remember(&draft);
        draft.0
    };
    let (now, later) = (job().lock("k"), job().after(secs(60)).unique("later", 1));
    let same = job().unique("taken", 1);
    let big = {
        let mut draft = job();
        draft.0.body.args = format!(r#"{{"text":"{}"}}"#, "x".repeat(8000)).into_bytes().into();
        draft
    };
    let ids = [now.id(), later.id(), same.id(), big.id()];
    let mut rides = riding(|fx| fx.incr_by("stock", 1));
    rides.jobs = [now, later, same, big].map(|draft| follow(bench, draft)).into();

    let mut conflicting = rides.clone();
    conflicting.jobs.push(follow(bench, job().unique("taken", 2)));
    let answer = worker.send(done_with(&held[0], conflicting)).await;
    let error = refused(bench, held[0].id, answer).await;
    assert_eq!(
        error,
        format!("refused: `taken` is a unique key that job {taken} holds with other arguments")
    );
    assert_eq!(number(bench, "stock").await, None);
    for id in ids {
        assert_eq!(bench.state(id).await, "gone");
    }

    assert_eq!(worker.send(done_with(&held[1], rides)).await, SettleAnswer::Accepted);
    let mut states = Vec::new();
    for id in ids {
        states.push(bench.state(id).await);
    }
    assert_eq!(states, ["ready", "scheduled", "gone", "ready"]);
    assert_eq!(number(bench, "stock").await, Some(1));
    let follows = worker.claim(2).await;
    assert_eq!(follows.iter().map(|held| held.id).collect::<Vec<_>>(), [ids[0], ids[3]]);
    let args = &follows[1].envelope.as_ref().expect("readable").body.args;
    assert_eq!(args.len(), 8011);
    for held in follows {
        worker.done(&held).await;
    }
}

async fn a_result_is_there_when_its_watcher_is_told_and_goes_in_time(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    let mut told = bench.pushes(&bench.producer).await.expect("a subscription");
    bench.watch(id, &bench.producer).await.expect("watched");
    let mut rides = riding(|_| {});
    rides.result = Some(KeptResult {
        json: b"[1,2]".to_vec(),
        kept_for: secs(60),
    });
    assert_eq!(worker.send(done_with(&held, rides)).await, SettleAnswer::Accepted);
    assert_eq!(told.recv().await, Some(Push::Ended(id, Ended::Done)));
    assert_eq!(bench.result(id).await.expect("a read"), Some(b"[1,2]".to_vec()));
    assert_eq!(bench.result(JobId::random()).await.expect("a read"), None);
    bench.later(secs(61)).await;
    assert_eq!(bench.result(id).await.expect("a read"), None);
}

async fn a_batch_with_and_without_effects_is_settled_in_order(bench: &Bench) {
    let worker = bench.worker();
    for _ in 0..6 {
        bench.put(job()).await;
    }
    let held = worker.claim(6).await;
    let settles = held.iter().enumerate().map(|(i, held)| match i % 3 {
        0 => held.settle(Verdict::Done),
        1 => done_with(held, riding(|fx| fx.rpush("order", i.to_string()))),
        _ => held.settle(super::worker::retry_after(secs(1))),
    });
    let turn = Turn {
        settles: settles.collect(),
        ..wants(0, &[])
    };
    let (_, reply) = worker.turn(turn).await;
    assert!(reply.settled.iter().all(|answer| *answer == SettleAnswer::Accepted));
    assert_eq!(value(bench, "order").await, Some(Value::List(vec![b"1".to_vec(), b"4".to_vec()])));
    let census = bench.census().await.expect("a read");
    assert_eq!((census.jobs, census.scheduled, census.active), (2, 2, 0));
}

async fn times_to_live_end_with_a_set_and_stay_with_a_count(bench: &Bench) {
    let done = apply(bench, |fx| {
        fx.set_for("short", "1", std::time::Duration::from_millis(40));
        fx.incr_by("short", 1);
        fx.set_for("kept", "1", std::time::Duration::from_millis(40));
        fx.set("kept", "2");
    })
    .await;
    assert_eq!(done, Applied::Done);
    assert_eq!((number(bench, "short").await, number(bench, "kept").await), (Some(2), Some(2)));
    // keys of the user's live on the real clock on Redis, and on the store's in memory
    bench.later(secs(1)).await;
    tokio::time::sleep(std::time::Duration::from_millis(80)).await;
    assert_eq!((number(bench, "short").await, number(bench, "kept").await), (None, Some(2)));
}

async fn no_effects_are_no_effects(bench: &Bench) {
    assert_eq!(bench.apply(Vec::<Effect>::new()).await.expect("an answer"), Applied::Done);
    assert!(!bench.is_own_key(b"stock:A1"));
}

on_every_engine!(
    effects_are_done_with_the_settle_and_the_job_is_gone,
    what_was_emptied_is_gone_and_what_is_not_there_is_not_made,
    a_settle_that_is_lost_does_nothing,
    a_job_whose_requirement_fails_is_refused_alone,
    a_refused_job_keeps_its_unique_key_frees_its_lock_and_may_die,
    a_cancelled_job_whose_effects_are_refused_is_buried_as_cancelled,
    nothing_is_applied_where_one_would_fail,
    checks_see_what_the_effects_before_them_have_made,
    numbers_beyond_what_a_double_holds_are_exact,
    jobs_follow_with_the_settle_or_not_at_all,
    a_result_is_there_when_its_watcher_is_told_and_goes_in_time,
    a_batch_with_and_without_effects_is_settled_in_order,
    times_to_live_end_with_a_set_and_stay_with_a_count,
    no_effects_are_no_effects,
);
