//! How attempts end: the verdict, the outcome and the words for each way.

use std::sync::Arc;
use std::time::Duration;

use crate::attempt::{Attempt, Ending, StopCause};
use crate::limits::{ERROR_MAX_BYTES, MISMATCH_DELAY_CAP, MISMATCH_DELAY_FIRST, within_bytes};
use crate::names::LockKey;
use crate::registry::Registration;
use crate::store::effects::Riding;
use crate::store::new_job::Body;
use crate::store::settle::{Charge, Death, EFFECTS_REFUSED, Outcome, Verdict};

/// Cuts a text to what is stored of an error, at a character's boundary.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > ERROR_MAX_BYTES {
        text.truncate(within_bytes(&text, ERROR_MAX_BYTES).len());
    }
    text
}

fn schedule(delay: Duration, charge: Charge, outcome: Outcome, error: String) -> Ending {
    let error = cut(error);
    let kept = (!error.is_empty()).then(|| error.clone());
    Ending::new(
        Verdict::Schedule {
            delay,
            charge,
            error: kept,
        },
        outcome,
        error,
    )
}

fn bury(reason: String, death: Death, charge: Charge, outcome: Outcome) -> Ending {
    let reason = cut(reason);
    Ending::new(
        Verdict::Bury {
            reason: reason.clone(),
            death,
            charge,
        },
        outcome,
        reason,
    )
}

/// A charged failure: scheduled again, or dead when the retries are used up.
fn charged(attempt: &Attempt, task: &Registration, outcome: Outcome, error: String, after: Option<Duration>) -> Ending {
    let state = attempt.state();
    let body_retries = state.job.envelope.as_ref().ok().and_then(|envelope| envelope.body.retries);
    let retries = body_retries.unwrap_or(task.task.retries);
    let number = state.number();
    if number > retries {
        let reason = format!("{number} of {number} attempts failed, the last: {error}");
        return bury(reason, Death::Exhausted, Charge::Attempt, Outcome::Dead);
    }
    let delay = after.unwrap_or_else(|| task.task.backoff.delay(number, rand::random()));
    schedule(delay, Charge::Attempt, outcome, error)
}

/// The handler succeeded; what it handed over rides the settle.
pub(crate) fn done(attempt: &Attempt, task: &Registration) -> Ending {
    let mut ending = Ending::new(Verdict::Done, Outcome::Done, "");
    if let Some(effects) = attempt.state().close_effects() {
        let fallback = charged(attempt, task, Outcome::Retry, EFFECTS_REFUSED.to_owned(), None);
        ending.riding = Some(Arc::new(Riding {
            effects: effects.effects,
            jobs: effects.jobs,
            result: effects.result,
            fallback: fallback.verdict,
        }));
    }
    ending
}

pub(crate) fn skipped(busy: &LockKey) -> Ending {
    Ending::new(Verdict::Done, Outcome::Skipped, format!("lock `{busy}` is held"))
}

pub(crate) fn snoozed(delay: Duration) -> Ending {
    schedule(delay, Charge::None, Outcome::Snoozed, String::new())
}

pub(crate) fn returned() -> Ending {
    Ending::new(Verdict::Return, Outcome::Returned, "")
}

pub(crate) fn rekeyed(keys: Vec<LockKey>) -> Ending {
    Ending::new(
        Verdict::Rekey(keys),
        Outcome::Returned,
        "the task renders other lock keys than the job came with",
    )
}

pub(crate) fn lease_lost() -> Ending {
    Ending::new(Verdict::Return, Outcome::LeaseLost, "the lease was lost")
}

pub(crate) fn cancelled() -> Ending {
    bury("cancelled".to_owned(), Death::Cancelled, Charge::None, Outcome::Cancelled)
}

pub(crate) fn discarded(why: &str) -> Ending {
    bury(why.to_owned(), Death::Discarded, Charge::Attempt, Outcome::Dead)
}

pub(crate) fn expired() -> Ending {
    let reason = "not started before it expired".to_owned();
    bury(reason, Death::Expired, Charge::None, Outcome::Dead)
}

pub(crate) fn unfit(reason: String) -> Ending {
    bury(reason, Death::Unfit, Charge::None, Outcome::Dead)
}

pub(crate) fn retry(attempt: &Attempt, task: &Registration, error: &str, after: Option<Duration>) -> Ending {
    charged(attempt, task, Outcome::Retry, error.to_owned(), after)
}

pub(crate) fn busy(attempt: &Attempt, task: &Registration, error: String) -> Ending {
    charged(attempt, task, Outcome::Busy, error, None)
}

pub(crate) fn timed_out(attempt: &Attempt, task: &Registration, timeout: Duration) -> Ending {
    charged(attempt, task, Outcome::TimedOut, format!("timed out after {timeout:?}"), None)
}

pub(crate) fn panicked(attempt: &Attempt, task: &Registration, panic: &str) -> Ending {
    charged(attempt, task, Outcome::Panicked, format!("panicked: {panic}"), None)
}

pub(crate) fn stuck(attempt: &Attempt, task: &Registration) -> Ending {
    let cause = attempt.stop_cause().unwrap_or(StopCause::TimedOut);
    let error = format!("stuck: it went on long after it was told to stop ({cause})");
    charged(attempt, task, Outcome::Stuck, error, None)
}

/// Back to be run by a worker that knows better (a rolling deploy), uncharged; dead when that goes on for too long.
pub(crate) fn mismatch(attempt: &Attempt, error: String) -> Ending {
    let tries = attempt.state().job.tries;
    if tries.mismatched_for >= attempt.shop().mismatch_window {
        return unfit(error);
    }
    let delay = MISMATCH_DELAY_FIRST
        .saturating_mul(1 << tries.mismatches.min(16))
        .min(MISMATCH_DELAY_CAP);
    schedule(delay, Charge::Mismatch, Outcome::Returned, error)
}

/// Says how a job's arguments differ from what its task takes: names only, no values.
pub(crate) fn misfit(task: &Registration, body: &Body, error: &serde_json::Error) -> String {
    let takes = task.job.fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
    let has = match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body.args) {
        Ok(fields) => fields.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        Err(_) => "no JSON object".to_owned(),
    };
    format!(
        "arguments do not fit ({}): task `{}` takes [{takes}], the job has [{has}]",
        without_values(&error.to_string()),
        task.job.name
    )
}

/// serde quotes what it found between `:` and `, expected`; arguments must not get into errors.
fn without_values(error: &str) -> String {
    let quote = if error.starts_with("unknown variant") { " `" } else { ":" };
    let quotes = error.starts_with("invalid ") || error.starts_with("unknown variant");
    match (quotes, error.find(quote), error.rfind(", expected")) {
        (true, Some(from), Some(to)) if from < to => format!("{}{}", &error[..from], &error[to..]),
        _ => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_cut_at_a_character() {
        let cut = cut("é".repeat(ERROR_MAX_BYTES));
        assert_eq!(cut.len(), ERROR_MAX_BYTES);
        assert!(super::cut("ab".to_owned() + &"☃".repeat(ERROR_MAX_BYTES)).len() <= ERROR_MAX_BYTES);
    }

    #[test]
    fn errors_hold_no_values() {
        let error = serde_json::from_str::<u32>(r#""s3cret""#).map_err(|error| without_values(&error.to_string()));
        assert_eq!(error, Err("invalid type, expected u32 at line 1 column 8".to_owned()));
    }
}
