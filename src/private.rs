//! What the macros' code names, and nothing else: no part of the public interface, free to change in any release.

use std::fmt::Display;

pub use std::clone::Clone;
pub use std::fmt::Debug;
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::Ok;
pub use std::string::String;
pub use std::time::Duration;
pub use std::vec::Vec;
pub use std::{format, vec};

pub use serde::{self, Deserialize, Serialize};

pub use crate::attempt::{Attempt, Data, DataMap, DataNeed};
pub use crate::job::{Field, Job, JobSpec, Kind};
pub use crate::retry::Backoff;
use crate::schedule::Cron;
pub use crate::store::new_job::{OnBusy, Priority};
pub use crate::task::{Task, TaskError, TaskResult, TaskSchedule, TaskSpec};

/// An argument that can stand in a lock or unique template.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a lock or unique template",
    label = "this placeholder's argument has the type `{Self}`, which does not implement `Display`",
    note = "write the key from arguments with a text form, such as numbers and strings"
)]
pub trait KeyPart {
    /// Its text form.
    fn part(&self) -> &dyn Display;
}

#[diagnostic::do_not_recommend]
impl<T: Display> KeyPart for T {
    fn part(&self) -> &dyn Display {
        self
    }
}

/// The text form of an argument in a template.
pub fn part<T: KeyPart>(argument: &T) -> &dyn Display {
    argument.part()
}

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "a task cannot return `{Self}`",
    label = "return `()`, `TaskResult`, or `Result<(), E>` where `E` is an error",
    note = "an error is a `TaskError` or whatever becomes a boxed error that is `Send + Sync`: of `std`, of `anyhow`, text"
)]
pub trait Outcome {
    /// The handler's fate.
    fn outcome(self) -> TaskResult;
}

impl Outcome for () {
    fn outcome(self) -> TaskResult {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Into<TaskError>> Outcome for Result<(), E> {
    fn outcome(self) -> TaskResult {
        self.map_err(Into::into)
    }
}

/// A parameter that takes shared data.
#[diagnostic::on_unimplemented(
    message = "`#[data]` marks a parameter that is a `Data<T>`, and `{Self}` is none",
    label = "expected `Data<T>` or an alias of it"
)]
pub trait FromData: Sized {
    /// What a worker must have for it.
    fn need() -> DataNeed;

    /// Takes it from a worker's data.
    fn take(data: &DataMap) -> TaskResult<Self>;
}

impl<T: std::any::Any + Send + Sync> FromData for Data<T> {
    fn need() -> DataNeed {
        DataNeed::of::<T>()
    }

    fn take(data: &DataMap) -> TaskResult<Self> {
        // A worker checks this when it is built; a task that another runs inline may not be among its own.
        let absent = || {
            TaskError::from(format!(
                "the worker has no `Data<{}>`: give it to the worker's builder",
                std::any::type_name::<T>()
            ))
        };
        data.data().ok_or_else(absent)
    }
}

/// The backoff that begins with `first`; its cap is the default one, or `first` where that is longer.
pub const fn backoff(first: Duration) -> Backoff {
    let cap = Backoff::DEFAULT.cap;
    let longer = first.as_nanos() > cap.as_nanos();
    Backoff {
        first,
        cap: if longer { first } else { cap },
    }
}

/// Runs a sync handler on the blocking pool. A panic in it goes on here.
///
/// # Cancel safety
/// Dropping the future does not stop the handler; hence [`TaskSpec::blocking`].
pub async fn blocking(handler: impl FnOnce() -> TaskResult + Send + 'static) -> TaskResult {
    match tokio::task::spawn_blocking(handler).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down and never started it: as if the attempt had not been.
            Err(_) => Err(TaskError::snooze(Duration::ZERO)),
        },
    }
}

#[cfg(all(test, feature = "macros"))]
mod tests {
    use std::any::{Any, TypeId};
    use std::collections::HashMap;
    use std::panic::AssertUnwindSafe;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt;

    use super::*;
    use crate::task;
    use crate::task::Fate;

    struct Stock(AtomicU32);

    fn map(stock: u32) -> DataMap {
        let stock: Arc<dyn Any + Send + Sync> = Arc::new(Stock(AtomicU32::new(stock)));
        DataMap::from_entries(HashMap::from([(TypeId::of::<Stock>(), stock)]))
    }

    fn left(map: &DataMap) -> u32 {
        map.data::<Stock>().expect("stock").0.load(Ordering::Relaxed)
    }

    #[task]
    async fn decrement(qty: u32, stock: Data<Stock>, _attempt: Attempt) -> TaskResult {
        stock.0.fetch_sub(qty, Ordering::Relaxed);
        Ok(())
    }

    #[tokio::test]
    async fn run_hands_over_arguments_and_data() {
        let data = map(10);
        assert_eq!(<decrement as Task>::data_needs(), [DataNeed::of::<Stock>()]);
        decrement::run(decrement { qty: 3 }, Attempt::test(), data.clone())
            .await
            .expect("runs");
        assert_eq!(left(&data), 7);
    }

    #[tokio::test]
    async fn missing_data_is_an_error_that_names_the_type() {
        let error = decrement::run(decrement { qty: 3 }, Attempt::test(), DataMap::default())
            .await
            .expect_err("no stock");
        assert!(error.to_string().contains("tests::Stock>`"), "{error}");
    }

    #[task]
    fn count(stock: Data<Stock>, fail: bool, panic: bool) -> Result<(), std::num::ParseIntError> {
        assert!(!panic, "the shelf fell over");
        stock.0.fetch_add(1, Ordering::Relaxed);
        if fail { "many".parse::<u32>().map(drop) } else { Ok(()) }
    }

    #[tokio::test]
    async fn a_sync_handler_runs_on_the_blocking_pool() {
        let data = map(1);
        assert!(<count as Task>::SPEC.blocking);
        count::run(count { fail: false, panic: false }, Attempt::test(), data.clone())
            .await
            .expect("runs");
        assert_eq!(left(&data), 2);
        let error = count::run(count { fail: true, panic: false }, Attempt::test(), data.clone())
            .await
            .expect_err("fails");
        assert!(matches!(error.0, Fate::Retry { after: None, .. }));
    }

    #[tokio::test]
    async fn a_panic_of_a_sync_handler_stays_a_panic() {
        let run = count::run(count { fail: false, panic: true }, Attempt::test(), map(1));
        let panic = AssertUnwindSafe(run).catch_unwind().await.expect_err("panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the shelf fell over"));
    }

    #[test]
    fn a_long_first_delay_lifts_the_cap() {
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        assert_eq!(backoff(hours(2)).cap, hours(2));
        assert_eq!(backoff(Duration::from_secs(1)).cap, Backoff::DEFAULT.cap);
    }
}

/// A line that `cron!` has checked.
///
/// # Panics
/// Where a macro of another release read another dialect; the crates' versions are pinned to each other.
pub fn cron(line: &str) -> Cron {
    match Cron::parse(line) {
        Ok(cron) => cron,
        Err(error) => panic!("cron!({line:?}) was checked by another release: {error}"),
    }
}
