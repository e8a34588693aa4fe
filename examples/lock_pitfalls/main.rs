//! The ways people write locks on Redis, each made to fail on an inventory, and what Linchpin does in the same place.
//!
//! ```sh
//! cargo run --example lock_pitfalls
//! cargo run --example lock_pitfalls -- --store redis://127.0.0.1/
//! ```
//!
//! Two takers take one item each from a stock of 10. Without `--store` it starts servers of its own (`redis-server` must be in the path); the failover
//! needs two of them and is left out with `--store`. It ends with exit code 1 when a pitfall did not fail, or Linchpin did.

mod naive;
mod ours;
#[path = "../../tests/support/server.rs"]
#[allow(dead_code)]
mod server;
mod stock;

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use linchpin::Client;
use linchpin::names::ProcessId;
use redis::aio::MultiplexedConnection;
use server::RedisServer;

#[derive(Parser, Debug)]
#[command(name = "lock_pitfalls")]
struct Args {
    /// A Redis server; without it servers are started.
    #[arg(long)]
    store: Option<String>,
}

/// What happened in one attempt at a lock.
pub struct Story {
    what: String,
    stock_right: bool,
}

impl Story {
    fn new(what: impl Into<String>, stock_right: bool) -> Self {
        Self {
            what: what.into(),
            stock_right,
        }
    }
}

/// A server, as both sides of the comparison reach it.
pub struct Place {
    redis: MultiplexedConnection,
    url: String,
    namespace: String,
}

impl Place {
    async fn at(url: &str) -> anyhow::Result<Self> {
        let redis = redis::Client::open(url)?.get_multiplexed_async_connection().await;
        Ok(Self {
            redis: redis.with_context(|| "connect to the store")?,
            url: url.to_owned(),
            namespace: format!("pitfalls-{}", ProcessId::random()),
        })
    }

    /// A process of its own, as far as locks are concerned.
    async fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::builder(&self.url).namespace(&self.namespace).connect().await?)
    }

    /// A key of the naive side.
    fn key(&self, name: &str) -> String {
        format!("{{{}}}:{name}", self.namespace)
    }

    async fn clean(&mut self) -> anyhow::Result<()> {
        let pattern = format!("{{{}}}:*", self.namespace);
        let keys: Vec<String> = redis::cmd("KEYS").arg(pattern).query_async(&mut self.redis).await?;
        for key in keys {
            let _: i64 = redis::cmd("DEL").arg(key).query_async(&mut self.redis).await?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Tells every story; whether each pitfall failed and Linchpin did not.
async fn run(args: Args) -> anyhow::Result<bool> {
    let own = args.store.is_none().then(RedisServer::start);
    let url = match (&args.store, &own) {
        (Some(url), _) => url.clone(),
        (None, Some(server)) => server.url(),
        (None, None) => anyhow::bail!("no server"),
    };
    let mut place = Place::at(&url).await?;
    let mut rows = Vec::new();
    let p = &mut place;
    rows.push((
        "INCR + EXPIRE at every try",
        naive::incr_and_expire(p).await?,
        ours::holder_dies(p, "a").await?,
    ));
    rows.push((
        "SETNX without expiry",
        naive::setnx_for_ever(p).await?,
        ours::holder_dies(p, "b").await?,
    ));
    rows.push((
        "SETNX, then EXPIRE",
        naive::setnx_then_expire(p).await?,
        ours::holder_dies(p, "c").await?,
    ));
    rows.push((
        "SETNX + GETSET with client clocks",
        naive::client_clocks(p).await?,
        ours::no_client_clock(p).await?,
    ));
    rows.push(("SET NX PX, bare DEL", naive::bare_del(p).await?, ours::release_by_token(p).await?));
    rows.push((
        "SET NX PX, compare, no renewal",
        naive::no_renewal(p).await?,
        ours::renewed(p).await?,
    ));
    rows.push((
        "not re-entrant, taken twice",
        naive::taken_twice(p).await?,
        ours::reentered(p).await?,
    ));
    if own.is_some() {
        let (master, replica) = (RedisServer::options().tcp().start(), RedisServer::options().tcp().start());
        let (a, b) = (Place::at(&master.url()).await?, Place::at(&replica.url()).await?);
        rows.push((
            "lost by a failover",
            naive::failover(&a, &b).await?,
            ours::fenced_failover(&a, &b).await?,
        ));
    }
    place.clean().await?;
    let word = |right: bool| if right { "right" } else { "WRONG" };
    let mut as_told = true;
    for (name, naive, ours) in &rows {
        println!("{name}\n  {:<8} stock {:<6} {}", "naive", word(naive.stock_right), naive.what);
        println!("  {:<8} stock {:<6} {}\n", "Linchpin", word(ours.stock_right), ours.what);
        as_told &= !naive.stock_right && ours.stock_right;
    }
    Ok(as_told)
}
