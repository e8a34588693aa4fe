//! The attempts log: every attempt once.

use linchpin::limits::ATTEMPTS_KEPT;
use linchpin::names::JobId;
use linchpin::store::settle::{LockWord, NestedRecord, Outcome, Settle, SettleAnswer, Verdict};
use linchpin::store::turn::Turn;

use super::bench::Bench;
use super::draft::{job, strange_token};
use super::worker::{LAPSE, wants};
use crate::support::within;

async fn every_settle_is_logged_as_it_was_sent_in_order(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    bench.put(job().lock("l")).await;
    let held = worker.claim(2).await;
    let mut settles = vec![held[0].settle(Verdict::Done), held[1].settle(Verdict::Return)];
    settles[0].record.nested = vec![NestedRecord {
        key: "shelf, 3".into(),
        lock: LockWord::Released,
        times: 2,
    }];
    settles[0].record.nested_omitted = 7;
    let records: Vec<_> = settles.iter().map(|settle| settle.record.clone()).collect();
    let turn = Turn { settles, ..wants(0, &[]) };
    worker.turn(turn).await;
    let entries = bench.attempts(0, 10).await.expect("a read");
    assert_eq!(entries.iter().map(|entry| entry.record.clone()).collect::<Vec<_>>(), records);
    assert!(entries[0].number < entries[1].number);
}

async fn a_lost_settle_is_logged_as_a_lost_lease(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    let mut settle = held.settle(Verdict::Done);
    settle.token = strange_token();
    assert_eq!(worker.send(settle).await, SettleAnswer::Lost);
    worker.done(&held).await;
    assert_eq!(bench.outcomes(id).await, [Outcome::LeaseLost, Outcome::Done]);
}

async fn a_reaped_attempt_is_logged_as_crashed(bench: &Bench) {
    let (gone, worker) = (bench.worker(), bench.worker());
    let id = bench.put(job().lock("k")).await;
    let held = gone.claim_one().await;
    bench.later(LAPSE).await;
    worker.look().await;
    let entries = bench.attempts(0, 10).await.expect("a read");
    let record = &entries[0].record;
    assert_eq!((record.job.as_str(), record.outcome), (id.to_string().as_str(), Outcome::Crashed));
    assert_eq!(
        (record.worker.as_str(), record.number, record.fence),
        (gone.id.as_str(), 1, held.fence)
    );
    assert_eq!(record.lock_keys, "k");
}

async fn a_turn_that_does_not_log_leaves_no_entry(bench: &Bench) {
    let (gone, worker) = (bench.worker(), bench.worker());
    bench.put(job()).await;
    bench.put(job()).await;
    let held = worker.claim_one().await;
    gone.claim_one().await;
    let quiet = Turn {
        settles: vec![held.settle(Verdict::Done)],
        log: false,
        ..wants(0, &[])
    };
    worker.turn(quiet.clone()).await;
    bench.later(LAPSE).await;
    worker
        .turn(Turn {
            settles: Vec::new(),
            ..quiet
        })
        .await;
    assert!(bench.attempts(0, 10).await.expect("a read").is_empty());
}

async fn readers_page_through_the_log_by_number(bench: &Bench) {
    let worker = bench.worker();
    for _ in 0..9 {
        bench.put(job()).await;
        let held = worker.claim_one().await;
        worker.done(&held).await;
    }
    let (mut after, mut seen) = (0, Vec::new());
    loop {
        let page = bench.attempts(after, 4).await.expect("a read");
        let Some(last) = page.last() else { break };
        after = last.number;
        seen.extend(page.into_iter().map(|entry| entry.number));
    }
    assert_eq!(seen.len(), 9);
    assert!(seen.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a running number: {seen:?}");
}

async fn a_follower_hears_what_was_there_and_what_comes(bench: &Bench) {
    let worker = bench.worker();
    let end_one = async || {
        let id = bench.put(job()).await;
        let held = worker.claim_one().await;
        worker.done(&held).await;
        id.to_string()
    };
    let (first, second) = (end_one().await, end_one().await);
    let mut from_start = bench.follow(Some(0)).await.expect("the log");
    let mut from_first = bench.follow(Some(1)).await.expect("the log");
    let mut from_now = bench.follow(None).await.expect("the log");
    for expected in [&first, &second] {
        let entry = within("an entry that was there", from_start.recv()).await.expect("going on");
        assert_eq!(entry.record.job, *expected);
    }
    let third = end_one().await;
    for (follower, expected) in [(&mut from_first, &second), (&mut from_now, &third), (&mut from_start, &third)] {
        let entry = within("an entry", follower.recv()).await.expect("going on");
        assert_eq!(entry.record.job, *expected);
    }
    let entry = within("an entry", from_first.recv()).await.expect("going on");
    assert_eq!((entry.number, entry.record.job), (3, third));
}

async fn a_follower_reads_a_log_longer_than_what_it_may_leave_unread(bench: &Bench) {
    let worker = bench.worker();
    let mut follower = bench.follow(Some(0)).await.expect("the log");
    for _ in 0..150 {
        bench.put(job()).await;
        let held = worker.claim_one().await;
        worker.done(&held).await;
    }
    for number in 1..=150 {
        let entry = within("an entry", follower.recv()).await.expect("going on");
        assert_eq!(entry.number, number);
    }
}

async fn the_log_is_capped(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    let held = worker.claim_one().await;
    let mut stranger = held.settle(Verdict::Done);
    stranger.token = strange_token();
    let strangers = (0..100).map(|_| Settle {
        id: JobId::random(),
        ..stranger.clone()
    });
    let turn = Turn {
        settles: strangers.collect(),
        ..wants(0, &[])
    };
    for _ in 0..ATTEMPTS_KEPT / 100 + 5 {
        worker.turn(turn.clone()).await;
    }
    let kept = bench.attempts(0, 100_000).await.expect("a read").len() as u64;
    assert!((ATTEMPTS_KEPT..ATTEMPTS_KEPT + ATTEMPTS_KEPT / 10).contains(&kept), "{kept} kept");
    worker.done(&held).await;
}

on_every_engine!(
    every_settle_is_logged_as_it_was_sent_in_order,
    a_lost_settle_is_logged_as_a_lost_lease,
    a_reaped_attempt_is_logged_as_crashed,
    a_turn_that_does_not_log_leaves_no_entry,
    readers_page_through_the_log_by_number,
    a_follower_hears_what_was_there_and_what_comes,
    a_follower_reads_a_log_longer_than_what_it_may_leave_unread,
    the_log_is_capped,
);
