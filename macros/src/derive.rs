//! `#[derive(Job)]`: a job without its handler.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields, Meta};

use crate::errors::Errors;
use crate::field::{self, Field};
use crate::handler::plain;
use crate::job::Job;
use crate::options::{Options, Place};

/// Expands `#[derive(Job)]` on a struct with named fields.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input = match syn::parse2::<DeriveInput>(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let options = Options::parse(options(&input.attrs, &mut errors), Place::Job, &mut errors);
    check_serde(&input, &mut errors);
    let written = fields(&input, &mut errors).map(|fields| {
        let name = snake_case(&plain(&input.ident));
        Job::check(&options, fields, name, &input.ident, &mut errors).expand(&input.ident)
    });
    let errors = errors.into_tokens();
    quote!(#errors #written)
}

/// The tokens of every `#[job(..)]`, as if they stood in one.
fn options(attrs: &[Attribute], errors: &mut Errors) -> TokenStream {
    let mut tokens = TokenStream::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("job")) {
        match &attr.meta {
            Meta::List(list) => {
                let list = &list.tokens;
                tokens.extend(quote!(#list,));
            }
            other => errors.on(other, "write the options in brackets: `#[job(name = .., lock = ..)]`"),
        }
    }
    tokens
}

/// A job's text must name exactly the fields that the struct has.
fn check_serde(input: &DeriveInput, errors: &mut Errors) {
    let settings = input
        .attrs
        .iter()
        .filter(|attr| attr.path().is_ident("serde"))
        .flat_map(field::settings);
    let mut denied = false;
    for setting in settings {
        denied |= setting.path().is_ident("deny_unknown_fields");
        if setting.path().is_ident("rename_all") {
            errors.on(
                &setting,
                "a field has one name, in templates, in the CLI and in the stored job: name the fields themselves so",
            );
        }
    }
    if !denied {
        errors.on(
            &input.ident,
            "a job needs `#[serde(deny_unknown_fields)]`: an older worker must hand back a newer job, not drop the fields it does not know",
        );
    }
}

fn fields(input: &DeriveInput, errors: &mut Errors) -> Option<Vec<Field>> {
    let shape = "a job is a struct with named fields";
    if !input.generics.params.is_empty() {
        errors.on(&input.generics, "a job cannot be generic: it has one name and one set of fields");
        return None;
    }
    let Data::Struct(data) = &input.data else {
        errors.on(&input.ident, shape);
        return None;
    };
    match &data.fields {
        Fields::Named(named) => {
            for field in &named.named {
                field.attrs.iter().for_each(|attr| field::check_attribute(attr, errors));
            }
            let all_optional = input
                .attrs
                .iter()
                .filter(|attr| attr.path().is_ident("serde"))
                .flat_map(field::settings)
                .any(|meta| meta.path().is_ident("default"));
            let described = named
                .named
                .iter()
                .filter_map(|field| Some(Field::of(field.ident.as_ref()?, &field.ty, &field.attrs)));
            Some(described.map(|field| if all_optional { field.optional() } else { field }).collect())
        }
        Fields::Unnamed(fields) => {
            errors.on(fields, shape);
            None
        }
        Fields::Unit => {
            errors.on(&input.ident, format!("{shape}: without any write `struct {} {{}}`", input.ident));
            None
        }
    }
}

/// `SendMail` to `send_mail`, `HTTPPing` to `http_ping`.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::with_capacity(name.len() + 4);
    for (i, letter) in letters.iter().enumerate() {
        let after_small = i > 0 && !letters[i - 1].is_uppercase() && letters[i - 1] != '_';
        let ends_acronym = i > 0 && letters[i - 1].is_uppercase() && letters.get(i + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (after_small || ends_acronym) {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_name_becomes_a_task_name() {
        for (name, task) in [
            ("Restock", "restock"),
            ("SendMail", "send_mail"),
            ("HTTPPing", "http_ping"),
            ("Sync2Erp", "sync2_erp"),
            ("already_snake", "already_snake"),
            ("A", "a"),
        ] {
            assert_eq!(snake_case(name), task);
        }
    }
}
