//! An associated function cannot be a task: a struct cannot stand in an `impl` block.
use linchpin::task;

struct Shop;

impl Shop {
    #[task]
    async fn sell() {}
}

fn main() {}
