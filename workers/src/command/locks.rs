//! `linchpin locks`: who holds what, who waits for it, and taking a lock from a holder that does not let go.

use std::time::Duration;

use clap::{Args, Subcommand};
use linchpin::Client;
use linchpin::limits::PAGE_MAX;
use linchpin::names::LockKey;
use linchpin::store::circumstances::{Holder, LockView, WaiterView};
use linchpin::store::lease::BreakAnswer;
use serde::Serialize;
use serde_json::json;

use crate::failure::{Answer, Failure};
use crate::output::{Output, table};
use crate::session::Session;
use crate::words::{millis, span};

/// What to do with locks.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the locks that somebody holds or waits for, by their keys.
    List(All),
    /// Shows one: its holder, and who waits for it, in order.
    Show(Named),
    /// Takes a lock from its holder and gives it to the next.
    ///
    /// For a holder that does not let go: it is told, what its attempt settles is refused, and its job runs again. What it does elsewhere goes on; only a
    /// check of the fence stops that.
    Break(Named),
}

#[derive(Args)]
struct All {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
    /// Begins behind this key.
    #[arg(long, value_name = "KEY")]
    after: Option<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Args)]
struct Named {
    /// The lock's key, such as inventory:A1.
    key: String,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Does it.
///
/// # Errors
/// When a key is none, or the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    match options.verb {
        Verb::List(all) => list(all).await,
        Verb::Show(named) => show(named).await,
        Verb::Break(named) => break_lock(named).await,
    }
}

#[derive(Serialize)]
struct Held {
    process: String,
    token: String,
    job: Option<String>,
    fence: u64,
    held_ms: u64,
    left_ms: u64,
}

impl Held {
    fn of(holder: &Holder) -> Self {
        Self {
            process: holder.token.process().to_string(),
            token: holder.token.as_str().to_owned(),
            job: holder.job.map(|job| job.to_string()),
            fence: holder.fence.0,
            held_ms: millis(holder.held_for),
            left_ms: millis(holder.left),
        }
    }
}

#[derive(Serialize)]
struct Listed {
    key: String,
    holder: Option<Held>,
    waiters: u64,
}

impl Listed {
    fn of(view: &LockView) -> Self {
        Self {
            key: view.key.as_str().to_owned(),
            holder: view.holder.as_ref().map(Held::of),
            waiters: view.waiters,
        }
    }

    fn row(&self) -> Vec<String> {
        let ms = |ms| span(Duration::from_millis(ms));
        let (job, process, held, left) = match &self.holder {
            Some(held) => (
                held.job.clone().unwrap_or_else(|| "-".into()),
                held.process.clone(),
                ms(held.held_ms),
                ms(held.left_ms),
            ),
            None => ("-".into(), "nobody".into(), "-".into(), "-".into()),
        };
        vec![self.key.clone(), process, job, held, left, self.waiters.to_string()]
    }
}

async fn list(all: All) -> Result<Answer, Failure> {
    let client = all.session.shared_client().await?;
    let after = all.after.map(LockKey::new).transpose()?;
    let page = client.locks(after.as_ref(), (all.limit as usize).min(PAGE_MAX)).await?;
    let listed: Vec<Listed> = page.locks.iter().map(Listed::of).collect();
    let next = page.next.as_ref().map(|key| key.as_str().to_owned());
    all.output.print(&json!({"locks": listed, "next": next}), |_| {
        let header = ["LOCK", "HELD BY", "JOB", "FOR", "LEFT", "WAITING"];
        let shown = table(&header, listed.iter().map(Listed::row), "nobody holds a lock or waits for one");
        match &next {
            Some(key) => format!("{shown}\nmore behind --after '{key}'"),
            None => shown,
        }
    })?;
    Ok(Answer::Yes)
}

async fn show(named: Named) -> Result<Answer, Failure> {
    let client = named.session.shared_client().await?;
    let Some(line) = client.lock_line(&named.key).await? else {
        return nobody(&client, &named).await;
    };
    let lock = Listed::of(&line.lock);
    let waiters: Vec<_> = line
        .waiters
        .iter()
        .map(|waiter| match waiter {
            WaiterView::Job(job) => json!({"job": job.to_string()}),
            WaiterView::Client(token) => json!({"client": token.process().as_str(), "token": token.as_str()}),
        })
        .collect();
    let next = line.next.map(|job| job.to_string());
    let said = json!({"key": lock.key, "holder": lock.holder, "next": next, "waiting": lock.waiters, "waiters": waiters});
    named.output.print(&said, |_| {
        let mut lines = vec![format!("lock {}", lock.key)];
        lines.push(match &lock.holder {
            None => "  held by   nobody".into(),
            Some(held) => {
                let of = held.job.as_ref().map_or_else(String::new, |job| format!("job {job} of "));
                format!("  held by   {of}process {} under fence {}", held.process, held.fence)
            }
        });
        if let Some(held) = &lock.holder {
            let ms = |ms| span(Duration::from_millis(ms));
            lines.push(format!(
                "  since     {}; it ends in {} unless it is renewed",
                ms(held.held_ms),
                ms(held.left_ms)
            ));
        }
        if let Some(job) = &next {
            lines.push(format!("  next      job {job}"));
        }
        lines.push(format!("  waiting   {}", lock.waiters));
        for (i, waiter) in line.waiters.iter().enumerate() {
            lines.push(match waiter {
                WaiterView::Job(job) => format!("  {:>7}   job {job}", i + 1),
                WaiterView::Client(token) => format!("  {:>7}   client {}", i + 1, token.process()),
            });
        }
        lines.join("\n")
    })?;
    Ok(Answer::Yes)
}

async fn break_lock(named: Named) -> Result<Answer, Failure> {
    let client = named.session.shared_client().await?;
    match client.break_lock(&named.key).await? {
        BreakAnswer::Broken { token, fence } => {
            let said =
                json!({"key": named.key, "broken": true, "process": token.process().as_str(), "token": token.as_str(), "fence": fence.0});
            named.output.print(&said, |_| {
                format!(
                    "lock {} was taken from process {}, which held it under fence {fence}",
                    named.key,
                    token.process()
                )
            })?;
            Ok(Answer::Yes)
        }
        BreakAnswer::Free => nobody(&client, &named).await,
        BreakAnswer::Foreign => Err(Failure::new(
            format!("break lock {}", named.key),
            "what stands under its key is no lock: look at it with redis-cli, and leave the namespace to Linchpin",
        )),
    }
}

/// What is said of a lock that is free, with the nearest that is not.
async fn nobody(client: &Client, named: &Named) -> Result<Answer, Failure> {
    let held = client.locks(None, PAGE_MAX).await?.locks;
    let near = nearest(&named.key, held.iter().map(|lock| lock.key.as_str()));
    let hint = near.map_or_else(String::new, |key| format!(" (did you mean {key}?)"));
    eprintln!(
        "linchpin: nobody holds lock {} or waits for it{hint}: `linchpin locks list` shows all",
        named.key
    );
    Ok(Answer::No)
}

/// A key that differs in case alone, or holds the other.
fn nearest<'a>(key: &str, held: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    held.into_iter()
        .find(|held| held.eq_ignore_ascii_case(key) || (held.len() > 3 && (held.contains(key) || key.contains(*held))))
}
