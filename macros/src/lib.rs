//! The macros of Linchpin: `#[task]` and `#[derive(Job)]`.
