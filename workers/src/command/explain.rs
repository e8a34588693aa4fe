//! `linchpin explain`: why a job is not running, and what to do about it.

use clap::Args;
use linchpin::client::{Explanation, Reason};
use linchpin::names::JobId;
use linchpin::store::circumstances::Holder;
use linchpin::store::settle::Death;
use serde_json::{Value, json};

use super::jobs::Which;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;
use crate::words::millis;

/// Which job.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    which: Which,
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
    let client = options.session.shared_client().await?;
    // it may end between the two looks
    let explanation = match options.which.view(&client).await? {
        Some(view) => client.explain(view.id).await?,
        None => None,
    };
    let Some(explanation) = explanation else {
        options.output.json_only(&Value::Null)?;
        return Ok(Answer::No);
    };
    options.output.print(&for_programs(&explanation), |_| for_people(&explanation))?;
    Ok(Answer::Yes)
}

fn for_people(explanation: &Explanation) -> String {
    let job = &explanation.job;
    let mut text = format!("job {}", job.id);
    if let Ok(envelope) = &job.envelope {
        text.push_str(&format!(", task {}, queue {}", envelope.body.task, envelope.header.queue));
    }
    for reason in &explanation.reasons {
        text.push_str(&format!("\n  {reason}"));
    }
    for hint in explanation.reasons.iter().filter_map(|reason| hint(job.id, reason)) {
        text.push_str(&format!("\n  -> {hint}"));
    }
    text
}

/// The next step, where there is one.
fn hint(id: JobId, reason: &Reason) -> Option<String> {
    match reason {
        Reason::Parked {
            holder: Some(Holder { job: Some(job), .. }),
            ..
        } => Some(format!("linchpin explain {job}   says what the holder is at")),
        Reason::Scheduled { .. } | Reason::Retry { .. } => Some(format!("linchpin jobs retry {id}   runs it now")),
        Reason::Dead {
            death: Death::Cancelled, ..
        } => None,
        Reason::Dead { .. } => Some(format!("linchpin jobs retry {id}   when its cause is mended")),
        Reason::Paused { queue } => Some(format!("linchpin queues resume {queue}")),
        Reason::NoWorkers => Some("start a worker; `linchpin workers list` shows who is there".into()),
        Reason::NotServed { queue, .. } => Some(format!("start a worker that serves `{queue}`")),
        Reason::UnknownTask { task, .. } => Some(format!(
            "deploy a worker that has task `{task}`; `linchpin tasks list` shows those known"
        )),
        Reason::Mismatched { .. } => Some(format!("linchpin jobs show {id}   shows its arguments")),
        Reason::Unreadable { .. } => Some(format!("linchpin jobs delete {id}   removes it")),
        _ => None,
    }
}

fn for_programs(explanation: &Explanation) -> Value {
    let job = &explanation.job;
    let envelope = job.envelope.as_ref().ok();
    json!({
        "job": job.id.to_string(),
        "state": job.state.name().as_str(),
        "task": envelope.map(|envelope| envelope.body.task.as_str()),
        "queue": envelope.map(|envelope| envelope.header.queue.as_str()),
        "reasons": explanation.reasons.iter().map(reason).collect::<Vec<_>>(),
    })
}

/// A reason's word, its text, and what belongs to it.
fn reason(reason: &Reason) -> Value {
    let mut value = match reason {
        Reason::Active {
            token,
            worker,
            since,
            lease_left,
            cancel_requested,
            ..
        } => json!({
            "token": token.as_str(), "worker": worker.as_str(), "since_ms": millis(*since),
            "lease_left_ms": millis(*lease_left), "cancel_requested": cancel_requested,
        }),
        Reason::Parked {
            behind,
            holder,
            waited,
            ahead,
            gives_up_in,
        } => json!({
            "behind": behind.as_str(), "waited_ms": millis(*waited), "ahead": ahead, "gives_up_in_ms": gives_up_in.map(millis),
            "holder": holder.as_ref().map(|holder| json!({
                "token": holder.token.as_str(), "worker": holder.token.process().as_str(), "job": holder.job.map(|job| job.to_string()),
                "held_for_ms": millis(holder.held_for), "left_ms": millis(holder.left),
            })),
        }),
        Reason::Scheduled { due_in } => json!({ "due_in_ms": millis(*due_in) }),
        Reason::Retry {
            number,
            due_in,
            last_error,
        } => {
            json!({ "number": number, "due_in_ms": millis(*due_in), "last_error": last_error })
        }
        Reason::Ready { ahead } => json!({ "ahead": ahead }),
        Reason::Turn { key } => json!({ "lock": key.as_str() }),
        Reason::Dead { death, reason, dead_for } => json!({ "death": death.as_str(), "why": reason, "dead_for_ms": millis(*dead_for) }),
        Reason::Paused { queue } => json!({ "queue": queue.as_str() }),
        Reason::NotServed { queue, served } => {
            json!({ "queue": queue.as_str(), "served": served.iter().map(|queue| queue.as_str()).collect::<Vec<_>>() })
        }
        Reason::UnknownTask { task, queue, workers } => json!({ "task": task.as_str(), "queue": queue.as_str(), "workers": workers }),
        Reason::Busy { slots } => json!({ "slots": slots }),
        Reason::Mismatched { times, since } => json!({ "times": times, "since_ms": millis(*since) }),
        Reason::Suspect { strikes, crash_limit } => json!({ "strikes": strikes, "crash_limit": crash_limit }),
        Reason::Unreadable { why } => json!({ "why": why }),
        _ => json!({}),
    };
    value["reason"] = json!(reason.as_str());
    value["text"] = json!(reason.to_string());
    value
}
