//! Lock and unique templates such as `inventory:{sku}`, checked against the arguments while compiling.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;
use syn::ext::IdentExt;

use crate::errors::Errors;
use crate::limits::KEY_MAX_BYTES;
use crate::nearest::hint;

/// A checked template.
pub(crate) struct Template {
    /// As the user wrote it.
    pub(crate) literal: LitStr,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Field(Ident),
}

impl Template {
    /// Checks a template against the arguments; every mistake is noted on the literal.
    pub(crate) fn check(literal: &LitStr, fields: &[Ident], errors: &mut Errors) -> Option<Self> {
        let text = literal.value();
        let mut mistakes = Vec::new();
        if text.is_empty() {
            mistakes.push("a template must not be empty".to_string());
        }
        let parts = split(&text, &mut mistakes);
        let names: Vec<String> = fields.iter().map(|field| field.unraw().to_string()).collect();
        let mut checked = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Piece::Text(text) => checked.push(Part::Text(text)),
                Piece::Placeholder(name) => match names.iter().position(|field| *field == name) {
                    Some(at) => checked.push(Part::Field(fields[at].clone())),
                    None => mistakes.push(unknown(&name, &names)),
                },
            }
        }
        let fixed: usize = checked
            .iter()
            .map(|part| if let Part::Text(text) = part { text.len() } else { 0 })
            .sum();
        if fixed > KEY_MAX_BYTES {
            mistakes.push(format!("a key has at most {KEY_MAX_BYTES} bytes: the fixed text alone has {fixed}"));
        }
        for mistake in &mistakes {
            errors.on(literal, mistake);
        }
        mistakes.is_empty().then(|| Self {
            literal: literal.clone(),
            parts: checked,
        })
    }

    /// Writes the expression that renders the template from the fields of `self`.
    pub(crate) fn expand(&self) -> TokenStream {
        // The literal's place, so that an argument without a text form is reported there.
        let span = Span::call_site().located_at(self.literal.span());
        let mut format = String::new();
        let mut values = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => format.push_str(&text.replace('{', "{{").replace('}', "}}")),
                Part::Field(field) => {
                    format.push_str("{}");
                    let mut field = field.clone();
                    field.set_span(field.span().located_at(span));
                    values.push(quote_spanned!(span=> ::linchpin::__private::part(&self.#field)));
                }
            }
        }
        quote!(::linchpin::__private::format!(#format #(, #values)*))
    }
}

enum Piece {
    Text(String),
    Placeholder(String),
}

/// Splits a template into text and placeholders, noting what is neither.
fn split(text: &str, mistakes: &mut Vec<String>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        plain.push_str(before);
        if brace.starts_with("{{") || brace.starts_with("}}") {
            plain.push_str(&brace[..1]);
            rest = &brace[2..];
        } else if let Some(after) = brace.strip_prefix('}') {
            mistakes.push("`}` stands alone: write `}}` for a brace in the text".into());
            rest = after;
        } else if let Some((name, after)) = brace[1..].split_once('}') {
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            match check_placeholder(name) {
                Ok(()) => pieces.push(Piece::Placeholder(name.into())),
                Err(mistake) => mistakes.push(mistake),
            }
            rest = after;
        } else {
            mistakes.push("`{` is never closed: write `{{` for a brace in the text".into());
            rest = &brace[1..];
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    pieces
}

/// Whether a placeholder is an argument's name and nothing more.
fn check_placeholder(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a placeholder needs an argument's name, for example `{sku}`".into());
    }
    if syn::parse_str::<Name>(name).is_err() {
        return Err(format!(
            "`{{{name}}}` is not an argument's name: a placeholder is one name without a path or a format"
        ));
    }
    Ok(())
}

/// An argument's name, keywords included.
struct Name;

impl syn::parse::Parse for Name {
    fn parse(input: syn::parse::ParseStream) -> syn::Result<Self> {
        Ident::parse_any(input).map(|_| Self)
    }
}

fn unknown(name: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("`{{{name}}}` names no argument: the task has none");
    }
    format!("`{{{name}}}` names no argument: {}", hint(name, names.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, String> {
        let fields = [Ident::new("sku", Span::call_site()), Ident::new_raw("type", Span::call_site())];
        let mut errors = Errors::default();
        let template = Template::check(&LitStr::new(text, Span::call_site()), &fields, &mut errors);
        match template {
            Some(template) => Ok(template
                .expand()
                .to_string()
                .replace(":: linchpin :: __private ::", "")
                .replace(' ', "")),
            None => Err(errors.into_tokens().to_string()),
        }
    }

    #[test]
    fn a_template_becomes_a_format() {
        assert_eq!(
            check("inventory:{sku}").as_deref(),
            Ok(r#"format!("inventory:{}",part(&self.sku))"#)
        );
        assert_eq!(
            check("{sku}{type}").as_deref(),
            Ok(r#"format!("{}{}",part(&self.sku),part(&self.r#type))"#)
        );
        assert_eq!(check("a{{{sku}}}b").as_deref(), Ok(r#"format!("a{{{}}}b",part(&self.sku))"#));
        assert_eq!(check("{{sku}}").as_deref(), Ok(r#"format!("{{sku}}")"#));
    }

    #[test]
    fn every_mistake_of_a_template_is_named() {
        for (text, message) in [
            ("", "must not be empty"),
            ("a:{}", "needs an argument's name"),
            ("a:{sku", "is never closed"),
            ("a:sku}", "stands alone"),
            ("a:{skuu}", "did you mean `sku`?"),
            ("a:{sku.id}", "one name without a path or a format"),
            ("a:{sku:>3}", "one name without a path or a format"),
            ("a:{0}", "one name without a path or a format"),
            ("a:{ sku2x }", "`{ sku2x }` names no argument"),
        ] {
            let mistake = check(text).expect_err(text);
            assert!(mistake.contains(message), "{text:?}: {mistake}");
        }
        assert!(check(&"x".repeat(513)).expect_err("long").contains("at most 512 bytes"));
    }
}
