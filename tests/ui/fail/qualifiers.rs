#![allow(unused)]
use linchpin::task;

#[task]
const fn constant() {}

#[task]
unsafe fn dangerous() {}

#[task]
extern "C" fn foreign() {}

#[task]
async fn no_body();

fn main() {}
