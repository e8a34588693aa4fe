//! The worker processes of a run: started, killed and replaced, paused, and read.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::task::JoinSet;

use super::history::{Event, Seen};
use super::options::Options;
use super::proxy::{Proxy, Upstream};
use super::work::{Orders, scramble};
use crate::bench::monotonic_ns;
use crate::failure::Failure;

/// How long a worker that is told to stop may take.
const STOP_MAX: Duration = Duration::from_secs(60);

/// All workers, each behind a proxy that outlives it.
pub struct Crew {
    seats: Vec<Seat>,
    namespace: String,
    seed: u64,
    mutant: Option<String>,
    failpoint: Option<String>,
    /// How many ended by themselves.
    ended: u64,
    started: usize,
    readers: JoinSet<()>,
    seen: std::sync::Arc<Mutex<Vec<Seen>>>,
    /// Process and when it was killed.
    pub killed: Vec<(usize, u64)>,
}

/// What a crew leaves behind.
pub struct Told {
    /// What its processes told.
    pub seen: Vec<Seen>,
    /// Process and when it was killed or had ended.
    pub killed: Vec<(usize, u64)>,
    /// How many ended by themselves.
    pub ended: u64,
}

struct Seat {
    proxy: Proxy,
    child: Child,
    /// Its input, whose end tells it to stop.
    input: Option<tokio::process::ChildStdin>,
    process: usize,
    paused: bool,
}

impl Crew {
    pub async fn start(upstream: &Upstream, namespace: &str, seed: u64, options: &Options) -> Result<Self, Failure> {
        let mut crew = Self {
            seats: Vec::new(),
            namespace: namespace.to_owned(),
            seed,
            mutant: options.mutant(),
            failpoint: options.failpoint(),
            ended: 0,
            started: 0,
            readers: JoinSet::new(),
            seen: std::sync::Arc::default(),
            killed: Vec::new(),
        };
        for _ in 0..options.workers {
            let proxy = Proxy::start(upstream).await?;
            let (child, input, process) = crew.spawn(&proxy.url()).await?;
            crew.seats.push(Seat {
                proxy,
                child,
                input: Some(input),
                process,
                paused: false,
            });
        }
        Ok(crew)
    }

    async fn spawn(&mut self, store: &str) -> Result<(Child, tokio::process::ChildStdin, usize), Failure> {
        let failed = |error: std::io::Error| Failure::new("start a worker process", error);
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .arg("torture-worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().map_err(failed)?;
        self.started += 1;
        let process = self.started;
        let orders = Orders {
            store: store.to_owned(),
            namespace: self.namespace.clone(),
            seed: self.seed,
            mutant: self.mutant.clone(),
            failpoint: self
                .failpoint
                .clone()
                .map(|step| (step, 3 + scramble(self.seed ^ process as u64) % 40)),
        };
        let mut orders = serde_json::to_vec(&orders).map_err(|error| Failure::new("write a worker's orders", error))?;
        orders.push(b'\n');
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new("start a worker process", "it has no input or output"));
        };
        input.write_all(&orders).await.map_err(failed)?;
        self.readers.spawn(read(process, output, self.seen.clone()));
        Ok((child, input, process))
    }

    pub fn len(&self) -> usize {
        self.seats.len()
    }

    pub fn proxy(&self, seat: usize) -> &Proxy {
        &self.seats[seat].proxy
    }

    /// Which process sits there.
    pub fn process(&self, seat: usize) -> usize {
        self.seats[seat].process
    }

    pub fn is_paused(&self, seat: usize) -> bool {
        self.seats[seat].paused
    }

    /// Kills a worker with SIGKILL and starts another in its place.
    pub async fn kill(&mut self, seat: usize) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new("kill a worker", error);
        self.killed.push((self.seats[seat].process, monotonic_ns()));
        self.seats[seat].child.kill().await.map_err(failed)?;
        self.replace(seat).await
    }

    async fn replace(&mut self, seat: usize) -> Result<(), Failure> {
        let url = self.seats[seat].proxy.url();
        let (child, input, process) = self.spawn(&url).await?;
        let seat = &mut self.seats[seat];
        (seat.child, seat.input, seat.process, seat.paused) = (child, Some(input), process, false);
        Ok(())
    }

    /// Starts workers anew that have ended by themselves, as a supervisor would.
    pub async fn supervise(&mut self) -> Result<(), Failure> {
        for seat in 0..self.seats.len() {
            let state = self.seats[seat]
                .child
                .try_wait()
                .map_err(|error| Failure::new("look at a worker", error))?;
            if state.is_some() {
                self.killed.push((self.seats[seat].process, monotonic_ns()));
                self.replace(seat).await?;
                self.ended += 1;
            }
        }
        Ok(())
    }

    /// Stops a worker's process (SIGSTOP), or lets it go on (SIGCONT).
    pub fn pause(&mut self, seat: usize, paused: bool) -> Result<(), Failure> {
        let seat = &mut self.seats[seat];
        seat.paused = paused;
        let pid = seat.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        match pid {
            Some(pid) => kill_process(pid, signal).map_err(|error| Failure::new("pause a worker", std::io::Error::from(error))),
            None => Ok(()),
        }
    }

    /// Tells all to stop, waits for them, and answers what they told.
    pub async fn stop(mut self) -> Result<Told, Failure> {
        for seat in &mut self.seats {
            drop(seat.input.take());
        }
        for seat in &mut self.seats {
            match tokio::time::timeout(STOP_MAX, seat.child.wait()).await {
                // one may reach its step while it stops
                Ok(Ok(status)) if status.success() || self.failpoint.is_some() => {}
                Ok(Ok(status)) => return Err(Failure::new("stop a worker", status.to_string())),
                Ok(Err(error)) => return Err(Failure::new("stop a worker", error)),
                Err(_) => return Err(Failure::new("stop a worker", format!("it did not end within {STOP_MAX:?}"))),
            }
        }
        while self.readers.join_next().await.is_some() {}
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Told {
            seen,
            killed: self.killed,
            ended: self.ended,
        })
    }
}

async fn read(process: usize, output: ChildStdout, seen: std::sync::Arc<Mutex<Vec<Seen>>>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(event) = serde_json::from_str::<Event>(&line) {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(Seen { process, event });
        }
    }
}
