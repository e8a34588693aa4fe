//! The `linchpin` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    match linchpin_worker::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("linchpin: {failure}");
            ExitCode::FAILURE
        }
    }
}
