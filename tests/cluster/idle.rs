//! An idle fleet costs next to nothing.

use std::time::Duration;

use linchpin::{TaskResult, Worker, task};

use crate::crew::{Crew, client};
use crate::support::RedisServer;

#[task]
async fn nothing() -> TaskResult {
    Ok(())
}

fn commands(server: &RedisServer) -> u64 {
    let info = server.command(&["INFO", "stats"]).expect("a command");
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("total_commands_processed:"))
        .expect("a count");
    line.trim().parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_idle_workers_on_ten_queues_stay_under_fifty_commands_a_second() {
    let server = RedisServer::start();
    let mut builders = Vec::new();
    for _ in 0..20 {
        let client = client(&server).await;
        let builder = (0..10).fold(Worker::builder(&client), |builder, n| builder.queue(format!("q{n}")));
        builders.push(builder.task::<nothing>());
    }
    let crew = Crew::start(builders);
    // the fleet's size is learned with the heartbeats
    tokio::time::sleep(Duration::from_secs(12)).await;
    let before = commands(&server);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let per_second = (commands(&server) - before) as f64 / 10.0;
    crew.stop().await;
    assert!(per_second < 50.0, "{per_second} commands a second");
}
