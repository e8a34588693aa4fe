//! The way straight to the server, for faults and for what is looked up in the end. A new connection each time: the server may have restarted since.

use std::time::Duration;

use redis::aio::MultiplexedConnection;

use crate::failure::Failure;

/// How long an answer may take: of a server that a fault has just hit, long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connects as the one who owns the server.
#[derive(Clone)]
pub struct Admin {
    server: redis::Client,
}

impl Admin {
    pub fn of(store: &str) -> Result<Self, Failure> {
        let server = redis::Client::open(store).map_err(|error| Failure::new("connect to the store", error))?;
        Ok(Self { server })
    }

    pub async fn connect(&self) -> Result<MultiplexedConnection, Failure> {
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let connected = self.server.get_multiplexed_async_connection_with_config(&config).await;
        connected.map_err(|error| Failure::new("connect to the store", error))
    }

    /// Removes every key whose name holds that of a namespace.
    pub async fn remove(&self, namespace: &str) -> Result<(), Failure> {
        let mut connection = self.connect().await?;
        let pattern = format!("*{namespace}*");
        let mut cursor = 0u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1000);
            let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await?;
            if !keys.is_empty() {
                let () = redis::cmd("UNLINK").arg(keys).query_async(&mut connection).await?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}
