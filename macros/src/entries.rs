//! The entries of an attribute: `name`, `name = value`, `name(..)`, split so that one bad entry spoils no other.

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::Parser;

use crate::errors::Errors;

/// One entry of an attribute.
pub(crate) struct Entry {
    /// The option's name.
    pub(crate) name: Ident,
    /// The same as text.
    pub(crate) key: String,
    /// What it is given.
    pub(crate) value: Value,
}

/// What an option is given.
pub(crate) enum Value {
    /// Nothing: `singleton`.
    Nothing,
    /// `= value`.
    Assigned(TokenStream),
    /// `(..)`.
    Called(Group),
}

impl ToTokens for Entry {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.name.to_tokens(tokens);
        match &self.value {
            Value::Nothing => {}
            Value::Assigned(value) => value.to_tokens(tokens),
            Value::Called(group) => group.to_tokens(tokens),
        }
    }
}

/// Splits an attribute's tokens into entries; what is none is noted and left out.
pub(crate) fn split(tokens: TokenStream, errors: &mut Errors) -> Vec<Entry> {
    split_at_commas(tokens)
        .into_iter()
        .filter_map(|tokens| entry(tokens, errors))
        .collect()
}

fn entry(tokens: TokenStream, errors: &mut Errors) -> Option<Entry> {
    let Ok((name, rest)) =
        (|input: syn::parse::ParseStream| Ok((Ident::parse_any(input)?, input.parse::<TokenStream>()?))).parse2(tokens.clone())
    else {
        errors.on(tokens, "an option begins with its name, for example `retries = 5`");
        return None;
    };
    let key = name.unraw().to_string();
    let mut rest_tokens = rest.clone().into_iter();
    let value = match (rest_tokens.next(), rest_tokens.clone().next()) {
        (None, _) => Value::Nothing,
        (Some(TokenTree::Punct(punct)), Some(_)) if punct.as_char() == '=' && punct.spacing() == Spacing::Alone => {
            Value::Assigned(rest_tokens.collect())
        }
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::Parenthesis => Value::Called(group),
        (Some(TokenTree::Punct(punct)), None) if punct.as_char() == '=' => {
            errors.on(name, format!("`{key} =` lacks its value"));
            return None;
        }
        _ => {
            errors.on(rest, format!("expected `=` or `,` after `{key}`"));
            return None;
        }
    };
    Some(Entry { name, key, value })
}

/// Splits at the commas outside of brackets; a type's `<..>` counts as brackets.
fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut pieces = Vec::new();
    let mut piece = TokenStream::new();
    let (mut depth, mut arrow) = (0usize, false);
    for token in tokens {
        if let TokenTree::Punct(punct) = &token {
            match punct.as_char() {
                '<' => depth += 1,
                '>' if !arrow => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    pieces.push(std::mem::take(&mut piece));
                    continue;
                }
                _ => {}
            }
            arrow = matches!(punct.as_char(), '-' | '=') && punct.spacing() == Spacing::Joint;
        }
        piece.extend([token]);
    }
    pieces.push(piece);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
