#![allow(unused)]
use linchpin::task;

#[task("send")]
async fn text() {}

#[task(retries =)]
async fn lacks_value() {}

#[task(retries 5)]
async fn lacks_equals() {}

#[task(retries = 5, retries = 6)]
async fn twice() {}

fn main() {}
