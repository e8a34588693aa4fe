//! Shows what the macros write: each expansion is held against a file that people can read.

use std::path::Path;

use proc_macro2::TokenStream;

/// Holds an expansion against `tests/expand/<name>.rs`; with `LINCHPIN_BLESS` set, writes the file instead.
fn hold(name: &str, tokens: TokenStream) {
    let file = syn::parse2(tokens).expect("an expansion is a list of items");
    let written = prettyplease::unparse(&file);
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/expand")
        .join(name)
        .with_extension("rs");
    if std::env::var_os("LINCHPIN_BLESS").is_some() {
        std::fs::write(&path, &written).expect("write the expansion");
    }
    let expected = std::fs::read_to_string(&path).expect("read the expansion");
    assert!(written == expected, "{} differs; the macro writes:\n{written}", path.display());
}

fn task(options: &str, item: &str) -> TokenStream {
    let parse = |text: &str| text.parse().expect("tokens");
    crate::task::expand(parse(options), parse(item))
}

#[test]
fn decrement_expands_as_shown() {
    let item = "
        /// Takes a quantity out of stock.
        pub async fn decrement(attempt: Attempt, stock: Data<Stock>, sku: String, #[serde(default)] qty: u32) -> TaskResult {
            stock.take(attempt.fence(), &sku, qty).await
        }";
    hold(
        "decrement",
        task(
            r#"lock = "inventory:{sku}", retries = 5, timeout = "30s", unique = "order:{sku}""#,
            item,
        ),
    );
}

#[test]
fn a_sync_handler_of_another_job_expands_as_shown() {
    let item = "fn restock(sku: String, erp: Data<Erp>) { erp.order(&sku); }";
    hold(
        "restock",
        task(r#"for = shop::Restock, backoff("1s", cap = "1m"), also = ["refill"]"#, item),
    );
}

#[test]
fn a_derived_job_expands_as_shown() {
    let item = r#"
        #[serde(deny_unknown_fields)]
        #[job(lock = ["account:{from}", "account:{to}"], on_busy = snooze("5s"), queue = "money")]
        #[job(expires_in = "1h")]
        pub struct Transfer { from: u64, to: u64, cents: i64 }"#;
    hold("transfer", crate::derive::expand(item.parse().expect("tokens")));
}
