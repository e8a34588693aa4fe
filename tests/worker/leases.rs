use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use linchpin::attempt::{Attempt, Progress, StopCause};
use linchpin::names::LockKey;
use linchpin::store::settle::{Charge, Outcome, SettleAnswer, Verdict};
use linchpin::{Data, TaskResult, task};

use crate::shop::{LEASE, Running, Say, Shop, within};

#[task(lock = "shelf:{shelf}")]
async fn hold_shelf(attempt: Attempt, say: Data<Say>, shelf: String) -> TaskResult {
    say.say(format!("{shelf} {}", attempt.number()));
    let cause = attempt.cancelled().await;
    say.say(format!("{cause:?}"));
    std::future::pending().await
}

#[tokio::test]
async fn a_renewed_attempt_outlives_its_lease() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<last>());
    let began = Instant::now();
    shop.client.enqueue(last {}).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert!(began.elapsed() > 2 * LEASE);
    assert_eq!((settle.verdict, answer), (Verdict::Done, SettleAnswer::Accepted));
    assert_eq!(run.stop().await.done, 1);
}

#[tokio::test]
async fn what_a_handler_says_of_its_progress_is_seen_while_it_runs() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<export>());
    let id = shop.client.enqueue(export {}).await.unwrap().id();
    let client = shop.client.clone();
    let progress = async || client.job(id).await.unwrap().unwrap().progress;
    let seen = within("a renewal", async {
        loop {
            match progress().await {
                Some(seen) => break seen,
                None => tokio::time::sleep(LEASE / 20).await,
            }
        }
    });
    let expected = Progress {
        done: 2,
        total: 3,
        note: format!("{}  tail of lines{}", "é".repeat(90), "é".repeat(2)),
    };
    assert_eq!(seen.await, expected);
    assert!(shop.client.cancel(id).await.is_ok());
    shop.settled().await;
    assert!(client.job(id).await.unwrap().is_none_or(|job| job.progress.is_none()));
    run.stop().await;
}

#[task(retries = 0)]
async fn export(attempt: Attempt) -> TaskResult {
    for row in 0..3 {
        attempt.progress(row, 3, &format!("{}\n\ttail of lines{}", "é".repeat(90), "é".repeat(3)));
    }
    attempt.cancelled().await;
    Ok(())
}

#[test]
fn a_handler_called_by_a_test_shows_what_it_said() {
    let attempt = Attempt::test();
    assert_eq!(attempt.last_progress(), None);
    attempt.progress(1, 0, "");
    assert_eq!(attempt.clone().last_progress().map(|said| said.done), Some(1));
}

#[task]
async fn last(attempt: Attempt) -> TaskResult {
    tokio::select! {
        cause = attempt.cancelled() => panic!("{cause}"),
        () = tokio::time::sleep(3 * LEASE) => Ok(()),
    }
}

#[tokio::test]
async fn an_attempt_whose_renewals_fail_is_stopped_before_the_store_takes_its_job() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().shutdown_grace(Duration::ZERO).task::<hold_shelf>());
    shop.store.no_renewals.store(true, Relaxed);
    let began = Instant::now();
    shop.client.enqueue(hold_shelf { shelf: "a".into() }).await.unwrap();
    assert_eq!(shop.hears().await, "a 1");
    assert_eq!(shop.hears().await, format!("{:?}", StopCause::LeaseLost));
    assert!(began.elapsed() < LEASE + LEASE / 15, "{:?}", began.elapsed());
    let (settle, _) = shop.settled().await;
    assert_eq!((settle.verdict, settle.record.outcome), (Verdict::Return, Outcome::LeaseLost));
    shop.store.no_renewals.store(false, Relaxed);
    assert_eq!(shop.hears().await, "a 1", "uncharged, it runs again");
    run.stop().await;
}

#[tokio::test]
async fn an_attempt_that_lost_its_lock_is_stopped_and_its_settle_refused() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().shutdown_grace(Duration::ZERO).task::<hold_shelf>());
    shop.client.enqueue(hold_shelf { shelf: "a".into() }).await.unwrap();
    assert_eq!(shop.hears().await, "a 1");
    shop.store.inner.lose_lock(&LockKey::new("shelf:a").unwrap());
    assert_eq!(shop.hears().await, format!("{:?}", StopCause::LeaseLost));
    let (settle, answer) = shop.settled().await;
    assert_eq!((settle.record.outcome, answer), (Outcome::LeaseLost, SettleAnswer::Lost));
    assert_eq!(shop.hears().await, "a 1", "it runs again");
    let summary = run.stop().await;
    assert_eq!(summary.lost, 1);
}

#[tokio::test]
async fn a_claim_whose_reply_comes_too_late_is_handed_back_unstarted() {
    let mut shop = Shop::open();
    shop.store.late_ms.store(LEASE.as_millis() as u64, Relaxed);
    let run = Running::start(shop.worker().task::<quick>());
    shop.client.enqueue(quick {}).await.unwrap();
    let (first, _) = shop.settled().await;
    assert_eq!((first.verdict, first.record.outcome), (Verdict::Return, Outcome::Returned));
    let (second, _) = shop.settled().await;
    assert_eq!(second.verdict, Verdict::Done);
    assert_eq!(shop.hears().await, "quick");
    run.stop().await;
    assert!(shop.said.try_recv().is_err(), "ran once");
}

#[task]
async fn quick(say: Data<Say>) -> TaskResult {
    say.say("quick");
    Ok(())
}

/// Opened to let blocking handlers go.
type Gate = Arc<(std::sync::Mutex<bool>, std::sync::Condvar)>;

fn open(gate: &Gate) {
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
}

fn wait_for(gate: &Gate) {
    let mut open = gate.0.lock().unwrap();
    while !*open {
        open = gate.1.wait(open).unwrap();
    }
}

/// Blocks its executor thread.
#[task]
async fn block(attempt: Attempt, say: Data<Say>, gate: Data<Gate>) -> TaskResult {
    say.say("blocks");
    wait_for(&gate);
    say.say(format!("{:?}", attempt.stop_cause()));
    Ok(())
}

#[test]
fn the_watchdog_renews_while_every_executor_thread_is_blocked() {
    let threads = 2;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap();
    let mut shop = runtime.block_on(async { Shop::open() });
    let gate = Gate::default();
    let run = runtime.block_on(async { Running::start(shop.worker().data(gate.clone()).task::<block>()) });
    for _ in 0..threads {
        let client = shop.client.clone();
        runtime.block_on(async move { client.enqueue(block {}).await.unwrap() });
    }
    let words: Vec<_> = (0..threads).map(|_| shop.said.blocking_recv().unwrap()).collect();
    assert_eq!(words, ["blocks", "blocks"]);
    // Nothing of the runtime steps now; the watchdog's thread goes on. A renewal each third of a lease: three leases pass.
    let before = shop.store.renewals.load(Relaxed);
    let patience = Instant::now() + Duration::from_secs(20);
    while shop.store.renewals.load(Relaxed) < before + 9 {
        assert!(Instant::now() < patience, "renewals stopped");
        std::thread::yield_now();
    }
    open(&gate);
    let words: Vec<_> = (0..threads).map(|_| shop.said.blocking_recv().unwrap()).collect();
    assert_eq!(words, ["None", "None"], "never told to stop");
    let summary = runtime.block_on(run.stop());
    assert_eq!((summary.done, summary.lost), (2, 0));
}

/// Sync, and deaf to being told to stop.
#[task(timeout = "100ms", lock = "press")]
fn press(say: Data<Say>, gate: Data<Gate>) -> TaskResult {
    say.say("presses");
    wait_for(&gate);
    Ok(())
}

#[tokio::test]
async fn a_stuck_handler_is_surrendered_and_its_slot_accounted_for() {
    let mut shop = Shop::open();
    let gate = Gate::default();
    let run = Running::start(shop.worker().concurrency(1).data(gate.clone()).task::<press>().task::<quick>());
    let id = shop.client.enqueue(press {}).await.unwrap().id();
    assert_eq!(shop.hears().await, "presses");
    shop.client.enqueue(quick {}).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!(
        (settle.id, settle.record.outcome, answer),
        (id, Outcome::Stuck, SettleAnswer::Accepted)
    );
    assert!(matches!(
        settle.verdict,
        Verdict::Schedule {
            charge: Charge::Attempt,
            ..
        }
    ));
    assert!(
        settle.record.ran_ms >= LEASE.as_millis() as u64,
        "renewed for a lease after it was told"
    );
    within("an unready worker", async {
        while run.health.stuck() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(run.health.live() && !run.health.ready());
    assert!(shop.said.try_recv().is_err(), "its slot is taken");
    open(&gate);
    assert_eq!(shop.hears().await, "quick");
    let summary = run.stop().await;
    assert_eq!((summary.failed, summary.done), (1, 1));
}

/// Sync, and slow to stop when told.
#[task(timeout = "100ms")]
fn slow_to_stop(attempt: Attempt, say: Data<Say>) -> TaskResult {
    while !attempt.is_cancelled() {
        std::thread::yield_now();
    }
    // Longer than what an async handler is given, shorter than what counts as stuck.
    std::thread::sleep(LEASE / 5);
    say.say("ends");
    Ok(())
}

#[tokio::test]
async fn a_sync_handler_that_ends_late_is_settled_only_then() {
    let mut shop = Shop::open();
    let run = Running::start(shop.worker().task::<slow_to_stop>());
    shop.client.enqueue(slow_to_stop {}).await.unwrap();
    let (settle, answer) = shop.settled().await;
    assert_eq!(shop.said.try_recv().unwrap(), "ends");
    assert_eq!((settle.verdict, answer), (Verdict::Done, SettleAnswer::Accepted));
    run.stop().await;
}

#[test]
fn a_handler_that_blocks_every_thread_is_surrendered_all_the_same() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let mut shop = runtime.block_on(async { Shop::open() });
    let gate = Gate::default();
    let run = runtime.block_on(async { Running::start(shop.worker().data(gate.clone()).task::<block_for_ever>()) });
    let client = shop.client.clone();
    runtime.block_on(async move { client.enqueue(block_for_ever {}).await.unwrap() });
    assert_eq!(shop.said.blocking_recv().unwrap(), "blocks");
    let (settle, answer) = runtime.block_on(shop.settled());
    assert_eq!((settle.record.outcome, answer), (Outcome::Stuck, SettleAnswer::Accepted));
    open(&gate);
    runtime.block_on(run.stop());
}

#[task(timeout = "100ms")]
async fn block_for_ever(say: Data<Say>, gate: Data<Gate>) -> TaskResult {
    say.say("blocks");
    wait_for(&gate);
    Ok(())
}

#[tokio::test]
async fn a_worker_ends_although_a_handler_never_does() {
    let mut shop = Shop::open();
    let gate = Gate::default();
    let run = Running::start(shop.worker().shutdown_grace(Duration::ZERO).data(gate.clone()).task::<press>());
    let id = shop.client.enqueue(press {}).await.unwrap().id();
    assert_eq!(shop.hears().await, "presses");
    let summary = run.stop().await;
    assert_eq!((summary.failed, summary.returned), (1, 0));
    let (settle, answer) = shop.settled().await;
    assert_eq!(
        (settle.id, settle.record.outcome, answer),
        (id, Outcome::Stuck, SettleAnswer::Accepted)
    );
    open(&gate);
}
