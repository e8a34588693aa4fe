//! Collects what is wrong, so that one compilation shows every mistake.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Notes a mistake on its tokens.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.absorb(Error::new_spanned(tokens, message));
    }

    /// Notes a mistake at a place that has no tokens of its own.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.absorb(Error::new(span, message));
    }

    /// Notes a mistake that a parser found.
    pub(crate) fn absorb(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// Takes over what another collection has.
    pub(crate) fn take(&mut self, other: Self) {
        if let Some(error) = other.0 {
            self.absorb(error);
        }
    }

    /// Whether nothing was noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the `compile_error!` calls; nothing where nothing was noted.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.map(Error::into_compile_error).unwrap_or_default()
    }
}
