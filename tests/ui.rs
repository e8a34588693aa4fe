//! Every rule of the macros with its exact message: `tests/ui/fail` must not compile, `tests/ui/pass` must, without a warning.
//!
//! The messages of rustc in them are those of the toolchain that CI pins. `TRYBUILD=overwrite` writes them anew.
#![cfg(feature = "macros")]

#[test]
fn every_mistake_has_its_message() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
