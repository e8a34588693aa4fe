//! `linchpin jobs`: what jobs there are, one in full, and the verbs that change their course.

mod change;
mod list;
mod show;

use clap::{Args, Subcommand};
use linchpin::names::{QueueName, TaskName};

use crate::failure::{Answer, Failure};

pub use show::Which;

/// What to do with jobs.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists jobs: by state, queue and task, a page at a time.
    ///
    /// Scheduled jobs come by their due time, dead ones the latest first, the ready ones of one queue in the order in which they are claimed, others in no
    /// order.
    List(list::Options),
    /// Shows all that is known of a job: its arguments, options, tries and last errors.
    Show(show::Options),
    /// Cancels jobs: buried at once as cancelled, or asked to stop when an attempt runs.
    Cancel(change::Cancel),
    /// Makes scheduled or dead jobs ready now.
    ///
    /// A dead one starts again with no attempt charged.
    Retry(change::Retry),
    /// Deletes jobs: gone at once, or removed when the running attempt ends, which is asked to stop.
    Delete(change::Delete),
}

/// Of which queue and task.
#[derive(Args, Debug, Clone)]
pub struct Kind {
    /// Only jobs of this queue.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<QueueName>,
    /// Only jobs of this task.
    #[arg(long, value_name = "TASK")]
    task: Option<TaskName>,
}

/// Does it.
///
/// # Errors
/// When the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    match options.verb {
        Verb::List(options) => list::run(options).await,
        Verb::Show(options) => show::run(options).await,
        Verb::Cancel(options) => options.run().await,
        Verb::Retry(options) => options.run().await,
        Verb::Delete(options) => options.run().await,
    }
}
