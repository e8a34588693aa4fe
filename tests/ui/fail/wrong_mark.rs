#![allow(unused)]
use linchpin::{Attempt, Data, task};

#[task]
async fn no_data(#[data] stock: u32) {}

#[task]
async fn no_attempt(#[attempt] attempt: u32) {}

#[task]
async fn data_of_one_thread(stock: Data<std::rc::Rc<u32>>) {}

fn main() {}
