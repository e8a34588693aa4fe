#![allow(unused)]
use linchpin::task;

struct NoError;

#[task]
async fn no_error() -> Result<(), NoError> {
    Err(NoError)
}

#[task]
fn number() -> u32 {
    5
}

fn main() {}
