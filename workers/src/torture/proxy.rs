//! The network between the workers and the server: a proxy a process, which can be cut or fall silent.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use redis::{ConnectionAddr, IntoConnectionInfo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// Where the server is, and what a client that reaches it through a proxy says.
#[derive(Clone)]
pub struct Upstream {
    address: Address,
    /// User and password, and the database.
    login: String,
    database: i64,
}

#[derive(Clone)]
enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl Upstream {
    /// Reads a store's URL.
    ///
    /// # Errors
    /// When it is none that a proxy can stand before.
    pub fn of(url: &str) -> Result<Self, Failure> {
        let info = url
            .into_connection_info()
            .map_err(|error| Failure::usage(format!("--store: {error}")))?;
        let address = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host.clone(), *port),
            ConnectionAddr::Unix(path) => Address::Unix(path.clone()),
            _ => {
                return Err(Failure::usage(
                    "torture puts proxies of its own before the server, which TLS forbids: give redis://... or unix://...",
                ));
            }
        };
        let settings = info.redis_settings();
        let login = match (settings.username(), settings.password()) {
            (None, None) => String::new(),
            (user, password) => format!("{}:{}@", escaped(user.unwrap_or_default()), escaped(password.unwrap_or_default())),
        };
        Ok(Self {
            address,
            login,
            database: settings.db(),
        })
    }
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// A running proxy.
pub struct Proxy {
    at: SocketAddr,
    upstream: Upstream,
    silent: watch::Sender<bool>,
    cuts: watch::Sender<u64>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts one on a free port of the loopback.
    pub async fn start(upstream: &Upstream) -> Result<Self, Failure> {
        let failed = |error| Failure::new("start a proxy", error);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        let (silent, cuts) = (watch::Sender::new(false), watch::Sender::new(0));
        let lines = Lines {
            upstream: upstream.clone(),
            silent: silent.clone(),
            cuts: cuts.clone(),
        };
        Ok(Self {
            at,
            upstream: upstream.clone(),
            silent,
            cuts,
            accepting: tokio::spawn(accept(listener, Arc::new(lines))),
        })
    }

    /// The store through this proxy.
    pub fn url(&self) -> String {
        format!("redis://{}{}/{}", self.upstream.login, self.at, self.upstream.database)
    }

    /// Resets every connection.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Falls silent, with every connection open, or carries on with what was held back.
    pub fn hush(&self, silent: bool) {
        self.silent.send_replace(silent);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

struct Lines {
    upstream: Upstream,
    silent: watch::Sender<bool>,
    cuts: watch::Sender<u64>,
}

async fn accept(listener: TcpListener, lines: Arc<Lines>) {
    while let Ok((client, _)) = listener.accept().await {
        let _ = client.set_nodelay(true);
        tokio::spawn(carry(client, lines.clone()));
    }
}

async fn carry(mut client: TcpStream, lines: Arc<Lines>) {
    let mut cuts = lines.cuts.subscribe();
    let carried = async {
        match &lines.upstream.address {
            Address::Tcp(host, port) => {
                let server = TcpStream::connect((host.as_str(), *port)).await?;
                server.set_nodelay(true)?;
                let (from, to) = server.into_split();
                both_ways(&mut client, from, to, &lines.silent).await
            }
            Address::Unix(path) => {
                let (from, to) = UnixStream::connect(path).await?.into_split();
                both_ways(&mut client, from, to, &lines.silent).await
            }
        }
    };
    tokio::select! {
        _ = carried => {}
        _ = cuts.changed() => {}
    }
    let _ = client.set_zero_linger();
}

async fn both_ways(
    client: &mut TcpStream,
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    silent: &watch::Sender<bool>,
) -> io::Result<()> {
    let (client_from, client_to) = client.split();
    tokio::select! {
        end = one_way(client_from, to, silent.subscribe()) => end,
        end = one_way(from, client_to, silent.subscribe()) => end,
    }
}

async fn one_way(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut silent: watch::Receiver<bool>) -> io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        let len = from.read(&mut piece).await?;
        if len == 0 {
            return Ok(());
        }
        let carries_on = silent.wait_for(|silent| !silent).await;
        carries_on.map_err(io::Error::other)?;
        to.write_all(&piece[..len]).await?;
    }
}
