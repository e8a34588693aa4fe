//! The macros of Linchpin: [`task`], [`derive@Job`] and [`cron!`]. Use them through the crate `linchpin`.

mod cron;
mod derive;
mod duration;
mod entries;
mod errors;
mod field;
#[cfg(test)]
mod golden;
mod handler;
mod job;
mod limits;
mod nearest;
mod options;
mod task;
mod template;

use proc_macro::TokenStream;

/// Makes a task of a function: the function stays as it is, and a struct of the same name becomes its job.
///
/// The struct has the function's arguments as its fields, with the function's visibility. It is what a producer enqueues and
/// what a worker registers. It implements `Job`, `Task`, `Debug`, `Clone`, `Serialize` and `Deserialize` (unknown fields are
/// refused), so the types of the arguments must, too.
///
/// ```
/// use linchpin::{Attempt, Data, TaskResult, task};
///
/// struct Stock;
///
/// #[task(lock = "inventory:{sku}", retries = 5)]
/// async fn decrement(attempt: Attempt, stock: Data<Stock>, sku: String, #[serde(default)] qty: u32) -> TaskResult {
///     Ok(())
/// }
///
/// # tokio::runtime::Runtime::new().expect("runtime").block_on(async {
/// let job = decrement { sku: "A1".into(), qty: 2 }; // the job: named fields, checked by the compiler
/// decrement(Attempt::test(), Data::new(Stock), job.sku, job.qty).await.expect("runs"); // still a function
/// let tasks = linchpin::tasks![decrement]; // what a worker takes
/// # });
/// ```
///
/// # Options
///
/// | option | meaning | default |
/// |---|---|---|
/// | `name = "stock.decrement"` | the task's name in the store: 1 to 64 characters out of `A-Z a-z 0-9 _ . -`, no `-` first | the function's |
/// | `also = ["old_name"]` | former names whose jobs it still runs | none |
/// | `job = Restock` | the name of the struct | the function's |
/// | `for = shop::Restock` | the job is defined elsewhere, with [`derive@Job`] | |
/// | `queue = "mails"` | its queue | `default` |
/// | `priority = "high"` | `high`, `normal` or `low`, within the queue | `normal` |
/// | `lock = "inventory:{sku}"` | the lock an attempt runs under; up to 8 of them, taken all or none: `lock = ["account:{from}", "account:{to}"]` | none |
/// | `singleton` | one lock for all jobs of the task: the key `singleton:<name>` | |
/// | `on_busy = wait` | when a lock is held: `wait` parks the job, `skip` ends it as skipped, `fail` is a charged attempt, `snooze("5s")` tries again later, uncharged | `wait` |
/// | `wait_timeout = "30s"` | how long a job may be parked before it counts as busy | for ever |
/// | `retries = 5` | charged retries after the first attempt | 10 |
/// | `backoff = "15s"` or `backoff("1s", cap = "1m")` | first delay between charged attempts, doubling up to the cap, 25 % jitter either way | 15 s, cap 1 h |
/// | `timeout = "30s"` | how long an attempt may take | 30 min |
/// | `crash_limit = 3` | crashes as a suspect after which a job is buried | 3 |
/// | `unique = "order:{order}"` | the job's own identity: a second job under a held key is not added | none |
/// | `unique_for = "24h"` | the key is held for this long whatever happens to the job | for the job's life |
/// | `expires_in = "1h"` | a job not started after this long is buried | never |
/// | `cron = "0 3 * * *"` | its own schedule, under the task's name: one job a tick in the whole namespace, while workers that have it run; a task without arguments | none |
/// | `tz = "Europe/Berlin"` | the zone of the crontab line, checked when the worker is built | `UTC` |
/// | `every = "15m"` | in place of `cron`: a period counted from 1970 | none |
///
/// A duration is a whole number and a unit: `500ms`, `30s`, `5m`, `2h`, `7d`.
///
/// A template names arguments in braces; `{{` and `}}` are braces in the text. It is checked while compiling, and its arguments
/// must implement `Display`. A key has 1 to 512 bytes, which is checked when a job is enqueued. Parts are not escaped:
/// `{a}:{b}` is one key for `("x:y", "z")` and for `("x", "y:z")`.
///
/// # Parameters
///
/// `Attempt` and `Data<T>` are recognised by the last name of their type, may stand anywhere and may be left out. Where the type
/// is an alias, `#[attempt]` and `#[data]` mark it. Every other parameter is an argument: a plain name and a type that owns its
/// data. Its attributes, such as `#[serde(default)]` and doc comments, move to the field; lint levels stay.
///
/// # What a handler returns
///
/// Nothing, `TaskResult`, or `Result<(), E>` with any `E` that becomes a `TaskError`: errors of std, `anyhow`, text. An error
/// retries unless it says otherwise. Values other than `()` are refused: results are not kept yet.
///
/// # Sync functions
///
/// A `fn` runs on the blocking pool, where it cannot be stopped: its attempt ends when it returns, cancelled or timed out or
/// not. A panic in it is a panic of the attempt.
///
/// # A job that is defined elsewhere
///
/// With `for = Restock` the job is a struct that derives [`derive@Job`], usually in a crate that producers share, and this crate
/// has the handler. Its parameters are the job's fields by name, as many as it needs, or the job itself (`job: Restock`). The
/// function's name becomes a marker type, to register. The job's options (`name`, `queue`, `priority`, `lock`, `singleton`,
/// `on_busy`, `wait_timeout`, `crash_limit`, `unique`, `unique_for`, `expires_in`) stand in `#[job(..)]` on the struct.
///
/// ```
/// use linchpin::{Job, TaskResult, task};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Serialize, Deserialize, Job)]
/// #[serde(deny_unknown_fields)]
/// #[job(lock = "inventory:{sku}")]
/// pub struct Restock {
///     pub sku: String,
///     pub qty: u32,
/// }
///
/// #[task(for = Restock, retries = 3)]
/// async fn restock(sku: String, qty: u32) -> TaskResult {
///     Ok(())
/// }
/// ```
///
/// # Traps of the shared name
///
/// A struct and a function may share a name; a struct, a module and a crate may not.
/// * In a module of the task's own name (`mod restock`), name the struct otherwise with `#[task(job = Restock)]`; then
///   `pub use restock::{Restock, restock}` brings out both.
/// * Where a crate has the task's name, write the crate's paths with a leading `::`, or use `job = ..`.
/// * In docs, write ``[`decrement()`]`` for the function and ``[`struct@decrement`]`` for the job.
/// * A task is a free function: not in an `impl` block, not generic, without references.
/// * An alias of `Data<T>` without its mark counts as an argument; the compiler then says that it is not `Serialize`.
/// * The code names `::linchpin`: the crate cannot be renamed in `Cargo.toml`.
#[proc_macro_attribute]
pub fn task(options: TokenStream, item: TokenStream) -> TokenStream {
    task::expand(options.into(), item.into()).into()
}

/// Makes a job of a struct whose handler lives in another crate.
///
/// The struct has named fields, derives `Serialize` and `Deserialize` beside, and says `#[serde(deny_unknown_fields)]`: an older
/// worker must hand back a newer job instead of dropping the fields it does not know. The handler is a function with
/// [`#[task(for = ..)]`](macro@task).
///
/// `#[job(..)]` takes the options of [`macro@task`] that a producer needs: `name` (default: the struct's name in snake case), `queue`,
/// `priority`, `lock`, `singleton`, `on_busy`, `wait_timeout`, `crash_limit`, `unique`, `unique_for` and `expires_in`.
///
/// ```
/// use linchpin::Job;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Job)]
/// #[serde(deny_unknown_fields)]
/// #[job(queue = "money", lock = ["account:{from}", "account:{to}"], unique = "transfer:{id}")]
/// pub struct MoveMoney {
///     pub id: u64,
///     pub from: u64,
///     pub to: u64,
///     pub cents: i64,
/// }
///
/// let job = MoveMoney { id: 9, from: 1, to: 2, cents: 500 };
/// assert_eq!(job.lock_keys(), ["account:1", "account:2"]);
/// assert_eq!(MoveMoney::SPEC.name, "move_money");
/// ```
#[proc_macro_derive(Job, attributes(job, serde))]
pub fn derive_job(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}

/// Makes a `Cron` of a literal that is checked while compiling, with the same parser that reads other lines when they come.
///
/// ```
/// let nightly = linchpin::cron!("30 2 * * mon-fri");
/// assert_eq!(nightly.words(), "at 02:30 on Monday to Friday");
/// ```
///
/// A mistake does not compile; the message names the field, the column, the reason and what to write:
///
/// ```compile_fail
/// let night = linchpin::cron!("0 22-4 * * *"); // hour, column 3: the range `22-4` runs backwards: write `22-23,0-4`
/// ```
#[proc_macro]
pub fn cron(line: TokenStream) -> TokenStream {
    cron::expand(line.into()).into()
}
