//! `#[task]`: the function as it was, the struct of its jobs, and what runs one.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Type, Visibility};

use crate::duration;
use crate::errors::Errors;
use crate::field::Field;
use crate::handler::{self, Argument, Function, Handler, Parameter, plain};
use crate::job::Job;
use crate::options::{Options, Place};

/// Expands `#[task(options)] item`. With mistakes in it the result still has everything that does not depend on them, so that
/// one mistake gives one error.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(options, Place::Task, &mut errors);
    let mut function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            handler::refuse_item(&item, error, &mut errors);
            let errors = errors.into_tokens();
            return quote!(#errors #item);
        }
    };
    let handler = Handler::read(&mut function, &mut errors);
    let written = handler.map(|handler| match &options.for_job {
        Some(job) => write_marker(&function, &handler, &options, job, &mut errors),
        None => write_job(&function, &handler, &options, &mut errors),
    });
    let errors = errors.into_tokens();
    quote!(#errors #function #written)
}

/// Writes the struct of the jobs, which is also the task.
fn write_job(function: &Function, handler: &Handler, options: &Options, errors: &mut Errors) -> TokenStream {
    let name = &function.sig.ident;
    let ty = options.job.as_ref().unwrap_or(name);
    if let (Some(argument), true) = (handler.arguments().next(), options.cron.is_some() || options.every.is_some()) {
        errors.on(
            &argument.name,
            "the ticks of a task's own schedule have no arguments: bring one with arguments by `Worker::builder(..).schedule(..)` or in the configuration",
        );
    }
    let described = |argument: &Argument| Field::of(&argument.name, &argument.ty, &argument.attrs);
    let fields = handler.arguments().map(described).collect();
    let job = Job::check(options, fields, plain(name), name, errors);
    let structure = write_struct(&function.vis, ty, name, handler);
    let impl_job = job.expand(ty);
    let impl_task = write_task(name, ty, &quote!(Self), handler, options, Passing::Fields);
    quote!(#structure #impl_job #impl_task)
}

fn write_struct(vis: &Visibility, ty: &Ident, function: &Ident, handler: &Handler) -> TokenStream {
    let doc = format!(" Arguments of [`{function}()`]: a job to enqueue, and the task to register.");
    let fields = handler
        .arguments()
        .map(|Argument { name, ty, attrs }| quote!(#(#attrs)* #vis #name: #ty));
    quote! {
        #[doc = #doc]
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(
            ::linchpin::__private::Debug,
            ::linchpin::__private::Clone,
            ::linchpin::__private::Serialize,
            ::linchpin::__private::Deserialize,
        )]
        #[serde(crate = "::linchpin::__private::serde", deny_unknown_fields)]
        #vis struct #ty {
            #(#fields,)*
        }
    }
}

/// Writes the marker of a task whose job is defined elsewhere.
fn write_marker(function: &Function, handler: &Handler, options: &Options, job: &Type, errors: &mut Errors) -> TokenStream {
    let (vis, name) = (&function.vis, &function.sig.ident);
    let whole = |argument: &Argument| last_name(&argument.ty).is_some_and(|name| Some(name) == last_name(job));
    let passing = if handler.arguments().any(whole) {
        Passing::Whole
    } else {
        Passing::Fields
    };
    for attr in handler.arguments().flat_map(|argument| &argument.attrs) {
        errors.on(attr, "this attribute belongs to the field of the job, which is defined elsewhere");
    }
    let mut beside = handler
        .arguments()
        .filter(|argument| passing == Passing::Whole && !whole(argument))
        .peekable();
    let mixed = beside.peek().is_some();
    beside.for_each(|argument| errors.on(&argument.name, "take the whole job or its fields, not both"));
    let impl_task = (!mixed).then(|| write_task(name, name, &quote!(#job), handler, options, passing));
    let doc = format!(" The task [`{name}()`], to register.");
    quote! {
        #[doc = #doc]
        #[allow(non_camel_case_types, dead_code)]
        #vis struct #name {}

        #impl_task
    }
}

/// The last name of a type's path: `Restock` of `shop::Restock`.
fn last_name(ty: &Type) -> Option<&Ident> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|segment| &segment.ident)
}

/// How the handler gets its job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passing {
    /// Field by field.
    Fields,
    /// As it is.
    Whole,
}

fn write_task(function: &Ident, ty: &Ident, job: &TokenStream, handler: &Handler, options: &Options, passing: Passing) -> TokenStream {
    let spec = write_spec(handler, options);
    let needs = handler.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Data(ty) => Some(quote!(<#ty as ::linchpin::__private::FromData>::need())),
        _ => None,
    });
    let run = write_run(function, handler, passing);
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::linchpin::__private::Task for #ty {
            type Job = #job;
            const SPEC: &'static ::linchpin::__private::TaskSpec = &#spec;

            fn data_needs() -> ::linchpin::__private::Vec<::linchpin::__private::DataNeed> {
                ::linchpin::__private::vec![#(#needs),*]
            }

            #run
        }
    }
}

fn write_spec(handler: &Handler, options: &Options) -> TokenStream {
    let mut settings = Vec::new();
    if !options.also.is_empty() {
        let also = &options.also;
        settings.push(quote!(also: &[#(#also),*]));
    }
    if let Some(retries) = options.retries {
        settings.push(quote!(retries: #retries));
    }
    if let Some(backoff) = options.backoff {
        let first = duration::expand(backoff.first);
        settings.push(match backoff.cap.map(duration::expand) {
            Some(cap) => quote!(backoff: ::linchpin::__private::Backoff { first: #first, cap: #cap }),
            None => quote!(backoff: ::linchpin::__private::backoff(#first)),
        });
    }
    if let Some(timeout) = options.timeout.map(duration::expand) {
        settings.push(quote!(timeout: #timeout));
    }
    if let Some(line) = &options.cron {
        let tz = options.tz.as_ref().map_or_else(|| quote!("UTC"), |tz| quote!(#tz));
        settings.push(quote!(schedule: ::linchpin::__private::Some(::linchpin::__private::TaskSchedule::Cron { line: #line, tz: #tz })));
    }
    if let (Some(period), None) = (&options.every, &options.cron) {
        settings.push(quote!(schedule: ::linchpin::__private::Some(::linchpin::__private::TaskSchedule::Every(#period))));
    }
    if !handler.is_async {
        settings.push(quote!(blocking: true));
    }
    match settings.is_empty() {
        true => quote!(::linchpin::__private::TaskSpec::DEFAULT),
        false => quote!(::linchpin::__private::TaskSpec { #(#settings,)* ..::linchpin::__private::TaskSpec::DEFAULT }),
    }
}

/// Writes `run`. Its own names are hygienic: a handler called `data` is still found.
fn write_run(function: &Ident, handler: &Handler, passing: Passing) -> TokenStream {
    let local = |name: &str, used: bool| match used {
        true => Ident::new(name, Span::mixed_site()),
        false => format_ident!("_{name}", span = Span::mixed_site()),
    };
    let has = |wanted: fn(&Parameter) -> bool| handler.parameters.iter().any(wanted);
    let job = local("job", has(|parameter| matches!(parameter, Parameter::Argument(_))));
    let attempt = local("attempt", has(|parameter| matches!(parameter, Parameter::Attempt(_))));
    let data = local("data", has(|parameter| matches!(parameter, Parameter::Data(_))));
    let values = handler.parameters.iter().map(|parameter| match parameter {
        Parameter::Attempt(ty) => {
            let mut attempt = attempt.clone();
            attempt.set_span(attempt.span().located_at(ty.span()));
            quote!(#attempt)
        }
        Parameter::Data(ty) => quote!(<#ty as ::linchpin::__private::FromData>::take(&#data)?),
        Parameter::Argument(_) if passing == Passing::Whole => quote!(#job),
        Parameter::Argument(argument) => {
            let field = &argument.name;
            quote!(#job.#field)
        }
    });
    let call = quote!(#function(#(#values),*));
    let outcome = |call: TokenStream| match &handler.output {
        Some(ty) => quote_spanned!(ty.span()=> <#ty as ::linchpin::__private::Outcome>::outcome(#call)),
        None => quote!({ #call; ::linchpin::__private::Ok(()) }),
    };
    let body = if handler.is_async {
        outcome(quote!(#call.await))
    } else {
        let outcome = outcome(call);
        quote!(::linchpin::__private::blocking(move || #outcome).await)
    };
    quote! {
        async fn run(
            #job: Self::Job,
            #attempt: ::linchpin::__private::Attempt,
            #data: ::linchpin::__private::DataMap,
        ) -> ::linchpin::__private::TaskResult {
            #body
        }
    }
}
