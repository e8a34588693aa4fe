//! Reads the value of each option.

use std::time::Duration;

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, LitInt, LitStr, Result, Token, bracketed, parenthesized};

use super::{Backoff, OnBusy, Options, Priority};
use crate::duration;
use crate::entries::{Entry, Value};
use crate::errors::Errors;
use crate::limits::{LOCK_KEYS_MAX, NAME_MAX_BYTES};

impl Options {
    /// Takes one option.
    pub(super) fn read(&mut self, entry: &Entry, errors: &mut Errors) -> Result<()> {
        match entry.key.as_str() {
            "name" => self.name = Some(name(entry, "\"send_mail\"")?),
            "queue" => self.queue = Some(name(entry, "\"mails\"")?),
            "also" => self.also = names(entry, errors)?,
            "job" => self.job = Some(value(entry, "the name of the struct, for example `job = Restock`")?),
            "for" => self.for_job = Some(value(entry, "the type of the job, for example `for = Restock`")?),
            "priority" => self.priority = Some(priority(entry)?),
            "lock" => self.locks = locks(entry, errors)?,
            "singleton" => self.singleton = flag(entry)?,
            "on_busy" => self.on_busy = Some(on_busy(entry)?),
            "wait_timeout" => self.wait_timeout = Some(time(entry)?),
            "retries" => self.retries = Some(number(entry, 0)?),
            "backoff" => self.backoff = Some(backoff(entry)?),
            "timeout" => self.timeout = Some(time(entry)?),
            "crash_limit" => self.crash_limit = Some(number(entry, 1)?),
            "unique" => self.unique = Some(value(entry, "a template, for example `unique = \"order:{order}\"`")?),
            "unique_for" => self.unique_for = Some(time(entry)?),
            "cron" => self.cron = Some(cron(entry)?),
            "tz" => self.tz = Some(value(entry, "the IANA name of a zone, for example `tz = \"Europe/Berlin\"`")?),
            "every" => self.every = Some(period(entry)?),
            "expires_in" => self.expires_in = Some(time(entry)?),
            _ => unreachable!("`belongs` let only known options through"),
        }
        Ok(())
    }
}

/// Reads `= value` as one `T`; `wants` says what the option takes.
fn value<T: Parse>(entry: &Entry, wants: &str) -> Result<T> {
    let wants = format!("`{}` takes {wants}", entry.key);
    match &entry.value {
        Value::Assigned(tokens) => syn::parse2(tokens.clone()).map_err(|_| Error::new_spanned(tokens, wants)),
        Value::Nothing | Value::Called(_) => Err(Error::new_spanned(entry, wants)),
    }
}

fn flag(entry: &Entry) -> Result<bool> {
    match &entry.value {
        Value::Nothing => Ok(true),
        _ => Err(Error::new_spanned(
            entry,
            format!("`{}` takes no value: it is there or not", entry.key),
        )),
    }
}

fn number(entry: &Entry, least: u32) -> Result<u32> {
    let wants = format!("a whole number from {least} to {}, for example `{} = 5`", u32::MAX, entry.key);
    let literal: LitInt = value(entry, &wants)?;
    let number = literal.base10_parse::<u32>().ok().filter(|number| *number >= least);
    number.ok_or_else(|| Error::new_spanned(&literal, format!("`{}` takes {wants}", entry.key)))
}

fn time(entry: &Entry) -> Result<Duration> {
    let literal: LitStr = value(entry, &format!("a duration, for example `{} = \"30s\"`", entry.key))?;
    time_of(&literal)
}

fn time_of(literal: &LitStr) -> Result<Duration> {
    duration::parse(&literal.value()).map_err(|message| Error::new_spanned(literal, message))
}

fn name(entry: &Entry, example: &str) -> Result<LitStr> {
    let literal: LitStr = value(entry, &format!("a name in quotes, for example `{} = {example}`", entry.key))?;
    check_name(&literal.value()).map_err(|message| Error::new_spanned(&literal, message))?;
    Ok(literal)
}

/// Holds a task's or queue's name against what a store accepts.
pub(crate) fn check_name(name: &str) -> std::result::Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.len() > NAME_MAX_BYTES || name.starts_with('-') || !name.chars().all(allowed) {
        return Err(format!(
            "a name has 1 to {NAME_MAX_BYTES} characters out of A-Z a-z 0-9 _ . -, no `-` first"
        ));
    }
    Ok(())
}

/// Reads `[a, b]`, or what stands alone.
fn texts(input: ParseStream) -> Result<Vec<LitStr>> {
    if !input.peek(syn::token::Bracket) {
        return Ok(vec![input.parse()?]);
    }
    let list;
    bracketed!(list in input);
    Ok(Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?.into_iter().collect())
}

/// A list of texts, each once.
fn list(entry: &Entry, wants: &str, errors: &mut Errors) -> Result<Vec<LitStr>> {
    let tokens: TokenStream = value(entry, wants)?;
    let refuse = || Error::new_spanned(&tokens, format!("`{}` takes {wants}", entry.key));
    let texts = texts.parse2(tokens.clone()).map_err(|_| refuse())?;
    if texts.is_empty() {
        return Err(refuse());
    }
    for (i, text) in texts.iter().enumerate() {
        if texts[..i].iter().any(|earlier| earlier.value() == text.value()) {
            errors.on(text, format!("{:?} is given twice", text.value()));
        }
    }
    Ok(texts)
}

fn names(entry: &Entry, errors: &mut Errors) -> Result<Vec<LitStr>> {
    let names = list(entry, "former names, for example `also = [\"old_name\"]`", errors)?;
    for name in &names {
        if let Err(message) = check_name(&name.value()) {
            errors.on(name, message);
        }
    }
    Ok(names)
}

fn locks(entry: &Entry, errors: &mut Errors) -> Result<Vec<LitStr>> {
    let wants = "a template or several, for example `lock = \"inventory:{sku}\"` or `lock = [\"account:{from}\", \"account:{to}\"]`";
    let locks = list(entry, wants, errors)?;
    match locks.get(LOCK_KEYS_MAX) {
        Some(more) => Err(Error::new_spanned(more, format!("a job has at most {LOCK_KEYS_MAX} locks"))),
        None => Ok(locks),
    }
}

fn cron(entry: &Entry) -> Result<LitStr> {
    let line: LitStr = value(entry, "a crontab line, for example `cron = \"0 3 * * *\"`")?;
    match linchpin_cron::Expression::parse(&line.value()) {
        Ok(_) => Ok(line),
        Err(error) => Err(Error::new_spanned(line, error)),
    }
}

fn period(entry: &Entry) -> Result<LitStr> {
    let period: LitStr = value(entry, "a period, for example `every = \"15m\"`")?;
    match time_of(&period)?.subsec_nanos() {
        0 => Ok(period),
        _ => Err(Error::new_spanned(
            period,
            "a period is a whole number of seconds: from `1s` to `3660d`",
        )),
    }
}

fn priority(entry: &Entry) -> Result<Priority> {
    let wants = "`\"high\"`, `\"normal\"` or `\"low\"`";
    let literal: LitStr = value(entry, wants)?;
    match literal.value().as_str() {
        "high" => Ok(Priority::High),
        "normal" => Ok(Priority::Normal),
        "low" => Ok(Priority::Low),
        _ => Err(Error::new_spanned(literal, format!("`priority` takes {wants}"))),
    }
}

fn on_busy(entry: &Entry) -> Result<OnBusy> {
    let wants = "`wait`, `skip`, `fail` or `snooze(\"5s\")`";
    let tokens: TokenStream = value(entry, wants)?;
    let refuse = || Error::new_spanned(&tokens, format!("`on_busy` takes {wants}"));
    let parse = |input: ParseStream| {
        let word = Ident::parse_any(input)?;
        let delay = if input.peek(syn::token::Paren) {
            let inside;
            parenthesized!(inside in input);
            Some(inside.parse::<LitStr>()?)
        } else {
            None
        };
        Ok((word, delay))
    };
    let (word, delay) = parse.parse2(tokens.clone()).map_err(|_| refuse())?;
    match (word.to_string().as_str(), delay) {
        ("wait", None) => Ok(OnBusy::Wait),
        ("skip", None) => Ok(OnBusy::Skip),
        ("fail", None) => Ok(OnBusy::Fail),
        ("snooze", Some(delay)) => Ok(OnBusy::Snooze(time_of(&delay)?)),
        _ => Err(refuse()),
    }
}

fn backoff(entry: &Entry) -> Result<Backoff> {
    let wants = "`backoff = \"15s\"` or `backoff(\"15s\", cap = \"1h\")`";
    let refuse = || Error::new_spanned(entry, format!("write {wants}"));
    let (first, cap) = match &entry.value {
        Value::Assigned(tokens) => (syn::parse2(tokens.clone()).map_err(|_| refuse())?, None),
        Value::Called(group) => called_backoff.parse2(group.stream()).map_err(|_| refuse())?,
        Value::Nothing => return Err(refuse()),
    };
    let (first_time, cap_time) = (time_of(&first)?, cap.as_ref().map(time_of).transpose()?);
    match cap {
        Some(cap) if cap_time < Some(first_time) => Err(Error::new_spanned(cap, "the cap is shorter than the first delay")),
        _ => Ok(Backoff {
            first: first_time,
            cap: cap_time,
        }),
    }
}

fn called_backoff(input: ParseStream) -> Result<(LitStr, Option<LitStr>)> {
    let first = input.parse()?;
    let mut cap = None;
    if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
        if input.parse::<Ident>()? != "cap" {
            return Err(input.error("expected `cap`"));
        }
        input.parse::<Token![=]>()?;
        cap = Some(input.parse()?);
        input.parse::<Option<Token![,]>>()?;
    }
    Ok((first, cap))
}
