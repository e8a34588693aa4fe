//! `linchpin jobs cancel`, `retry` and `delete`: named jobs, or all dead ones.

use clap::Args;
use linchpin::client::Bulk;
use linchpin::names::JobId;
use linchpin::store::page::JobFilter;
use linchpin::store::view::{CancelAnswer, DeleteAnswer, RetryAnswer};
use serde::Serialize;

use super::Kind;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;

/// Which jobs to cancel.
#[derive(Args)]
pub struct Cancel {
    /// The jobs' ids.
    #[arg(required = true, value_name = "JOB")]
    jobs: Vec<JobId>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Which jobs to retry.
#[derive(Args)]
pub struct Retry {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Which jobs to delete.
#[derive(Args)]
pub struct Delete {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

#[derive(Args)]
struct Named {
    /// The jobs' ids.
    #[arg(value_name = "JOB", required_unless_present = "dead", conflicts_with_all = ["dead", "queue", "task"])]
    jobs: Vec<JobId>,
    /// All dead jobs, or those of a queue or task. A retry leaves cancelled ones alone.
    #[arg(long)]
    dead: bool,
    #[command(flatten)]
    kind: Kind,
}

impl Named {
    fn filter(&self) -> JobFilter {
        JobFilter {
            state: None,
            queue: self.kind.queue.clone(),
            task: self.kind.task.clone(),
        }
    }
}

/// What became of one job.
#[derive(Serialize)]
struct Changed {
    job: String,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    #[serde(skip)]
    yes: bool,
    #[serde(skip)]
    words: String,
}

impl Changed {
    fn new(id: JobId, answer: &'static str, yes: bool, words: impl Into<String>) -> Self {
        Self {
            job: id.to_string(),
            answer,
            holder: None,
            yes,
            words: words.into(),
        }
    }

    fn gone(id: JobId) -> Self {
        Self::new(id, "too_late", false, "no such job: done, deleted, or never enqueued here")
    }
}

fn say(output: Output, changed: Vec<Changed>) -> Result<Answer, Failure> {
    output.print(&changed, |changed| {
        let lines: Vec<String> = changed.iter().map(|one| format!("{} {}", one.job, one.words)).collect();
        lines.join("\n")
    })?;
    Ok(match changed.iter().all(|one| one.yes) {
        true => Answer::Yes,
        false => Answer::No,
    })
}

#[derive(Serialize)]
struct Counted {
    done: u64,
    cancelled: u64,
    conflicts: u64,
    gone: u64,
}

fn say_bulk(output: Output, verb: &str, bulk: Bulk) -> Result<Answer, Failure> {
    let counted = Counted {
        done: bulk.done,
        cancelled: bulk.cancelled,
        conflicts: bulk.conflicts,
        gone: bulk.gone,
    };
    output.print(&counted, |counted| {
        let mut text = format!("{} dead jobs {verb}", counted.done);
        let rest = [
            (counted.cancelled, "cancelled ones left alone"),
            (counted.conflicts, "left dead: another job holds their unique key"),
            (counted.gone, "not dead any more"),
        ];
        for (count, words) in rest.iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!("; {count} {words}"));
        }
        text
    })?;
    Ok(Answer::Yes)
}

impl Cancel {
    /// Does it.
    ///
    /// # Errors
    /// When the store cannot be used; jobs named before the failure are cancelled.
    pub async fn run(self) -> Result<Answer, Failure> {
        let client = self.session.shared_client().await?;
        let mut changed = Vec::new();
        for id in self.jobs {
            changed.push(match client.cancel(id).await? {
                CancelAnswer::Cancelled => Changed::new(id, "cancelled", true, "cancelled"),
                CancelAnswer::Requested => Changed::new(id, "requested", true, "is running: its attempt was asked to stop"),
                CancelAnswer::TooLate => Changed::new(id, "too_late", false, "has ended already, or was never enqueued here"),
            });
        }
        say(self.output, changed)
    }
}

impl Retry {
    /// Does it.
    ///
    /// # Errors
    /// When the store cannot be used; jobs named before the failure are ready.
    pub async fn run(self) -> Result<Answer, Failure> {
        let client = self.session.shared_client().await?;
        if self.named.dead {
            return say_bulk(self.output, "retried", client.retry_dead(&self.named.filter()).await?);
        }
        let mut changed = Vec::new();
        for id in self.named.jobs {
            changed.push(match client.retry(id).await? {
                RetryAnswer::Ready => Changed::new(id, "ready", true, "ready"),
                RetryAnswer::NotNeeded => Changed::new(id, "not_needed", true, "is ready, parked or active already"),
                RetryAnswer::Conflict(holder) => Changed {
                    holder: Some(holder.to_string()),
                    ..Changed::new(
                        id,
                        "conflict",
                        false,
                        format!("stays dead: job {holder} holds its unique key by now"),
                    )
                },
                RetryAnswer::TooLate => Changed::gone(id),
            });
        }
        say(self.output, changed)
    }
}

impl Delete {
    /// Does it.
    ///
    /// # Errors
    /// When the store cannot be used; jobs named before the failure are deleted.
    pub async fn run(self) -> Result<Answer, Failure> {
        let client = self.session.shared_client().await?;
        if self.named.dead {
            return say_bulk(self.output, "deleted", client.delete_dead(&self.named.filter()).await?);
        }
        let mut changed = Vec::new();
        for id in self.named.jobs {
            changed.push(match client.delete(id).await? {
                DeleteAnswer::Deleted => Changed::new(id, "deleted", true, "deleted"),
                DeleteAnswer::Requested => Changed::new(
                    id,
                    "requested",
                    true,
                    "is running: its attempt was asked to stop, then it is removed",
                ),
                DeleteAnswer::TooLate => Changed::gone(id),
            });
        }
        say(self.output, changed)
    }
}
