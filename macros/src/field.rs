//! What the attributes of a job's field may say.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, GenericArgument, Meta, PathArguments, Token, Type};

use crate::errors::Errors;
use crate::handler::plain;

/// A job's field, as producers without Rust are told of it.
pub(crate) struct Field {
    pub(crate) name: Ident,
    kind: &'static str,
    optional: bool,
}

impl Field {
    /// What can be seen of a field: a type by its name, and what serde does when the field is missing.
    pub(crate) fn of(name: &Ident, ty: &Type, attrs: &[Attribute]) -> Self {
        let says = |word: &str| {
            attrs
                .iter()
                .filter(|attr| attr.path().is_ident("serde"))
                .flat_map(settings)
                .any(|meta| meta.path().is_ident(word))
        };
        let (kind, may_be_missing) = kind(ty);
        let other_form = ["with", "deserialize_with", "serialize_with"].into_iter().any(says);
        Self {
            name: name.clone(),
            kind: if other_form { "Any" } else { kind },
            // with a form of its own, an `Option` has to be there
            optional: says("default") || may_be_missing && !other_form,
        }
    }

    pub(crate) fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl ToTokens for Field {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let name = plain(&self.name);
        let kind = format_ident!("{}", self.kind);
        let make = if self.optional { quote!(optional) } else { quote!(new) };
        tokens.extend(quote!(::linchpin::__private::Field::#make(#name, ::linchpin::__private::Kind::#kind)));
    }
}

/// The kind of a type, and whether it may be missing.
fn kind(ty: &Type) -> (&'static str, bool) {
    let Type::Path(path) = ty else { return ("Any", false) };
    let Some(last) = path.path.segments.last() else {
        return ("Any", false);
    };
    if let ("Option", PathArguments::AngleBracketed(inner)) = (last.ident.to_string().as_str(), &last.arguments) {
        return match inner.args.first() {
            Some(GenericArgument::Type(inner)) => (kind(inner).0, true),
            _ => ("Any", true),
        };
    }
    let kind = match last.ident.to_string().as_str() {
        "String" | "char" => "String",
        "u8" | "u16" | "u32" | "u64" | "usize" => "Uint",
        "i8" | "i16" | "i32" | "i64" | "isize" => "Int",
        "f32" | "f64" => "Float",
        "bool" => "Bool",
        _ => "Any",
    };
    (kind, false)
}

/// Settings of serde that would part a field's name in Rust from its name in the job, or lose it on the way.
const REFUSED: [(&str, &str); 5] = [
    (
        "rename",
        "a field has one name, in templates, in the CLI and in the stored job: rename the field itself (`alias` reads an old name)",
    ),
    ("flatten", "`flatten` hides the names of a job's fields: write the fields out"),
    ("skip", "a skipped field never reaches the worker: remove it from the job"),
    (
        "skip_serializing",
        "a skipped field never reaches the worker: remove it from the job",
    ),
    (
        "skip_deserializing",
        "a skipped field never reaches the handler: remove it from the job",
    ),
];

/// Notes an attribute that a job's field must not carry.
pub(crate) fn check_attribute(attr: &Attribute, errors: &mut Errors) {
    if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
        errors.on(attr, "a job has the same fields in every build: no `cfg` here");
    }
    if attr.path().is_ident("serde") {
        for meta in settings(attr) {
            let refused = REFUSED.iter().find(|(name, _)| meta.path().is_ident(name));
            if let Some((_, message)) = refused {
                errors.on(&meta, message);
            }
        }
    }
}

/// The settings of one `#[serde(..)]`; none where it cannot be read, which serde reports itself.
pub(crate) fn settings(attr: &Attribute) -> impl Iterator<Item = Meta> {
    let list = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    list.unwrap_or_default().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_seen_by_the_name_of_the_type() {
        for (ty, kind, optional) in [
            ("String", "String", false),
            ("std::string::String", "String", false),
            ("u32", "Uint", false),
            ("Option<i64>", "Int", true),
            ("f32", "Float", false),
            ("Vec<u8>", "Any", false),
            ("[u8; 4]", "Any", false),
        ] {
            let field = Field::of(&format_ident!("x"), &syn::parse_str(ty).expect("a type"), &[]);
            assert_eq!((field.kind, field.optional), (kind, optional), "{ty}");
        }
    }

    #[test]
    fn what_serde_fills_in_may_be_missing_and_what_it_rewrites_may_be_anything() {
        let ty: Type = syn::parse_quote!(u32);
        let field = Field::of(&format_ident!("x"), &ty, &[syn::parse_quote!(#[serde(default = "ten")])]);
        assert_eq!((field.kind, field.optional), ("Uint", true));
        let field = Field::of(&format_ident!("x"), &ty, &[syn::parse_quote!(#[serde(with = "hex")])]);
        assert_eq!((field.kind, field.optional), ("Any", false));
    }
}
