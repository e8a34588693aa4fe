//! `cron!("...")`: a schedule that is checked while compiling.

use linchpin_cron::Expression;
use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let line = match syn::parse2::<LitStr>(input) {
        Ok(line) => line,
        Err(error) => {
            let message = "write one literal: cron!(\"0 3 * * *\"); `Cron::parse` reads other text when it runs";
            return syn::Error::new(error.span(), message).into_compile_error();
        }
    };
    match Expression::parse(&line.value()) {
        Ok(_) => quote!(::linchpin::__private::cron(#line)),
        Err(error) => syn::Error::new(line.span(), error).into_compile_error(),
    }
}
