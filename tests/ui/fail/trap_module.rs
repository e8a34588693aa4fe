//! A module has the task's name: give the job's struct another (`job = Restock`).
use linchpin::task;

mod restock {}

#[task]
async fn restock() {}

fn main() {}
