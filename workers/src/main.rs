//! The `linchpin` command, without tasks of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    linchpin_worker::main(linchpin::tasks![])
}
