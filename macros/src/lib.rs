//! The macros of Linchpin: [`task`] and [`derive@Job`]. Use them through the crate `linchpin`.

mod derive;
mod duration;
mod entries;
mod errors;
mod field;
#[cfg(test)]
mod golden;
mod handler;
mod job;
mod nearest;
mod options;
mod task;
mod template;

use proc_macro::TokenStream;

/// x
#[proc_macro_attribute]
pub fn task(options: TokenStream, item: TokenStream) -> TokenStream {
    task::expand(options.into(), item.into()).into()
}

/// x
#[proc_macro_derive(Job, attributes(job, serde))]
pub fn derive_job(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}
