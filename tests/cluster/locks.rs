//! Locks: a stale key, two keys, and a lock that vanishes under a running attempt.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use linchpin::store::settle::Outcome;
use linchpin::{Attempt, Data, TaskResult, Worker, task};
use tokio::sync::Semaphore;

use crate::crew::{Crew, Ledger, client, drained, nothing_is_left, shared};
use crate::support::{RedisServer, within};

#[task(lock = "stock:{sku}")]
async fn take(attempt: Attempt, ledger: Data<Arc<Ledger>>, sku: u32) -> TaskResult {
    let key = sku.to_string();
    ledger.enter(&key);
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    ledger.leave(&key);
    ledger.effect(attempt.job_id());
    Ok(())
}

/// What a producer of an older release would send: the same task under another key.
#[task(name = "take", lock = "old-stock:{sku}")]
async fn take_by_an_old_producer(sku: u32) -> TaskResult {
    let _ = sku;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_with_a_stale_lock_key_overlap_with_none_of_those_with_the_right_one() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    for n in 0..1000 {
        client.enqueue(take { sku: n % 7 }).await.expect("an enqueue");
        client.enqueue(take_by_an_old_producer { sku: n % 7 }).await.expect("an enqueue");
    }
    let crew = Crew::start((0..3).map(|_| Worker::builder(&client).task::<take>().data(ledger.clone())));
    within("2,000 jobs", drained(&client)).await;
    crew.stop().await;
    assert_eq!(
        (ledger.jobs(), ledger.doubled(), ledger.overlaps.load(Ordering::Relaxed)),
        (2000, vec![], 0)
    );
    nothing_is_left(&client, &[]).await;
}

#[derive(Default)]
struct Bank(Mutex<HashMap<u32, i64>>);

impl Bank {
    fn read(&self, account: u32) -> i64 {
        *self.0.lock().unwrap().entry(account).or_insert(1000)
    }

    fn write(&self, account: u32, amount: i64) {
        self.0.lock().unwrap().insert(account, amount);
    }
}

#[task(lock = ["account:{from}", "account:{to}"])]
async fn transfer(attempt: Attempt, bank: Data<Arc<Bank>>, ledger: Data<Arc<Ledger>>, from: u32, to: u32, amount: i64) -> TaskResult {
    let (a, b) = (bank.read(from), bank.read(to));
    tokio::task::yield_now().await;
    bank.write(from, a - amount);
    bank.write(to, b + amount);
    ledger.effect(attempt.job_id());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_over_two_keys_keep_the_total_and_none_starves() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let (bank, ledger): (Arc<Bank>, Arc<Ledger>) = (shared(), shared());
    let jobs = (0..5000u32).map(|n| transfer {
        from: n % 10,
        to: (n % 10 + 1 + n / 10 % 9) % 10,
        amount: i64::from(n % 13),
    });
    for answer in client.enqueue_many(jobs).await.expect("a bulk enqueue") {
        answer.expect("accepted");
    }
    let crew = Crew::start((0..3).map(|_| Worker::builder(&client).task::<transfer>().data(bank.clone()).data(ledger.clone())));
    within("5,000 transfers", drained(&client)).await;
    crew.stop().await;
    let total: i64 = (0..10).map(|account| bank.read(account)).sum();
    assert_eq!((total, ledger.jobs(), ledger.doubled()), (10_000, 5000, vec![]));
    nothing_is_left(&client, &[]).await;
}

struct Gate {
    entered: Semaphore,
    go: Semaphore,
}

#[task(lock = "k")]
async fn guarded(attempt: Attempt, gate: Data<Arc<Gate>>, ledger: Data<Arc<Ledger>>) -> TaskResult {
    ledger.effect(attempt.job_id());
    gate.entered.add_permits(1);
    gate.go.acquire().await?.forget();
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_deleted_under_a_running_attempt_refuses_its_settle_and_the_job_runs_again() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    let gate = Arc::new(Gate {
        entered: Semaphore::new(0),
        go: Semaphore::new(0),
    });
    let id = client.enqueue(guarded {}).await.expect("an enqueue").id();
    let crew = Crew::start([Worker::builder(&client).task::<guarded>().data(gate.clone()).data(ledger.clone())]);
    within("the first run", gate.entered.acquire()).await.unwrap().forget();
    server.command(&["DEL", "{cluster}:lock:k"]).expect("a command");
    gate.go.add_permits(1);
    within("the second run", gate.entered.acquire()).await.unwrap().forget();
    gate.go.add_permits(1);
    within("its end", drained(&client)).await;
    crew.stop().await;
    let outcomes: Vec<Outcome> = client
        .attempts(0, 100)
        .await
        .expect("a read")
        .into_iter()
        .map(|entry| entry.record.outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::LeaseLost, Outcome::Done]);
    assert_eq!(
        ledger.doubled(),
        [id.to_string()],
        "an effect outside runs at least once: that is what the fence is for"
    );
    nothing_is_left(&client, &[]).await;
}
