//! What the attributes of a job's field may say.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

use crate::errors::Errors;

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
