//! One parameter of a handler: the attempt, shared data, or a field of the job.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, GenericArgument, Meta, Pat, PatType, PathArguments, Type};

use super::Parameter;
use crate::errors::Errors;
use crate::field;

/// A parameter that is a field of the job.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// What moves to the field.
    pub(crate) attrs: Vec<Attribute>,
}

/// Marks for parameters whose type is an alias.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Attempt,
    Data,
}

/// Reads one parameter and strips its attributes from the function.
pub(super) fn read(typed: &mut PatType, errors: &mut Errors) -> Option<Parameter> {
    let (marks, attrs): (Vec<_>, Vec<_>) = std::mem::take(&mut typed.attrs).into_iter().partition(|attr| mark(attr).is_some());
    let marked = check_marks(&marks, errors);
    let ty = (*typed.ty).clone();
    let shared = marked.or_else(|| recognise(&ty));
    let (lints, attrs): (Vec<_>, Vec<_>) = attrs.into_iter().partition(is_lint);
    typed.attrs = lints;
    if let Some(shared) = shared {
        for attr in &attrs {
            errors.on(attr, "this attribute has no field to go to: only arguments of the job are fields");
        }
        return Some(match shared {
            Mark::Attempt => Parameter::Attempt(ty),
            Mark::Data => Parameter::Data(ty),
        });
    }
    check_type(&ty, errors).then_some(())?;
    attrs.iter().for_each(|attr| field::check_attribute(attr, errors));
    let name = name(&typed.pat, errors)?;
    Some(Parameter::Argument(Argument { name, ty, attrs }))
}

fn mark(attr: &Attribute) -> Option<Mark> {
    match attr.path() {
        path if path.is_ident("attempt") => Some(Mark::Attempt),
        path if path.is_ident("data") => Some(Mark::Data),
        _ => None,
    }
}

/// Lint levels stay on the function's parameter; everything else belongs to the field.
fn is_lint(attr: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"]
        .iter()
        .any(|level| attr.path().is_ident(level))
}

fn check_marks(marks: &[Attribute], errors: &mut Errors) -> Option<Mark> {
    for attr in marks {
        if !matches!(attr.meta, Meta::Path(_)) {
            errors.on(attr, "this mark takes nothing");
        }
    }
    if let Some(second) = marks.get(1) {
        errors.on(second, "a parameter has one mark: `#[attempt]` or `#[data]`");
    }
    marks.first().and_then(mark)
}

/// What a type's last path segment says: `Attempt`, `Data<T>`.
fn recognise(ty: &Type) -> Option<Mark> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::None if last.ident == "Attempt" => Some(Mark::Attempt),
        PathArguments::AngleBracketed(list) if last.ident == "Data" => {
            let one_type = list.args.len() == 1 && matches!(list.args.first(), Some(GenericArgument::Type(_)));
            one_type.then_some(Mark::Data)
        }
        _ => None,
    }
}

/// Whether a type may be a field of a job, as far as its tokens tell.
fn check_type(ty: &Type, errors: &mut Errors) -> bool {
    if let Type::Reference(reference) = ty {
        let inner = &reference.elem;
        errors.on(
            ty,
            match recognise(inner) {
                Some(_) => format!("a task owns its parameters: write `{}` without `&`", compact(inner)),
                None => format!(
                    "a job outlives its caller, so its arguments cannot be references: write `{}`",
                    owned(inner)
                ),
            },
        );
        return false;
    }
    if matches!(ty, Type::ImplTrait(_)) {
        errors.on(
            ty,
            "an argument is a field of the job and needs a concrete type instead of `impl ..`",
        );
        return false;
    }
    if borrows(ty.to_token_stream()) {
        errors.on(
            ty,
            "a job outlives its caller, so its arguments cannot hold references: use types that own their data",
        );
        return false;
    }
    true
}

/// The owned form of what a reference points at.
fn owned(inner: &Type) -> String {
    match inner {
        Type::Slice(slice) => format!("Vec<{}>", compact(&slice.elem)),
        Type::Path(path) if path.path.is_ident("str") => "String".into(),
        other => compact(other),
    }
}

/// A type as people write it.
fn compact(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    text.replace(" < ", "<").replace(" >", ">").replace(" :: ", "::").replace(" ,", ",")
}

/// Whether a `&` or an unnamed lifetime stands anywhere in a type.
fn borrows(tokens: TokenStream) -> bool {
    let mut quote = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => {
            quote = punct.as_char() == '\'';
            punct.as_char() == '&'
        }
        TokenTree::Ident(ident) => std::mem::take(&mut quote) && ident == "_",
        TokenTree::Group(group) => borrows(group.stream()),
        TokenTree::Literal(_) => false,
    })
}

/// The parameter's name, which becomes the field's.
fn name(pat: &Pat, errors: &mut Errors) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Some(pat.ident.clone()),
        _ => {
            errors.on(pat, "an argument needs a plain name: it becomes the name of the job's field");
            None
        }
    }
}
