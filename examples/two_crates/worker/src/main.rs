//! The worker: the handler of a job that another crate defines. `cargo run -p two_crates_worker -- redis://127.0.0.1/`

use linchpin::{Attempt, Client, TaskResult, Worker, task};
use two_crates_jobs::Restock;

#[task(for = Restock, retries = 5)]
async fn restock(attempt: Attempt, sku: String, qty: u32) -> TaskResult {
    println!("{qty} more of {sku}, under fence {}", attempt.fence());
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Some(store) = std::env::args().nth(1) else {
        anyhow::bail!("name the store, such as redis://127.0.0.1/");
    };
    let client = Client::connect(&store).await?;
    let worker = Worker::builder(&client).task::<restock>().build()?;
    println!("working; Ctrl-C ends it");
    let summary = worker.run(tokio::signal::ctrl_c()).await?;
    println!("stopped: {summary:?}");
    Ok(())
}
