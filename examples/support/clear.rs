//! An example leaves nothing in the store that it was given.

use redis::AsyncCommands;

/// Removes all keys whose names hold `namespace`, which is random and the example's own.
pub async fn clear(store: &str, namespace: &str) -> anyhow::Result<()> {
    if store.starts_with("memory:") {
        return Ok(());
    }
    let mut connection = redis::Client::open(store)?.get_multiplexed_async_connection().await?;
    let mut cursor = 0u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("*{namespace}*")).arg("COUNT").arg(1000);
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await?;
        if !keys.is_empty() {
            let () = connection.unlink(keys).await?;
        }
        cursor = next;
        if cursor == 0 {
            return Ok(());
        }
    }
}
