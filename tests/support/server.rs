//! A `redis-server` of a test's own: on a Unix socket, and on a TCP port where asked for, in a directory that goes with it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const START_PATIENCE: Duration = Duration::from_secs(20);

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct RedisOptions {
    append_only: bool,
    tcp: bool,
    password: Option<String>,
    args: Vec<String>,
    environment: Vec<(&'static str, PathBuf)>,
}

impl RedisOptions {
    /// Writes an append-only file and syncs it at every write, so that a killed server has lost nothing.
    pub fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    /// Listens on a free TCP port of 127.0.0.1 too.
    pub fn tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    /// Asks for a password.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Adds a setting, for example `.arg("maxmemory", "2mb")`.
    pub fn arg(mut self, name: &str, value: &str) -> Self {
        self.args.extend([format!("--{name}"), value.to_owned()]);
        self
    }

    /// Has these variables in its environment.
    pub fn environment(mut self, environment: [(&'static str, PathBuf); 2]) -> Self {
        self.environment = environment.to_vec();
        self
    }

    /// Starts the server and waits until it answers `PING`.
    pub fn start(self) -> RedisServer {
        let dir = tempfile::Builder::new().prefix("lp-").tempdir().expect("a directory for redis");
        let port = self.tcp.then(free_port);
        let mut server = RedisServer {
            socket: dir.path().join("s"),
            dir,
            options: self,
            port,
            child: None,
        };
        server.spawn();
        server
    }
}

/// A running server. Dropping it ends the process and removes its directory.
#[derive(Debug)]
pub struct RedisServer {
    dir: TempDir,
    socket: PathBuf,
    options: RedisOptions,
    port: Option<u16>,
    child: Option<Child>,
}

impl RedisServer {
    /// Starts a server without persistence on a Unix socket.
    pub fn start() -> Self {
        RedisOptions::default().start()
    }

    /// Collects how to start a server.
    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    /// Where it is, as an URL: the TCP port where it has one, else the socket.
    pub fn url(&self) -> String {
        match (self.port, &self.options.password) {
            (Some(port), None) => format!("redis://127.0.0.1:{port}/0"),
            (Some(port), Some(password)) => format!("redis://:{password}@127.0.0.1:{port}/0"),
            (None, None) => format!("redis+unix://{}", self.socket.display()),
            (None, Some(password)) => format!("redis+unix://{}?pass={password}", self.socket.display()),
        }
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its TCP port, when started with one.
    pub fn port(&self) -> u16 {
        self.port.expect("started with RedisOptions::tcp")
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A connection of the test's own to it.
    pub fn client(&self) -> redis::Client {
        redis::Client::open(self.url()).expect("an URL of our own")
    }

    /// A connection of the test's own to it.
    pub async fn connection(&self) -> redis::aio::MultiplexedConnection {
        self.client()
            .get_multiplexed_async_connection()
            .await
            .expect("a connection to our own redis")
    }

    /// Sends one command over a fresh connection and returns the raw reply (up to 64 KiB), for example `["DBSIZE"]`.
    pub fn command(&self, words: &[&str]) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut text = String::new();
        if let Some(password) = &self.options.password {
            text += &format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n", password.len());
        }
        text += &format!("*{}\r\n", words.len());
        for word in words {
            text += &format!("${}\r\n{word}\r\n", word.len());
        }
        stream.write_all(text.as_bytes())?;
        let mut reply = vec![0; 64 << 10];
        let mut got = stream.read(&mut reply)?;
        if self.options.password.is_some() && reply[..got] == *b"+OK\r\n" {
            got = stream.read(&mut reply)?;
        }
        let text = String::from_utf8_lossy(&reply[..got]).into_owned();
        Ok(text
            .strip_prefix("+OK\r\n")
            .filter(|rest| !rest.is_empty())
            .map(str::to_owned)
            .unwrap_or(text))
    }

    /// Ends it with SIGTERM and waits.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.wait();
    }

    /// Ends it with SIGKILL and waits.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Freezes it with SIGSTOP.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on with SIGCONT.
    pub fn cont(&self) {
        self.signal(Signal::CONT);
    }

    /// Starts it again after [`RedisServer::stop`] or [`RedisServer::kill`], on the same socket, port and directory.
    pub fn restart(&mut self) {
        if self.child.is_some() {
            self.stop();
        }
        self.spawn();
    }

    fn spawn(&mut self) {
        let mut command = Command::new("redis-server");
        command.current_dir(self.dir.path()).stdin(Stdio::null()).stderr(Stdio::null());
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.path().join("log"))
            .expect("a log file");
        command.stdout(log).args(["--save", "", "--bind", "127.0.0.1", "--daemonize", "no"]);
        command.arg("--port").arg(self.port.unwrap_or(0).to_string());
        command.arg("--unixsocket").arg(&self.socket);
        command.arg("--appendonly").arg(if self.options.append_only { "yes" } else { "no" });
        if self.options.append_only {
            command.args(["--appendfsync", "always"]);
        }
        if let Some(password) = &self.options.password {
            command.arg("--requirepass").arg(password);
        }
        command.args(&self.options.args);
        command.envs(self.options.environment.iter().map(|(name, value)| (name, value)));
        let _ = std::fs::remove_file(&self.socket);
        let child = command.spawn().expect("redis-server is installed (scripts/test installs it)");
        self.child = Some(child);
        let started = Instant::now();
        while !self.command(&["PING"]).is_ok_and(|reply| reply.contains("PONG")) {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if ended.is_some() || started.elapsed() > START_PATIENCE {
                let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                panic!("redis-server does not answer (ended: {ended:?}); its log:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("the server runs");
        kill_process(Pid::from_child(child), signal).expect("a signal to our own child");
    }

    fn wait(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().expect("our own child");
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A port that is free now. Somebody else may take it before it is used; then starting fails loudly.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").port()
}
