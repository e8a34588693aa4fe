//! `linchpin schedules`: what ticks when, what became of its ticks, and the verbs that change it.

mod change;
mod list;
mod show;

use clap::{Args, Subcommand};
use linchpin::names::ScheduleName;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;

/// What to do with schedules.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists all schedules, with their next tick and what became of the latest.
    List(list::Options),
    /// Shows one: its definition, its counts and its latest ticks.
    Show(Named),
    /// Shows the next ticks of one, in local time and UTC.
    Next(show::Next),
    /// Enqueues a job of it now, beside its ticks, which stay as they are.
    Run(change::Run),
    /// Pauses it: its ticks are recorded as skipped until it is resumed, through deploys.
    Pause(Named),
    /// Resumes it with the next tick after now; what has passed is not made up for (see backfill).
    Resume(Named),
    /// Enqueues the jobs of the ticks of a span of the past.
    Backfill(change::Backfill),
    /// Deletes it; jobs of its ticks stay. A worker that brings it defines it anew when it starts.
    Delete(Named),
}

/// One schedule.
#[derive(Args)]
struct Named {
    /// The schedule.
    name: ScheduleName,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Does it.
///
/// # Errors
/// When the store cannot be used.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    match options.verb {
        Verb::List(options) => list::run(options).await,
        Verb::Show(named) => show::run(named).await,
        Verb::Next(next) => show::next(next).await,
        Verb::Run(run) => change::run(run).await,
        Verb::Pause(named) => change::pause(named, true).await,
        Verb::Resume(named) => change::pause(named, false).await,
        Verb::Backfill(backfill) => change::backfill(backfill).await,
        Verb::Delete(named) => change::delete(named).await,
    }
}

/// What is said of a schedule that is not there.
fn none(name: &ScheduleName) -> Result<Answer, Failure> {
    eprintln!("linchpin: there is no schedule {name}: `linchpin schedules list` shows all");
    Ok(Answer::No)
}
