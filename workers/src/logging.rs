//! What is logged: to standard error, for people or for programs.

use std::io::IsTerminal;

use linchpin::config::{LogConfig, LogFormat};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Reads the level.
///
/// # Errors
/// Usage, when it cannot be read.
pub fn check(log: &LogConfig) -> Result<EnvFilter, Failure> {
    EnvFilter::try_new(&log.level).map_err(|error| {
        Failure::usage(format!(
            "log.level {:?} cannot be read ({error}): it takes error, warn, info, debug, trace or off, also per module (info,linchpin=debug)",
            log.level
        ))
    })
}

/// Logs as configured.
///
/// # Errors
/// As [`check`].
pub fn install(log: &LogConfig) -> Result<(), Failure> {
    let filter = check(log)?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(has_colours())
        .with_writer(std::io::stderr);
    match log.format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().init(),
    }
    Ok(())
}

/// Logs warnings and errors, for commands that end by themselves; `RUST_LOG` says otherwise.
pub fn quiet() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(has_colours())
        .with_writer(std::io::stderr)
        .init();
}

/// Colours are for a terminal, and only for one whose user has not said `NO_COLOR`.
fn has_colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|said| said.is_empty())
}
