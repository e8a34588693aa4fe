//! A TCP proxy between a client and a [`RedisServer`](super::RedisServer) that causes the faults of a network.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream, tcp, unix};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::RedisServer;

const MARKER: &[u8] = b"lp-proxy-marker";
const ECHO_MARKER: &[u8] = b"*2\r\n$4\r\nECHO\r\n$15\r\nlp-proxy-marker\r\n";

/// What the proxy does to the connections through it, also to those that stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Open but silent, both ways. What was sent meanwhile arrives when the fault ends, as with a real network.
    BlackHole,
    /// Requests arrive, replies do not (until the fault ends).
    BlackHoleReplies,
    /// Each piece of a reply arrives this much later.
    Delay(Duration),
    /// New connections are reset.
    Refuse,
    /// Each connection is reset after this many bytes of replies.
    CutAfter(usize),
    /// Every `every`-th request that holds the bytes is delivered and answered, its reply is swallowed and the connection
    /// is reset. An empty pattern is every request. Replies of earlier requests still in flight are lost with it.
    DropReplies {
        /// What the request holds, for example a script's digest.
        pattern: Vec<u8>,
        /// 1 for each, 2 for every second.
        every: usize,
    },
    /// As [`Fault::DropReplies`], but the connection stays open and silent.
    HangReplies {
        /// What the request holds.
        pattern: Vec<u8>,
        /// 1 for each, 2 for every second.
        every: usize,
    },
    /// Every `every`-th request that holds the bytes is not delivered; the connection is reset.
    DropRequests {
        /// What the request holds.
        pattern: Vec<u8>,
        /// 1 for each, 2 for every second.
        every: usize,
    },
}

struct Shared {
    upstream: PathBuf,
    fault: watch::Sender<Fault>,
    resets: watch::Sender<u64>,
    dropped: watch::Sender<usize>,
    matched: AtomicUsize,
    connections: AtomicUsize,
}

/// A running proxy. Dropping it resets its connections.
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy before `server`.
    pub async fn start(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let shared = Arc::new(Shared {
            upstream: server.socket().to_owned(),
            fault: watch::Sender::new(Fault::None),
            resets: watch::Sender::new(0),
            dropped: watch::Sender::new(0),
            matched: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Self { shared, port, accepting }
    }

    /// The URL of the server through this proxy.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Causes a fault from now on, or ends it with [`Fault::None`].
    pub fn set(&self, fault: Fault) {
        self.shared.matched.store(0, Ordering::Relaxed);
        self.shared.fault.send_replace(fault);
    }

    /// Resets every connection that stands now.
    pub fn reset(&self) {
        self.shared.resets.send_modify(|n| *n += 1);
    }

    /// Replies and requests dropped so far.
    pub fn dropped(&self) -> usize {
        *self.shared.dropped.borrow()
    }

    /// Waits until `count` replies or requests have been dropped in all.
    pub async fn wait_dropped(&self, count: usize) {
        let mut dropped = self.shared.dropped.subscribe();
        let waited = dropped.wait_for(|n| *n >= count).await;
        waited.expect("the proxy lives");
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.reset();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let _ = client.set_nodelay(true);
        tokio::spawn(carry(client, shared.clone()));
    }
}

/// Carries one connection until either side ends it or a fault does.
async fn carry(client: TcpStream, shared: Arc<Shared>) {
    let mut resets = shared.resets.subscribe();
    if *shared.fault.borrow() == Fault::Refuse {
        return reset(client);
    }
    let Ok(upstream) = UnixStream::connect(&shared.upstream).await else {
        return reset(client);
    };
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = upstream.into_split();
    let swallow = Arc::new(AtomicBool::new(false));
    let mut requests = Requests {
        from: client_in,
        to: server_out,
    };
    let mut replies = Replies {
        from: server_in,
        to: client_out,
    };
    let broken = tokio::select! {
        _ = resets.changed() => true,
        end = requests.carry(&shared, &swallow) => end.is_err(),
        end = replies.carry(&shared, &swallow) => end.is_err(),
    };
    if broken && let Ok(client) = requests.from.reunite(replies.to) {
        reset(client);
    }
}

/// Closes with RST instead of FIN.
fn reset(client: TcpStream) {
    let _ = client.set_zero_linger();
}

/// Ends a connection by a fault.
fn cut() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

struct Requests {
    from: tcp::OwnedReadHalf,
    to: unix::OwnedWriteHalf,
}

impl Requests {
    async fn carry(&mut self, shared: &Shared, swallow: &AtomicBool) -> io::Result<()> {
        let mut fault = shared.fault.subscribe();
        let mut waiting = Vec::new();
        loop {
            if self.from.read_buf(&mut waiting).await? == 0 {
                return Ok(());
            }
            while let Some(len) = first_request(&waiting) {
                let request: Vec<u8> = waiting.drain(..len).collect();
                let passes = fault.wait_for(|fault| *fault != Fault::BlackHole).await;
                let now = passes.map_err(|_| cut())?.clone();
                match &now {
                    Fault::DropRequests { pattern, every } if shared.hits(&request, pattern, *every) => {
                        shared.dropped.send_modify(|n| *n += 1);
                        return Err(cut());
                    }
                    Fault::DropReplies { pattern, every } | Fault::HangReplies { pattern, every }
                        if shared.hits(&request, pattern, *every) =>
                    {
                        swallow.store(true, Ordering::SeqCst);
                        self.to.write_all(&request).await?;
                        self.to.write_all(ECHO_MARKER).await?;
                        std::future::pending::<()>().await;
                    }
                    _ => self.to.write_all(&request).await?,
                }
            }
        }
    }
}

struct Replies {
    from: unix::OwnedReadHalf,
    to: tcp::OwnedWriteHalf,
}

impl Replies {
    async fn carry(&mut self, shared: &Shared, swallow: &AtomicBool) -> io::Result<()> {
        let mut fault = shared.fault.subscribe();
        let (mut swallowed, mut carried) = (Vec::new(), 0);
        let mut piece = vec![0; 64 << 10];
        loop {
            let len = self.from.read(&mut piece).await?;
            if len == 0 {
                return Ok(());
            }
            let mut piece = &piece[..len];
            if swallow.load(Ordering::SeqCst) {
                swallowed.extend_from_slice(piece);
                if !holds(&swallowed, MARKER) {
                    continue;
                }
                shared.dropped.send_modify(|n| *n += 1);
                if matches!(*fault.borrow(), Fault::HangReplies { .. }) {
                    std::future::pending::<()>().await;
                }
                return Err(cut());
            }
            let silent = |fault: &Fault| matches!(fault, Fault::BlackHole | Fault::BlackHoleReplies);
            let now = fault.wait_for(|fault| !silent(fault)).await.map_err(|_| cut())?.clone();
            match now {
                Fault::Delay(by) => tokio::time::sleep(by).await,
                Fault::CutAfter(bytes) => piece = &piece[..piece.len().min(bytes.saturating_sub(carried))],
                _ => {}
            }
            self.to.write_all(piece).await?;
            carried += piece.len();
            if matches!(now, Fault::CutAfter(bytes) if carried >= bytes) {
                shared.dropped.send_modify(|n| *n += 1);
                return Err(cut());
            }
        }
    }
}

impl Shared {
    /// Whether the fault hits this request.
    fn hits(&self, request: &[u8], pattern: &[u8], every: usize) -> bool {
        let hit = pattern.is_empty() || holds(request, pattern);
        hit && (self.matched.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every.max(1))
    }
}

fn holds(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes.windows(pattern.len()).any(|window| window == pattern)
}

/// The length of the first whole request (an array of bulk strings) in `bytes`.
fn first_request(bytes: &[u8]) -> Option<usize> {
    let (words, mut at) = number(bytes, 0, b'*')?;
    for _ in 0..words {
        let (len, start) = number(bytes, at, b'$')?;
        at = start + len + 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// Reads `<sigil><number>\r\n` at `at`; answers the number and where it ends.
fn number(bytes: &[u8], at: usize, sigil: u8) -> Option<(usize, usize)> {
    let rest = bytes.get(at..)?;
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    assert_eq!(rest.first(), Some(&sigil), "clients send arrays of bulk strings");
    let number = std::str::from_utf8(&rest[1..end]).ok()?.parse().ok()?;
    Some((number, at + end + 2))
}
