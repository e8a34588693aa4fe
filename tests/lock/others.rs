//! What broke other locks, and the test that it does not happen here (without a path: below).
//!
//! - an acquire sent again counts twice, one unlock leaves it held: `faults::an_acquire_whose_reply_is_lost_is_one_hold`
//! - an unlock without an answer makes the next acquire "re-entrant"; a release that failed once is never tried again:
//!   `a_release_without_an_answer_is_asked_for_again_and_the_next_hold_is_a_new_one`
//! - a watchdog that stops after one failed renewal, or never starts for the next hold; a renewal lost between two acquires of one name; the
//!   lease of a hold before that leaks into the next: `renewals_go_on_after_one_that_failed_and_for_the_next_hold`
//! - a cancelled acquire that leaves the lock held: `facts::an_acquire_dropped_anywhere_leaves_nothing`, `facts::a_dropped_acquire_leaves_the_line`
//! - a failed extend that deletes its own lock: `renewals_go_on_after_one_that_failed_and_for_the_next_hold`; one that makes again what somebody
//!   else held in between: `faults::a_lock_deleted_under_its_holder_is_lost_at_the_next_renewal`
//! - an owner that is a thread, so that two tasks share a lock: `tasks_of_one_thread_exclude_each_other`
//! - lines ordered by client clocks: `faults::clocks_an_hour_apart_exclude_each_other_all_the_same`; dead waiters that cost seconds each or block
//!   everybody, live ones dropped: `a_process_that_does_not_ask_is_passed_over_and_then_gone` and `a_client_that_cannot_be_told_keeps_its_place`
//!   (`tests/conformance/line.rs`)
//! - a subscription for each lock; waiters that spin: `who_waits_for_many_locks_has_one_subscription_and_asks_seldom`
//! - a release of an expired lock that hides the body's error: `facts::a_fixed_lease_ends_by_itself`, `what_the_body_said_is_not_hidden_by_a_lock_that_ended`
//! - "busy" and "Redis is down" look the same: `faults::an_unreachable_store_is_not_a_busy_lock`
//! - a renewal pass slower than the lease: `faults::very_many_holds_are_all_renewed_in_time`
//! - keys left without an end: `faults::many_locks_used_once_leave_nothing`
//! - a waiter never woken, for the unlock came between its attempt and its watching: `faults::hand_overs_go_on_while_push_connections_are_killed_and_scripts_flushed`
//! - the releaser that takes its own lock again and again: `facts::who_waits_gets_it_in_the_order_of_coming_and_fences_grow`
//! - reads and writes, nodes of a quorum: there are neither yet

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use linchpin::Client;
use linchpin::lock::ReleaseAnswer;

use crate::faults::{calls, digest, store};
use crate::support::{Fault, Proxy, RedisServer, within};

#[tokio::test]
async fn a_release_without_an_answer_is_asked_for_again_and_the_next_hold_is_a_new_one() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (store, other) = (store(&proxy.url()).await, Client::on(store(&server.url()).await));
    let client = Client::on(store.clone());
    client.lock("k").run(|_| async {}).await.expect("the scripts are known from here");
    let guard = client.lock("k").try_acquire().await.expect("free");
    proxy.set(Fault::DropReplies {
        pattern: digest(&store, "release"),
        every: 1,
    });
    assert!(within("no answer", guard.release()).await.is_err(), "each answer is lost");
    proxy.set(Fault::None);
    let next = other.lock("k").try_acquire().await.expect("it was freed all the same");
    assert_eq!(
        guard.release().await.expect("an answer"),
        ReleaseAnswer::NotHeld,
        "not the other's hold"
    );
    assert!(client.lock("k").try_acquire().await.is_err(), "the other holds it");
    assert_eq!(next.release().await.expect("an answer"), ReleaseAnswer::Released);
    let again = client.lock("k").try_acquire().await.expect("free");
    assert!(again.fence() > next.fence());
}

#[tokio::test]
async fn renewals_go_on_after_one_that_failed_and_for_the_next_hold() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = store(&proxy.url()).await;
    let client = Client::on(store.clone());
    let short = client
        .lock("k")
        .lease(Duration::from_millis(300))
        .try_acquire()
        .await
        .expect("free");
    short.release().await.expect("an answer");
    let lock = || client.lock("k").renewed(Duration::from_secs(1));
    for _ in 0..2 {
        let guard = lock().acquire().await.expect("free");
        let dropped = proxy.dropped();
        proxy.set(Fault::DropReplies {
            pattern: digest(&store, "renew_holds"),
            every: 2,
        });
        let watched = tokio::time::timeout(Duration::from_millis(2500), guard.lost()).await;
        assert!(watched.is_err(), "lost: {watched:?}");
        assert!(proxy.dropped() > dropped, "a renewal without an answer");
        proxy.set(Fault::None);
        assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::Released);
    }
}

#[tokio::test]
async fn tasks_of_one_thread_exclude_each_other() {
    let server = RedisServer::start();
    let client = Client::on(store(&server.url()).await);
    let (inside, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let one = || async {
        let guard = client.lock("k").acquire().await.expect("in turn");
        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
        most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        inside.fetch_sub(1, Ordering::SeqCst);
        guard.release().await.expect("an answer");
    };
    within("all of them", async { tokio::join!(one(), one(), one(), one()) }).await;
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_the_body_said_is_not_hidden_by_a_lock_that_ended() {
    let server = RedisServer::start();
    let client = Client::on(store(&server.url()).await);
    let ended = Arc::new(AtomicBool::new(false));
    let body = |_| async {
        server.command(&["DEL", "{t}:lock:k"]).expect("our own server");
        ended.store(true, Ordering::SeqCst);
        Err::<(), _>("the body's own error")
    };
    let said = client.lock("k").run(body).await.expect("the lock was there");
    assert_eq!(said, Err("the body's own error"));
    assert!(ended.load(Ordering::SeqCst));
}

#[tokio::test]
async fn who_waits_for_many_locks_has_one_subscription_and_asks_seldom() {
    let server = RedisServer::start();
    let client = Client::on(store(&server.url()).await);
    let mut held = Vec::new();
    for n in 0..100 {
        held.push(client.lock(format!("k{n}")).acquire().await.expect("free"));
    }
    let other = Client::on(store(&server.url()).await);
    let waiting: Vec<_> = (0..100)
        .map(|n| {
            let other = other.clone();
            tokio::spawn(async move { other.lock(format!("k{n}")).acquire().await.map(drop) })
        })
        .collect();
    within("all lines", async {
        while client.census().await.expect("a read").parked < 100 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let channels = server.command(&["PUBSUB", "CHANNELS"]).expect("a read");
    let channels = channels.lines().filter(|line| line.starts_with('{')).count();
    assert!((1..=2).contains(&channels), "{channels} subscriptions of two processes");
    let before = calls(&server, "evalsha");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = calls(&server, "evalsha") - before;
    assert!(asked < 400, "{asked} calls in two seconds for 100 waiters and 100 holds");
    drop(held);
    for waiter in waiting {
        within("its turn", waiter).await.expect("no panic").expect("the lock");
    }
}
