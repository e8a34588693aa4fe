//! Workers that are processes of their own: the example's program, started again.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

/// A worker process. It stops when its standard input ends, so also when this process is gone.
pub struct WorkerProcess {
    child: Child,
    environment: Vec<(&'static str, String)>,
}

impl WorkerProcess {
    /// Starts this program again, told by its environment what to work on. Not by arguments: an URL may hold a password, and arguments are there for
    /// all to see.
    pub fn start(environment: Vec<(&'static str, String)>) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).envs(environment.clone());
        let child = command.spawn().context("start a worker process")?;
        Ok(Self { child, environment })
    }

    /// Kills it with SIGKILL and starts another in its place.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().context("kill a worker")?;
        self.child.wait().context("wait for a killed worker")?;
        *self = Self::start(std::mem::take(&mut self.environment))?;
        Ok(())
    }

    /// Fails when it has ended by itself.
    pub fn check(&mut self) -> anyhow::Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "a worker ended early: {ended:?}");
        Ok(())
    }

    /// Asks it to stop.
    pub fn ask_to_stop(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> anyhow::Result<()> {
        let status = tokio::task::spawn_blocking(move || self.child.wait()).await??;
        ensure!(status.success(), "a worker failed: {status}");
        Ok(())
    }
}

/// What a worker process works until.
pub async fn until_input_ends() {
    let mut input = tokio::io::stdin();
    let _ = tokio::io::copy(&mut input, &mut tokio::io::sink()).await;
}
