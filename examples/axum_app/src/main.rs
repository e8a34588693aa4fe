//! A web server that enqueues and works in one process, and shuts both down together.
//!
//! ```sh
//! cargo run -p axum_app
//! curl -X PUT localhost:8080/orders/1001 -H 'content-type: application/json' -d '{"sku":"A1","qty":2}'
//! curl localhost:8080/orders/1001
//! curl localhost:8080/stock/A1
//! ```
//!
//! With `--store redis://127.0.0.1/` several of these processes share the work; each may be stopped at any time.

mod orders;
mod stock;

use std::io::IsTerminal;
use std::net::SocketAddr;

use clap::Parser;
use linchpin::{Client, Worker};
use tokio::sync::watch;

use stock::Stock;

/// A shop's web server with its own worker.
#[derive(Parser)]
struct Options {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The store: memory:// for this process alone, or redis://...
    #[arg(long, default_value = "memory://")]
    store: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    tracing_subscriber::fmt()
        .with_env_filter("info")
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();

    let client = Client::connect(&options.store).await?;
    let stock = Stock::new([("A1", 100), ("B2", 20)]);
    let worker = Worker::builder(&client).task::<orders::decrement>().data(stock.clone()).build()?;

    let listener = tokio::net::TcpListener::bind(options.listen).await?;
    println!("listening on http://{}", listener.local_addr()?);

    // One signal for both: the server answers what it has begun, the worker lets its handlers end and hands back the rest.
    let (stop, stopped) = watch::channel(false);
    let server = axum::serve(listener, orders::routes(client, stock)).with_graceful_shutdown(until(stopped.clone()));
    tokio::spawn(async move {
        signal().await;
        stop.send_replace(true);
    });
    // Should one of them fail, the process ends; what the worker held then comes back by itself.
    let (served, worked) = tokio::join!(server, worker.run(until(stopped)));
    served?;
    println!("stopped: {:?}", worked?);
    Ok(())
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // an error says that the sender is gone, which ends us as well
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Ctrl-C, or SIGTERM as service managers send it.
async fn signal() {
    let ctrl_c = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = ctrl_c => {}
                _ = term.recv() => {}
            }
            return;
        }
    }
    let _ = ctrl_c.await;
}
