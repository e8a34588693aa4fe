#![allow(unused)]
use linchpin::task;

#[task]
async fn keeps_an_rc() {
    let count = std::rc::Rc::new(5);
    tokio::task::yield_now().await;
    drop(count);
}

fn main() {}
