use std::time::Duration;

use linchpin::{Data, Error, TaskResult, task, tasks};

use crate::shop::Shop;

struct Stock;

#[task]
async fn needs_stock(stock: Data<Stock>) -> TaskResult {
    let _ = stock;
    Ok(())
}

#[task(also = ["needs_stock"])]
async fn plain() -> TaskResult {
    Ok(())
}

#[test]
fn build_reports_every_problem_at_once() {
    let shop = Shop::open();
    let built = shop
        .worker()
        .tasks(tasks![needs_stock, plain])
        .queue("a b")
        .queue("mail")
        .queue("mail")
        .concurrency(0)
        .lease(Duration::from_millis(999))
        .build();
    let Err(Error::Invalid(problems)) = built else { panic!("built") };
    let whats: Vec<_> = problems.iter().map(|problem| problem.what).collect();
    assert_eq!(
        whats,
        ["queue name", "queue", "task name", "data", "concurrency", "lease"],
        "{problems:#?}"
    );
}

#[test]
fn a_worker_without_tasks_or_with_too_much_is_refused() {
    let shop = Shop::open();
    let mut builder = shop.worker().concurrency(10_001).lease(Duration::from_secs(3601));
    for number in 0..65 {
        builder = builder.queue(format!("q{number}"));
    }
    let Err(Error::Invalid(problems)) = builder.build() else {
        panic!("built")
    };
    let whats: Vec<_> = problems.iter().map(|problem| problem.what).collect();
    assert_eq!(whats, ["queues", "tasks", "concurrency", "lease"], "{problems:#?}");
}
