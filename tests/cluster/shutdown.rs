//! Shutdown under load: handed back at the head, uncharged, exactly once.

use std::sync::Arc;
use std::time::Duration;

use linchpin::{Attempt, Data, TaskResult, Worker, task};

use crate::crew::{Crew, LEASE, Ledger, client, drained, full, nothing_is_left, shared};
use crate::support::{RedisServer, within};

#[task(lock = "sku:{sku}")]
async fn slow(attempt: Attempt, ledger: Data<Arc<Ledger>>, sku: u32, ms: u64) -> TaskResult {
    let _ = sku;
    ledger.numbers.lock().unwrap().push(attempt.number());
    tokio::time::sleep(Duration::from_millis(ms)).await;
    ledger.effect(attempt.job_id());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_of_shutdown_lose_double_and_charge_nothing() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let ledger: Arc<Ledger> = shared();
    let (rounds, grace) = if full() {
        (200, Duration::from_secs(1))
    } else {
        (15, Duration::from_millis(30))
    };
    let jobs = (0..rounds * 20).map(|n| slow {
        sku: n % (rounds * 2),
        // some of them longer than the grace
        ms: u64::from(n % 50) * if full() { 24 } else { 2 },
    });
    for answer in client.enqueue_many(jobs).await.expect("a bulk enqueue") {
        answer.expect("accepted");
    }
    for _ in 0..rounds {
        let worker = Worker::builder(&client).concurrency(10).lease(LEASE).shutdown_grace(grace);
        let worker = worker.task::<slow>().data(ledger.clone()).build().expect("a worker");
        worker
            .run(tokio::time::sleep(Duration::from_millis(60)))
            .await
            .expect("a clean end");
    }
    let crew = Crew::start([Worker::builder(&client).concurrency(200).task::<slow>().data(ledger.clone())]);
    within("the rest", drained(&client)).await;
    crew.stop().await;
    assert_eq!((ledger.jobs(), ledger.doubled()), (rounds as usize * 20, vec![]));
    let charged = ledger.numbers.lock().unwrap().iter().filter(|number| **number != 1).count();
    assert_eq!(charged, 0, "attempts that saw a charged one before");
    nothing_is_left(&client, &[]).await;
}
