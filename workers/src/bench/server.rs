//! The Redis server as the benchmarks see it from outside: its counters, its slow log, and the keys of one namespace.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, IntoConnectionInfo};

use crate::bench::info::Info;
use crate::failure::Failure;

/// Keys asked for, or removed, in one command.
const KEYS_STEP: usize = 1000;
/// How long the server may take to give back the memory of removed keys.
const FREEING_MAX: Duration = Duration::from_secs(60);

/// A connection of the benchmark's own, beside those of the library it measures.
#[derive(Clone)]
pub struct Server {
    connection: MultiplexedConnection,
    namespaces: [String; 2],
}

impl Server {
    /// Connects, and checks that nothing stands in the namespaces.
    ///
    /// # Errors
    /// When the server cannot be reached, or holds a key of theirs.
    pub async fn open(url: &str, namespaces: [String; 2]) -> Result<Self, Failure> {
        let failed = |error| Failure::new("connect to the store", error);
        let info = url.into_connection_info().map_err(failed)?;
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let client = redis::Client::open(info.set_tcp_settings(tcp)).map_err(failed)?;
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(60)));
        let connection = client.get_multiplexed_async_connection_with_config(&config).await.map_err(failed)?;
        let mut server = Self { connection, namespaces };
        if let Some(key) = server.keys().await?.first() {
            let advice = format!("it holds `{key}` and maybe more; name another with --namespace, or remove its keys");
            return Err(Failure::new("use the namespace", advice));
        }
        Ok(server)
    }

    /// A connection to send to, for the floor.
    pub fn connection(&self) -> MultiplexedConnection {
        self.connection.clone()
    }

    /// A key of the namespace that Linchpin itself never uses.
    pub fn own_key(&self, name: &str) -> String {
        format!("{{{}}}:bench:{name}", self.namespaces[0])
    }

    /// Every key of the namespaces.
    pub async fn keys(&mut self) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        for namespace in self.namespaces.clone() {
            let mut cursor = 0u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor)
                    .arg("MATCH")
                    .arg(format!("{{{namespace}}}:*"))
                    .arg("COUNT")
                    .arg(KEYS_STEP);
                let (next, some): (u64, Vec<String>) = scan.query_async(&mut self.connection).await?;
                found.extend(some);
                cursor = next;
                if cursor == 0 {
                    break;
                }
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Every key of the namespace, without the namespace, with the bytes it takes.
    pub async fn key_sizes(&mut self) -> Result<Vec<(String, u64)>, Failure> {
        let prefix = format!("{{{}}}:", self.namespaces[0]);
        let mut sizes = Vec::new();
        for key in self.keys().await? {
            let mut usage = redis::cmd("MEMORY");
            usage.arg("USAGE").arg(&key).arg("SAMPLES").arg(0);
            let bytes: Option<u64> = usage.query_async(&mut self.connection).await?;
            sizes.push((key.trim_start_matches(&prefix).to_owned(), bytes.unwrap_or(0)));
        }
        Ok(sizes)
    }

    /// Removes every key of the namespaces, and waits until their memory is free.
    pub async fn sweep(&mut self) -> Result<(), Failure> {
        for keys in self.keys().await?.chunks(KEYS_STEP) {
            let _: u64 = redis::cmd("UNLINK").arg(keys).query_async(&mut self.connection).await?;
        }
        let began = Instant::now();
        while self.info().await?.number("lazyfree_pending_objects") > 0.0 && began.elapsed() < FREEING_MAX {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// All the server's counters.
    pub async fn info(&mut self) -> Result<Info, Failure> {
        let text: String = redis::cmd("INFO").arg("all").query_async(&mut self.connection).await?;
        Ok(Info::parse(&text))
    }

    /// How long each of `count` PINGs took that began `pause` after the one before ended, in microseconds, sorted.
    pub async fn pings(&mut self, count: usize, pause: Duration) -> Result<Vec<f64>, Failure> {
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            tokio::time::sleep(pause).await;
            let began = Instant::now();
            let _: String = redis::cmd("PING").query_async(&mut self.connection).await?;
            taken.push(began.elapsed().as_secs_f64() * 1e6);
        }
        taken.sort_by(f64::total_cmp);
        Ok(taken)
    }

    /// Reads and sets one of the server's parameters; answers what it was.
    pub async fn configure(&mut self, name: &str, value: &str) -> Result<String, Failure> {
        let was: Vec<String> = redis::cmd("CONFIG").arg("GET").arg(name).query_async(&mut self.connection).await?;
        let () = redis::cmd("CONFIG")
            .arg("SET")
            .arg(name)
            .arg(value)
            .query_async(&mut self.connection)
            .await?;
        Ok(was.into_iter().nth(1).unwrap_or_default())
    }

    /// Empties the slow log.
    pub async fn forget_slow(&mut self) -> Result<(), Failure> {
        Ok(redis::cmd("SLOWLOG").arg("RESET").query_async(&mut self.connection).await?)
    }

    /// How long each script call on this namespace took that is in the slow log.
    pub async fn slow_scripts_us(&mut self) -> Result<Vec<u64>, Failure> {
        type Entry = (u64, u64, u64, Vec<Vec<u8>>);
        let reply: Vec<redis::Value> = redis::cmd("SLOWLOG").arg("GET").arg(-1).query_async(&mut self.connection).await?;
        let tag = format!("{{{}}}", self.namespaces[0]);
        let mut slow = Vec::new();
        for value in reply {
            let redis::Value::Array(mut fields) = value else { continue };
            fields.truncate(4);
            let (_, _, us, words): Entry = redis::from_redis_value(redis::Value::Array(fields)).map_err(redis::RedisError::from)?;
            // EVALSHA, digest, number of keys, the prefix; arguments are cut by the server and may be any bytes
            let script = words.first().is_some_and(|word| word.to_ascii_uppercase().starts_with(b"EVAL"));
            if script && words.get(3).is_some_and(|key| key.starts_with(tag.as_bytes())) {
                slow.push(us);
            }
        }
        Ok(slow)
    }
}
