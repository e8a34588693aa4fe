//! A PostgreSQL server of a test file's own, as `scripts/with-postgres` starts and ends it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A running server. It ends when this is dropped, and when the test's process ends.
#[derive(Debug)]
pub struct PostgresServer {
    child: Child,
    url: String,
}

impl PostgresServer {
    /// Starts a server on a Unix socket.
    pub fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/with-postgres");
        let mut child = Command::new(script)
            .args(["sh", "-c", "echo \"$DATABASE_URL\"; cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/with-postgres can be run");
        let mut url = String::new();
        let said = BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url);
        assert!(
            said.is_ok() && !url.is_empty(),
            "PostgreSQL did not start; scripts/install-postgres installs it"
        );
        Self {
            child,
            url: url.trim_end().to_owned(),
        }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
