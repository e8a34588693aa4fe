//! The function under `#[task]`: what its parameters are and what it returns.

mod argument;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, GenericArgument, PathArguments, ReturnType, Signature, Type, Visibility};

use crate::errors::Errors;
pub(crate) use argument::Argument;

/// The item under `#[task]`, its body left as it is.
pub(crate) struct Function {
    attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

/// What the function takes and gives.
pub(crate) struct Handler {
    pub(crate) parameters: Vec<Parameter>,
    /// `None` where it returns nothing.
    pub(crate) output: Option<Type>,
    pub(crate) is_async: bool,
}

/// One parameter of the handler.
pub(crate) enum Parameter {
    /// The attempt.
    Attempt(Type),
    /// Shared data, with the whole type, `Data<T>` or its alias.
    Data(Type),
    /// A field of the job.
    Argument(Argument),
}

impl Handler {
    /// Reads the function and strips from its parameters what only the macro or the job's field may carry.
    /// `None` when it cannot become a task; every reason is noted.
    pub(crate) fn read(function: &mut Function, errors: &mut Errors) -> Option<Self> {
        if function.body.to_string() == ";" {
            return None; // rustc says that the body is missing
        }
        let mut found = Errors::default();
        refuse_qualifiers(&function.sig, &mut found);
        let mut parameters = Vec::new();
        let mut attempt_seen = false;
        for input in &mut function.sig.inputs {
            match input {
                FnArg::Receiver(receiver) => found.on(
                    receiver,
                    "a task is a free function: it takes no `self`; share state with a `Data<T>` parameter",
                ),
                FnArg::Typed(typed) => match argument::read(typed, &mut found) {
                    Some(Parameter::Attempt(ty)) if attempt_seen => found.on(ty, "one `Attempt` is enough"),
                    Some(parameter) => {
                        attempt_seen |= matches!(parameter, Parameter::Attempt(_));
                        parameters.push(parameter);
                    }
                    None => {}
                },
            }
        }
        let output = output(&function.sig.output, &mut found);
        let good = found.is_empty();
        errors.take(found);
        good.then(|| Self {
            parameters,
            output,
            is_async: function.sig.asyncness.is_some(),
        })
    }

    /// The parameters that are fields of the job.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(argument),
            _ => None,
        })
    }
}

fn refuse_qualifiers(sig: &Signature, errors: &mut Errors) {
    if let Some(token) = &sig.constness {
        errors.on(token, "a task cannot be `const`");
    }
    if let syn::Safety::Unsafe(token) = &sig.safety {
        errors.on(token, "a task cannot be `unsafe`: workers call it with whatever was enqueued");
    }
    if let Some(abi) = &sig.abi {
        errors.on(abi, "a task cannot have a foreign ABI");
    }
    if let Some(variadic) = &sig.variadic {
        errors.on(variadic, "a task cannot be variadic");
    }
    if !sig.generics.params.is_empty() {
        errors.on(
            &sig.generics,
            "a task cannot be generic: its job has one name and one set of fields; write one task per type that calls a generic function",
        );
    } else if let Some(clause) = &sig.generics.where_clause {
        errors.on(clause, "a task cannot be generic: remove the `where` clause");
    }
}

/// The return type, where it may be one. What cannot be judged by its tokens is left to the trait `Outcome`.
fn output(output: &ReturnType, errors: &mut Errors) -> Option<Type> {
    let ReturnType::Type(_, ty) = output else { return None };
    match &**ty {
        Type::Tuple(tuple) if tuple.elems.is_empty() => return None,
        Type::ImplTrait(_) => errors.on(ty, "a task returns a concrete type: `()`, `TaskResult` or `Result<(), E>`"),
        Type::Never(_) => errors.on(ty, "a task ends: it returns `()`, `TaskResult` or `Result<(), E>`"),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return Some((**ty).clone());
            };
            let value = arguments.args.first();
            if let (true, Some(GenericArgument::Type(value))) = (last.ident == "Result" || last.ident == "TaskResult", value)
                && !matches!(value, Type::Tuple(tuple) if tuple.elems.is_empty())
            {
                errors.on(
                    value,
                    "a task's result is not kept yet: return `()` here and store the value yourself",
                );
            }
        }
        _ => {}
    }
    Some((**ty).clone())
}

/// The name of the function as its job's fields and templates see names: without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    use syn::ext::IdentExt;
    ident.unraw().to_string()
}

/// Notes what stands under `#[task]` when it is no function.
pub(crate) fn refuse_item(item: &TokenStream, error: syn::Error, errors: &mut Errors) {
    const OTHERS: [(&str, &str); 7] = [
        ("impl", "an `impl` block"),
        ("struct", "a struct (to derive a job, write `#[derive(Job)]` and `#[job(..)]`)"),
        ("enum", "an enum"),
        ("trait", "a trait"),
        ("mod", "a module"),
        ("static", "a static"),
        ("type", "a type alias"),
    ];
    let words: Vec<String> = item
        .clone()
        .into_iter()
        .map(|token| token.to_string())
        .take_while(|word| word != "fn")
        .collect();
    let other = words.iter().find_map(|word| OTHERS.iter().find(|(name, _)| name == word));
    let is_function = item.clone().into_iter().any(|token| token.to_string() == "fn");
    match other {
        Some((_, what)) => errors.at(item.span(), format!("`#[task]` goes on a function, this is {what}")),
        None if !is_function => errors.at(item.span(), "`#[task]` goes on a function"),
        None => errors.absorb(error),
    }
}
