//! The executor: one attempt from its claim to its end.
//!
//! An attempt passes the gates of [`admit`] one after the other; each lets it on or says how it ends. Then its handler runs,
//! watched for panics, its timeout and being told to stop.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tracing::Instrument;

use crate::attempt::{Attempt, AttemptState, Claimed, End, Ended, Ending, Phase, StopCause};
use crate::clock::LeaseInstant;
use crate::failpoint::{self, Step};
use crate::job::lock_set;
use crate::limits::margin;
use crate::registry::{Prepared, Registration};
use crate::store::new_job::OnBusy;
use crate::store::turn::{Envelope, LockOutcome};
use crate::task::{Fate, TaskResult};
use crate::telemetry;
use crate::worker::ending;

/// Starts an attempt as a task of its own.
pub(crate) fn start(claim: Arc<Claimed>, index: usize) {
    let seat = Seat(Some(Attempt::new(claim, index)));
    tokio::spawn(async move {
        let ending = match seat.attempt() {
            Some(attempt) => attend(attempt).await,
            None => return,
        };
        seat.leave(ending);
    });
}

/// An attempt's place in the worker: whatever happens, leaving it is told to the fetcher.
struct Seat(Option<Attempt>);

impl Seat {
    fn attempt(&self) -> Option<&Attempt> {
        self.0.as_ref()
    }

    fn leave(mut self, mut ending: Ending) {
        let Some(attempt) = self.0.take() else { return };
        failpoint::reach(Step::HandlerEnded);
        let state = attempt.state();
        let end = if state.leave_running(Phase::Ended) {
            ending.ran = state.ran();
            ending.nested = state.close_holds();
            state.close_effects();
            telemetry::ended(&attempt, &ending);
            End::Settle(ending)
        } else {
            End::Back
        };
        tell(&attempt, end);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(attempt) = self.0.take() else { return };
        let end = if attempt.state().leave_running(Phase::Answered) {
            attempt.state().close_holds();
            attempt.state().close_effects();
            End::Vanished
        } else {
            End::Back
        };
        tell(&attempt, end);
    }
}

fn tell(attempt: &Attempt, end: End) {
    let ended = Ended {
        claim: attempt.claim().clone(),
        index: attempt.index(),
        end,
    };
    // The fetcher is gone only when the worker's run was dropped: then the lease takes the job back.
    let _ = attempt.shop().ends.send(ended);
}

async fn attend(attempt: &Attempt) -> Ending {
    match std::panic::catch_unwind(AssertUnwindSafe(|| admit(attempt))) {
        Ok(Ok(admitted)) => run(attempt, admitted).await,
        Ok(Err(ending)) => ending,
        Err(panic) => panicked(attempt, panic),
    }
}

/// What runs once every gate is passed.
struct Admitted {
    task: Registration,
    timeout: Duration,
    job: Box<dyn Prepared>,
}

/// The gates, in order.
fn admit(attempt: &Attempt) -> Result<Admitted, Ending> {
    let state = attempt.state();
    let envelope = readable(state)?;
    in_time(state)?;
    let task = known(attempt, envelope)?;
    let job = decoded(attempt, envelope, &task)?;
    under_its_own_keys(envelope, job.as_ref())?;
    locked(attempt, envelope, &task)?;
    still_wanted(attempt)?;
    Ok(Admitted {
        timeout: envelope.body.timeout.unwrap_or(task.task.timeout),
        task,
        job,
    })
}

fn readable(state: &AttemptState) -> Result<&Envelope, Ending> {
    state
        .job
        .envelope
        .as_ref()
        .map_err(|undecodable| ending::unfit(format!("cannot be read: {}", undecodable.reason)))
}

fn in_time(state: &AttemptState) -> Result<(), Ending> {
    if state.job.expired { Err(ending::expired()) } else { Ok(()) }
}

fn known(attempt: &Attempt, envelope: &Envelope) -> Result<Registration, Ending> {
    let registry = &attempt.shop().registry;
    let name = envelope.body.task.as_str();
    match registry.find(name) {
        Some(task) => Ok(task.clone()),
        None => Err(ending::mismatch(attempt, format!("task `{name}`: {}", registry.unknown(name)))),
    }
}

fn decoded(attempt: &Attempt, envelope: &Envelope, task: &Registration) -> Result<Box<dyn Prepared>, Ending> {
    task.prepare(&envelope.body.args)
        .map_err(|error| ending::mismatch(attempt, ending::misfit(task, &envelope.body, &error)))
}

/// The task decides the keys, not the producer: a job under other keys never runs, it goes back under the right ones.
fn under_its_own_keys(envelope: &Envelope, job: &dyn Prepared) -> Result<(), Ending> {
    let keys = lock_set(job.lock_keys()).map_err(|error| ending::unfit(format!("its lock keys: {error}")))?;
    if keys == envelope.header.locks {
        Ok(())
    } else {
        Err(ending::rekeyed(keys))
    }
}

fn locked(attempt: &Attempt, envelope: &Envelope, task: &Registration) -> Result<(), Ending> {
    let busy = match &attempt.state().job.how {
        LockOutcome::None | LockOutcome::Acquired | LockOutcome::Waited(_) => return Ok(()),
        LockOutcome::Foreign(key) => return Err(ending::unfit(format!("lock `{key}`: its key in the store holds something else"))),
        LockOutcome::GaveUp(waited) => {
            return Err(ending::busy(
                attempt,
                task,
                format!("gave up after waiting {waited:?} for its lock"),
            ));
        }
        LockOutcome::Busy(key) => key,
    };
    match envelope.header.on_busy {
        OnBusy::Skip => Err(ending::skipped(busy)),
        OnBusy::Snooze(delay) => Err(ending::snoozed(delay)),
        OnBusy::Fail | OnBusy::Wait => Err(ending::busy(attempt, task, format!("lock `{busy}` is held"))),
    }
}

fn still_wanted(attempt: &Attempt) -> Result<(), Ending> {
    match attempt.stop_cause() {
        Some(StopCause::Cancelled) => Err(ending::cancelled()),
        Some(_) => Err(ending::returned()),
        None if attempt.claim().valid_until().passed() => Err(ending::returned()),
        None => Ok(()),
    }
}

type Handler = futures::future::CatchUnwind<AssertUnwindSafe<tracing::instrument::Instrumented<BoxFuture<'static, TaskResult>>>>;
type Handled = Result<TaskResult, Box<dyn Any + Send>>;

async fn run(attempt: &Attempt, admitted: Admitted) -> Ending {
    let Admitted { task, timeout, job } = admitted;
    let data = attempt.shop().data.clone();
    attempt.state().start(LeaseInstant::now(), timeout);
    failpoint::reach(Step::HandlerStarts);
    let own = attempt.clone();
    let handler: BoxFuture<'static, TaskResult> = match std::panic::catch_unwind(AssertUnwindSafe(|| job.run(own, data))) {
        Ok(handler) => handler,
        Err(panic) => return panicked(attempt, panic),
    };
    let mut handler: Handler = AssertUnwindSafe(handler.instrument(telemetry::attempt_span(attempt))).catch_unwind();
    // Most handlers that are ready at once never need a timer or a stop.
    if let Poll::Ready(handled) = futures::poll!(&mut handler) {
        return ended(attempt, &task, handled);
    }
    let cause = tokio::select! { biased;
        handled = &mut handler => return ended(attempt, &task, handled),
        cause = attempt.cancelled() => cause,
        () = tokio::time::sleep(timeout) => {
            attempt.state().stop(StopCause::TimedOut);
            attempt.stop_cause().unwrap_or(StopCause::TimedOut)
        }
    };
    match wind_down(attempt, &task, handler).await {
        // What is done is done: the store decides whether it counts.
        Some(Ok(Ok(()))) => ending::done(attempt, &task),
        _ => stopped(attempt, &task, cause, timeout),
    }
}

/// Gives a handler that was told to stop a margin of the lease to end by itself, then drops it. What dropping does not end, a
/// sync handler or a part of it that keeps the attempt in use, is waited for.
async fn wind_down(attempt: &Attempt, task: &Registration, mut handler: Handler) -> Option<Handled> {
    if task.task.blocking {
        return Some(handler.await);
    }
    let courtesy = margin(attempt.shop().lease);
    if let Ok(handled) = tokio::time::timeout(courtesy, &mut handler).await {
        return Some(handled);
    }
    while attempt.state().in_use() {
        tokio::select! { biased;
            handled = &mut handler => return Some(handled),
            () = attempt.state().unused() => {}
        }
    }
    // A panic while dropping ends nothing but this handler, which has ended.
    let _ = std::panic::catch_unwind(AssertUnwindSafe(move || drop(handler)));
    attempt.state().unused().await;
    None
}

fn ended(attempt: &Attempt, task: &Registration, handled: Handled) -> Ending {
    match handled {
        Ok(Ok(())) => ending::done(attempt, task),
        Ok(Err(error)) => match error.0 {
            Fate::Retry { error, after } => ending::retry(attempt, task, &chain(error.as_ref()), after),
            Fate::Snooze(delay) => ending::snoozed(delay),
            Fate::Discard(why) => ending::discarded(&why),
        },
        Err(panic) => ending::panicked(attempt, task, &panic_text(panic)),
    }
}

fn stopped(attempt: &Attempt, task: &Registration, cause: StopCause, timeout: Duration) -> Ending {
    match cause {
        StopCause::LeaseLost => ending::lease_lost(),
        StopCause::Cancelled => ending::cancelled(),
        StopCause::TimedOut => ending::timed_out(attempt, task, timeout),
        StopCause::Shutdown => ending::returned(),
    }
}

/// An error with its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
        if text.len() > crate::limits::ERROR_MAX_BYTES {
            break;
        }
    }
    text
}

fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "with a value that is no text".to_owned(),
    };
    // A value whose drop panics must not take the executor with it.
    let _ = std::panic::catch_unwind(AssertUnwindSafe(move || drop(panic)));
    text
}

/// A panic of a job's own code before its handler: decoding, or rendering its keys.
fn panicked(attempt: &Attempt, panic: Box<dyn Any + Send>) -> Ending {
    let text = panic_text(panic);
    match its_task(attempt) {
        Some(task) => ending::panicked(attempt, task, &text),
        None => ending::unfit(format!("panicked: {text}")),
    }
}

/// The verdict on an attempt that the watchdog surrenders.
pub(crate) fn stuck(attempt: &Attempt) -> Ending {
    match its_task(attempt) {
        Some(task) if attempt.stop_cause() != Some(StopCause::LeaseLost) => ending::stuck(attempt, task),
        _ => ending::lease_lost(),
    }
}

fn its_task(attempt: &Attempt) -> Option<&Registration> {
    let envelope = attempt.state().job.envelope.as_ref().ok()?;
    attempt.shop().registry.find(envelope.body.task.as_str())
}
