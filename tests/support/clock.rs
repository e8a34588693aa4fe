//! A wall clock that is off, for a process of a test: a replica or a server.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tempfile::NamedTempFile;

/// The wall clock of the processes that are started with it.
#[derive(Debug)]
pub struct WallClock(NamedTempFile);

impl WallClock {
    /// Off by `ms`.
    pub fn off_by(ms: i64) -> Self {
        let clock = Self(NamedTempFile::new().expect("a file for a clock"));
        clock.set(ms);
        clock
    }

    /// Sets it while those processes run.
    pub fn set(&self, ms: i64) {
        let mut file = self.0.as_file();
        file.seek(SeekFrom::Start(0)).expect("our own file");
        file.write_all(&(ms * 1_000_000).to_ne_bytes()).expect("our own file");
    }

    /// The environment of a process that is to have it.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("LD_PRELOAD", shim().clone()), ("LINCHPIN_TEST_CLOCK", self.0.path().to_owned())]
    }
}

/// The library that stands before the clock, built once by the C compiler that Rust links with.
fn shim() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/clock.c");
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (library, new) = (dir.join("clock.so"), dir.join(format!("clock-{}.so", std::process::id())));
        let mut build = Command::new("cc");
        build
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .arg(&new)
            .arg(source);
        let built = build.status().expect("a C compiler: Rust links with it");
        assert!(built.success(), "{build:?}");
        std::fs::rename(new, &library).expect("our own directory");
        library
    })
}
