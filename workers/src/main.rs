//! The `linchpin` command, without tasks of its own.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    linchpin_worker::main(linchpin::tasks![])
}
