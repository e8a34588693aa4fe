//! Connections: one place that opens them, knows their deadlines and says what an error means for what was sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, IntoConnectionInfo, RedisError, Value};
use tokio::sync::Mutex;

use super::arguments::Arguments;
use super::script::Script;
use crate::error::{Error, Invalid};
use crate::store::redacted;

/// How long a connection attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an answer may take before its connection is given up.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
/// First and longest pause between attempts to reconnect; jittered.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
const PAUSE_CAP: Duration = Duration::from_secs(1);

/// Where the server is and how to reach it.
#[derive(Debug, Clone)]
pub(super) struct Address {
    client: Client,
    pub(super) shown: String,
}

impl Address {
    /// Reads a URL; the password never leaves it.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let shown = redacted(url);
        let problem = || {
            Invalid::new(
                "store URL",
                &shown,
                "redis://[user:password@]host[:port][/database], rediss://… or unix:///path",
            )
        };
        let info: ConnectionInfo = url.into_connection_info().map_err(|_| problem())?;
        let settings = redis::io::tcp::TcpSettings::default().set_nodelay(true);
        let client = Client::open(info.set_tcp_settings(settings)).map_err(|_| problem())?;
        Ok(Self { client, shown })
    }

    pub(super) async fn connect(&self, answer_timeout: Option<Duration>) -> Result<MultiplexedConnection, Fault> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(answer_timeout);
        // the library's own timeout does not cover the handshake with a server that accepts and then says nothing
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        match tokio::time::timeout(CONNECT_TIMEOUT * 2, connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => match classify(&error) {
                Fault::Unknown(text) => Err(Fault::Unsent(text)),
                other => Err(other),
            },
            Err(_) => Err(Fault::Unsent("the server accepted the connection and said nothing".into())),
        }
    }

    pub(super) async fn subscribe(&self, channel: &str) -> Result<redis::aio::PubSub, Fault> {
        let subscribing = async {
            let mut pubsub = self.client.get_async_pubsub().await?;
            pubsub.subscribe(channel).await?;
            Ok::<_, RedisError>(pubsub)
        };
        match tokio::time::timeout(CONNECT_TIMEOUT * 2, subscribing).await {
            Ok(done) => done.map_err(|error| classify(&error)),
            Err(_) => Err(Fault::Unsent("no answer to SUBSCRIBE".into())),
        }
    }
}

/// What an error means for what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It never left: no connection.
    Unsent(String),
    /// It left and no answer came.
    Unknown(String),
    /// The server refused it before its first write, and may accept it later.
    Later { code: String, text: String },
    /// The server refused it before its first write, until somebody changes something.
    Never { code: String, text: String },
    /// The server does not have the script.
    NoScript,
    /// A script failed midway, or something unexpected: a defect.
    Defect(String),
}

/// Codes of refusals that pass by themselves or when load or topology changes.
const LATER: [&str; 17] = [
    "LOADING",
    "BUSY",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MOVED",
    "ASK",
    "UNBLOCKED",
    "NOGOODSLAVE",
    "UNKILLABLE",
    "INPROG",
    "FAILOVER",
    "ERR max",
];
/// Codes of refusals that a person must end.
const NEVER: [&str; 4] = ["NOAUTH", "WRONGPASS", "NOPERM", "DENIED"];

pub(super) fn classify(error: &RedisError) -> Fault {
    let text = error.to_string();
    let code = error.code().unwrap_or_default().to_owned();
    let detail = error.detail().unwrap_or_default().to_owned();
    if code == "NOSCRIPT" {
        return Fault::NoScript;
    }
    // Redis 6.2 wraps a script's error: `ERR Error running script (…): @user_script: 1: -OOM command not allowed …`
    let inside = |wanted: &&str| code == *wanted || detail.contains(&format!("-{wanted} ")) || detail.contains(&format!(": {wanted} "));
    if let Some(code) = NEVER.iter().find(|c| inside(c)) {
        return Fault::Never {
            code: (*code).into(),
            text: detail,
        };
    }
    if detail.contains("NOPERM") || detail.contains("ACL failure") || detail.contains("can't access at least one of the keys") {
        return Fault::Never {
            code: "NOPERM".into(),
            text: detail,
        };
    }
    if let Some(code) = LATER.iter().find(|c| inside(c)) {
        return Fault::Later {
            code: (*code).into(),
            text: detail,
        };
    }
    if code == "ERR" && detail.contains("max number of clients") {
        return Fault::Later {
            code: "maxclients".into(),
            text: detail,
        };
    }
    if text.contains("DB index is out of range") || text.contains("invalid DB index") {
        return Fault::Never {
            code: "database".into(),
            text,
        };
    }
    if error.kind() == redis::ErrorKind::AuthenticationFailed {
        return Fault::Never {
            code: "WRONGPASS".into(),
            text: "the server refused the user or password".into(),
        };
    }
    if error.is_connection_refusal() {
        return Fault::Unsent(text);
    }
    if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || error.is_unrecoverable_error() {
        return Fault::Unknown(text);
    }
    // of a plain read; of a script it can be midway
    if code == "WRONGTYPE" && !detail.contains("script") {
        return Fault::Never { code, text: detail };
    }
    if code.is_empty() {
        Fault::Unknown(text)
    } else {
        Fault::Defect(text)
    }
}

impl Fault {
    /// The public error of an action that will not be tried again.
    pub(super) fn into_error(self, action: String) -> Error {
        match self {
            Fault::Unsent(cause) => Error::Unreachable {
                action,
                source: Some(cause.into()),
            },
            Fault::Unknown(_) => Error::Unknown { action, ids: Vec::new() },
            Fault::Later { code, text } => Error::Refused {
                action,
                advice: advice(&code, &text),
                code,
                transient: true,
            },
            Fault::Never { code, text } => Error::Refused {
                action,
                advice: advice(&code, &text),
                code,
                transient: false,
            },
            Fault::NoScript => Error::Internal {
                what: format!("{action}: the server forgot a script it was just sent"),
            },
            Fault::Defect(what) => Error::Internal {
                what: format!("{action}: {what}"),
            },
        }
    }
}

fn advice(code: &str, text: &str) -> String {
    match code {
        "OOM" => "the server is out of memory: raise `maxmemory` or let workers drain; running jobs still settle".into(),
        "NOAUTH" => "the server wants a password: put user and password into the store URL".into(),
        "WRONGPASS" => "user or password is wrong: check the store URL".into(),
        "NOPERM" | "DENIED" => format!("the user lacks a right: {text}"),
        "READONLY" => "this server is a replica: point the store URL at the master".into(),
        "MISCONF" => "the server cannot persist and refuses writes: look at its log and disk".into(),
        "NOREPLICAS" => "too few replicas are connected for `min-replicas-to-write`".into(),
        "LOADING" => "the server is loading its data: wait".into(),
        "maxclients" => "the server has no connection left: raise `maxclients`".into(),
        "database" => "the server has no database of this number (`databases` in its configuration, 16 by default, counted from 0): name another in the store URL".into(),
        "WRONGTYPE" => {
            "the key holds data of another type, which Linchpin did not write: rename or delete it, and leave the namespace to Linchpin"
                .into()
        }
        _ => text.to_owned(),
    }
}

/// A jittered, growing pause between attempts.
pub(super) struct Pause(Duration);

impl Pause {
    pub(super) fn new() -> Self {
        Self(PAUSE_FIRST)
    }

    pub(super) async fn wait(&mut self) {
        use rand::RngExt;
        let unit: f64 = rand::rng().random();
        tokio::time::sleep(self.0.mul_f64(0.5 + unit / 2.0)).await;
        self.0 = (self.0 * 2).min(PAUSE_CAP);
    }
}

/// One connection, opened when first used and again after it broke, on the runtime of whoever uses it.
#[derive(Debug)]
pub(super) struct Link {
    address: Address,
    slot: Mutex<Option<(u64, MultiplexedConnection)>>,
    generation: AtomicU64,
    answer_timeout: Duration,
}

impl Link {
    pub(super) fn new(address: Address, answer_timeout: Duration) -> Self {
        Self {
            address,
            slot: Mutex::new(None),
            generation: AtomicU64::new(0),
            answer_timeout,
        }
    }

    async fn connection(&self) -> Result<(u64, MultiplexedConnection), Fault> {
        let mut slot = self.slot.lock().await;
        if let Some((generation, connection)) = slot.as_ref() {
            return Ok((*generation, connection.clone()));
        }
        let connection = self.address.connect(Some(self.answer_timeout)).await?;
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        *slot = Some((generation, connection.clone()));
        Ok((generation, connection))
    }

    /// Forgets a broken connection, unless somebody has replaced it already.
    async fn forget(&self, generation: u64) {
        let mut slot = self.slot.lock().await;
        if slot.as_ref().is_some_and(|(current, _)| *current == generation) {
            *slot = None;
        }
    }

    /// Forgets the connection, whatever state it is in.
    pub(super) async fn reset(&self) {
        *self.slot.lock().await = None;
    }

    /// Sends one command once. `sent` is called when a connection is there, right before it goes out.
    pub(super) async fn send(&self, command: &Cmd, sent: impl FnOnce()) -> Result<Value, Fault> {
        let (generation, mut connection) = self.connection().await?;
        sent();
        match connection.send_packed_command(command).await {
            Ok(Value::ServerError(error)) => Err(classify(&error.into())),
            Ok(value) => Ok(value),
            Err(error) => {
                let fault = classify(&error);
                if matches!(fault, Fault::Unknown(_) | Fault::Unsent(_))
                    || matches!(&fault, Fault::Later { code, .. } if code == "READONLY")
                {
                    self.forget(generation).await;
                }
                Err(fault)
            }
        }
    }

    /// Runs a script once: by digest, or whole when the server does not have it (atomically, whatever flushes meanwhile).
    pub(super) async fn run(&self, script: &Script, prefix: &str, arguments: &Arguments, sent: impl FnOnce()) -> Result<Value, Fault> {
        match self.send(&arguments.command("EVALSHA", &script.sha, prefix), sent).await {
            Err(Fault::NoScript) => self.send(&arguments.command("EVAL", &script.source, prefix), || ()).await,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        assert_eq!(redacted("redis://user:s3cret@localhost:6379/0"), "redis://localhost:6379/0");
        assert_eq!(redacted("redis://:p@ss@host"), "redis://host");
        let error = Address::parse("redis://:s3cret@host:notaport").expect_err("not a port").to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
