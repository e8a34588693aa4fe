//! Spans and events: the names of their fields, always the same.
//!
//! One span an attempt, one `info` event a settled job. Never arguments, never secrets. Nothing is rendered unless somebody
//! listens.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::Span;

use crate::attempt::{Attempt, Ending};

/// Opens the span of an attempt.
pub(crate) fn attempt_span(attempt: &Attempt) -> Span {
    let state = attempt.state();
    let Ok(envelope) = &state.job.envelope else {
        return Span::none();
    };
    tracing::info_span!(
        "attempt",
        task = envelope.body.task.as_str(),
        queue = envelope.header.queue.as_str(),
        job.id = %state.job.id,
        attempt = state.number(),
        lock.key = crate::attempt::joined(&envelope.header.locks),
        fence = state.job.fence.0,
        worker.id = attempt.shop().worker.as_str(),
    )
}

/// Says that an attempt has ended and goes to be settled.
pub(crate) fn ended(attempt: &Attempt, ending: &Ending) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let state = attempt.state();
    let envelope = state.job.envelope.as_ref().ok();
    tracing::info!(
        task = envelope.map(|envelope| envelope.body.task.as_str()),
        queue = envelope.map(|envelope| envelope.header.queue.as_str()),
        job.id = %state.job.id,
        attempt = state.number(),
        lock.key = envelope.map(|envelope| crate::attempt::joined(&envelope.header.locks)),
        fence = state.job.fence.0,
        worker.id = attempt.shop().worker.as_str(),
        outcome = ending.outcome.as_str(),
        duration_ms = ending.ran.as_millis() as u64,
        queued_ms = queued(attempt, ending.ran).as_millis() as u64,
        waited_ms = crate::attempt::waited(&state.job.how).as_millis() as u64,
        "job ended"
    );
}

/// From the making of the job's id to the start of the attempt, by two machines' clocks: for people only.
fn queued(attempt: &Attempt, ran: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let made = Duration::from_millis(attempt.job_id().made_at_ms());
    now.saturating_sub(ran).saturating_sub(made)
}
