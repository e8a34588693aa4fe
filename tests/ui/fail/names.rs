#![allow(unused)]
use linchpin::task;

#[task(name = "send mail", queue = "a:b", also = ["old name", "sent", "sent"])]
async fn forbidden_characters() {}

#[task]
async fn prüfe() {}

#[task(also = ["renamed"])]
async fn renamed() {}

fn main() {}
