//! Writes `impl Job`: the spec, and the keys rendered from the job's fields.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::LitStr;

use crate::duration;
use crate::errors::Errors;
use crate::field::Field;
use crate::limits::NAME_MAX_BYTES;
use crate::options::{OnBusy, Options, Priority, check_name};
use crate::template::Template;

/// Everything that `impl Job` says.
pub(crate) struct Job {
    pub(crate) name: String,
    fields: Vec<Field>,
    settings: Vec<TokenStream>,
    locks: Vec<Template>,
    unique: Option<Template>,
}

impl Job {
    /// Checks a job's options against its fields. `default_name` is the task's name unless `name` is given, `place` what it
    /// was made from.
    pub(crate) fn check(options: &Options, fields: Vec<Field>, default_name: String, place: &Ident, errors: &mut Errors) -> Self {
        let name = options.name.as_ref().map_or(default_name, LitStr::value);
        if options.name.is_none() && check_name(&name).is_err() {
            let place = options.place_of("name", place);
            errors.on(
                place,
                format!(
                    "`{name}` cannot be a task's name (1 to {NAME_MAX_BYTES} characters out of A-Z a-z 0-9 _ . -, no `-` first): add `name = \"..\"`"
                ),
            );
        }
        for also in &options.also {
            if also.value() == name {
                errors.on(also, "this is the task's present name: `also` lists former ones");
            }
        }
        let names: Vec<Ident> = fields.iter().map(|field| field.name.clone()).collect();
        let mut locks: Vec<Template> = options
            .locks
            .iter()
            .filter_map(|lock| Template::check(lock, &names, errors))
            .collect();
        if options.singleton && options.locks.is_empty() {
            let key = LitStr::new(&format!("singleton:{name}"), place.span());
            locks.extend(Template::check(&key, &[], errors));
        }
        let unique = options.unique.as_ref().and_then(|unique| Template::check(unique, &names, errors));
        let mut job = Self {
            name,
            fields,
            settings: Vec::new(),
            locks,
            unique,
        };
        job.set(options);
        job
    }

    /// Notes the settings that differ from the defaults.
    fn set(&mut self, options: &Options) {
        let settings = &mut self.settings;
        if let Some(queue) = &options.queue {
            settings.push(quote!(queue: #queue));
        }
        if let Some(priority) = options.priority {
            settings.push(quote!(priority: #priority));
        }
        if !self.locks.is_empty() {
            let locks = self.locks.iter().map(|lock| &lock.literal);
            settings.push(quote!(locks: &[#(#locks),*]));
        }
        if let Some(on_busy) = options.on_busy {
            settings.push(quote!(on_busy: #on_busy));
        }
        if let Some(unique) = &self.unique {
            let literal = &unique.literal;
            settings.push(quote!(unique: ::linchpin::__private::Some(#literal)));
        }
        let times = [
            (quote!(wait_timeout), options.wait_timeout),
            (quote!(unique_for), options.unique_for),
            (quote!(expires_in), options.expires_in),
        ];
        for (field, time) in times {
            if let Some(time) = time.map(duration::expand) {
                settings.push(quote!(#field: ::linchpin::__private::Some(#time)));
            }
        }
        if let Some(limit) = options.crash_limit {
            settings.push(quote!(crash_limit: #limit));
        }
    }

    /// Writes `impl Job for ty`.
    pub(crate) fn expand(&self, ty: &Ident) -> TokenStream {
        let Self {
            name, fields, settings, ..
        } = self;
        let new = quote!(::linchpin::__private::JobSpec::new(#name, &[#(#fields),*]));
        let spec = match settings.is_empty() {
            true => new,
            false => quote!(::linchpin::__private::JobSpec { #(#settings,)* ..#new }),
        };
        let locks = self.locks.iter().map(Template::expand);
        let unique = match self.unique.as_ref().map(Template::expand) {
            Some(key) => quote!(::linchpin::__private::Some(#key)),
            None => quote!(::linchpin::__private::None),
        };
        quote! {
            #[automatically_derived]
            impl ::linchpin::__private::Job for #ty {
                const SPEC: &'static ::linchpin::__private::JobSpec = &#spec;

                fn lock_keys(&self) -> ::linchpin::__private::Vec<::linchpin::__private::String> {
                    ::linchpin::__private::vec![#(#locks),*]
                }

                fn unique_key(&self) -> ::linchpin::__private::Option<::linchpin::__private::String> {
                    #unique
                }
            }
        }
    }
}

impl ToTokens for Priority {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::High => quote!(::linchpin::__private::Priority::High),
            Self::Normal => quote!(::linchpin::__private::Priority::Normal),
            Self::Low => quote!(::linchpin::__private::Priority::Low),
        });
    }
}

impl ToTokens for OnBusy {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Wait => quote!(::linchpin::__private::OnBusy::Wait),
            Self::Skip => quote!(::linchpin::__private::OnBusy::Skip),
            Self::Fail => quote!(::linchpin::__private::OnBusy::Fail),
            Self::Snooze(delay) => {
                let delay = duration::expand(*delay);
                quote!(::linchpin::__private::OnBusy::Snooze(#delay))
            }
        });
    }
}
