//! The producer: knows the job, not who runs it. `cargo run -p two_crates_web -- redis://127.0.0.1/`

use two_crates_jobs::Restock;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Some(store) = std::env::args().nth(1) else {
        anyhow::bail!("name the store that the worker uses, such as redis://127.0.0.1/");
    };
    let client = linchpin::Client::connect(&store).await?;
    let job = Restock { sku: "A1".into(), qty: 12 };
    let enqueued = client.enqueue(job).await?;
    println!("enqueued {}", enqueued.id());
    println!("ended: {:?}", client.wait(enqueued.id()).await?);
    Ok(())
}
