//! Enqueues a greeting, runs it, and ends: `cargo run --example hello`.
use linchpin::{Client, TaskResult, Worker, task};

#[task]
async fn greet(name: String) -> TaskResult {
    println!("hello, {name}");
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter("warn")
        .with_writer(std::io::stderr)
        .init();
    let client = Client::connect("memory://").await?;
    let id = client.enqueue(greet { name: "world".into() }).await?.id();
    let worker = Worker::builder(&client).task::<greet>().build()?;
    let ended = client.wait(id);
    worker.run(async { drop(ended.await) }).await?;
    Ok(())
}
