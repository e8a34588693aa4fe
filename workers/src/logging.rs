//! What is logged: to standard error, for people or for programs.

use linchpin::config::{LogConfig, LogFormat};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Logs as configured.
///
/// # Errors
/// Usage, when the level cannot be read.
pub fn install(log: &LogConfig) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&log.level).map_err(|error| {
        Failure::usage(format!(
            "log.level {:?} cannot be read ({error}): it takes error, warn, info, debug, trace or off, also per module (info,linchpin=debug)",
            log.level
        ))
    })?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
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
        .with_writer(std::io::stderr)
        .init();
}
