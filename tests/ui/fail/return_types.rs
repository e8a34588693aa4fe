#![allow(unused)]
use linchpin::{TaskResult, task};

#[task]
async fn value() -> Result<u32, String> {
    Ok(5)
}

#[task]
async fn task_value() -> TaskResult<String> {
    Ok(String::new())
}

#[task]
async fn hidden() -> impl Sized {}

#[task]
async fn endless() -> ! {
    loop {
        tokio::task::yield_now().await
    }
}

fn main() {}
