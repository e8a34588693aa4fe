//! What `#[task]` and `#[derive(Job)]` write: specs, keys, serde, and functions that stay functions.
#![cfg(feature = "macros")]
#![deny(warnings)]

use std::borrow::Cow;
use std::time::Duration;

use linchpin::job::{Field, JobSpec, Kind};
use linchpin::registry::Registry;
use linchpin::retry::Backoff;
use linchpin::store::new_job::{OnBusy, Priority};
use linchpin::task::TaskSpec;
use linchpin::{Attempt, Data, Job, Task, TaskError, TaskResult, task};
use serde::{Deserialize, Serialize};

struct Stock(u32);

#[task]
async fn plain() {}

#[task(
    name = "stock.decrement",
    also = ["decrement", "take"],
    queue = "stock",
    priority = "high",
    lock = ["inventory:{sku}", "warehouse:{house}"],
    on_busy = wait,
    wait_timeout = "30s",
    retries = 5,
    backoff("1s", cap = "1m"),
    timeout = "500ms",
    crash_limit = 2,
    unique = "order:{{{order}}}",
    unique_for = "7d",
    expires_in = "1h"
)]
async fn decrement(
    attempt: Attempt,
    sku: String,
    stock: Data<Stock>,
    #[serde(default)] qty: u32,
    house: u8,
    order: Cow<'static, str>,
) -> TaskResult {
    let (_, _, _, _) = (attempt, house, order, sku);
    if qty > stock.0 {
        return Err(TaskError::discard("never that many"));
    }
    Ok(())
}

fn one() -> decrement {
    decrement {
        sku: "A1".into(),
        qty: 2,
        house: 7,
        order: "o-9".into(),
    }
}

#[test]
fn without_options_everything_is_at_its_default() {
    assert_eq!(*<plain as Job>::SPEC, JobSpec::new("plain", &[]));
    assert_eq!(*<plain as Task>::SPEC, TaskSpec::DEFAULT);
    assert_eq!(plain {}.lock_keys(), Vec::<String>::new());
    assert_eq!(plain {}.unique_key(), None);
    assert!(plain::data_needs().is_empty());
}

const FIELDS: &[Field] = &[
    Field::new("sku", Kind::String),
    Field::optional("qty", Kind::Uint),
    Field::new("house", Kind::Uint),
    Field::new("order", Kind::Any),
];

#[test]
fn every_option_reaches_its_spec() {
    let job = JobSpec {
        name: "stock.decrement",
        fields: FIELDS,
        queue: "stock",
        priority: Priority::High,
        locks: &["inventory:{sku}", "warehouse:{house}"],
        on_busy: OnBusy::Wait,
        wait_timeout: Some(Duration::from_secs(30)),
        unique: Some("order:{{{order}}}"),
        unique_for: Some(Duration::from_secs(7 * 86_400)),
        expires_in: Some(Duration::from_secs(3600)),
        crash_limit: 2,
    };
    assert_eq!(*<decrement as Job>::SPEC, job);
    let task = TaskSpec {
        also: &["decrement", "take"],
        retries: 5,
        backoff: Backoff {
            first: Duration::from_secs(1),
            cap: Duration::from_secs(60),
        },
        timeout: Duration::from_millis(500),
        blocking: false,
        schedule: None,
    };
    assert_eq!(*<decrement as Task>::SPEC, task);
}

#[test]
fn keys_are_rendered_from_the_fields() {
    assert_eq!(one().lock_keys(), ["inventory:A1", "warehouse:7"]);
    assert_eq!(one().unique_key().as_deref(), Some("order:{o-9}"));
}

#[test]
fn a_job_survives_json() {
    let text = serde_json::to_string(&one()).expect("writes");
    assert_eq!(text, r#"{"sku":"A1","qty":2,"house":7,"order":"o-9"}"#);
    let back: decrement = serde_json::from_str(&text).expect("reads");
    assert_eq!(format!("{back:?}"), format!("{:?}", one().clone()));
    assert_eq!(serde_json::to_string(&plain {}).expect("writes"), "{}");
}

#[test]
fn attributes_of_a_parameter_go_to_the_field() {
    let job: decrement = serde_json::from_str(r#"{"sku":"A1","house":7,"order":""}"#).expect("`qty` has a default");
    assert_eq!(job.qty, 0);
}

#[test]
fn an_unknown_or_missing_field_is_refused() {
    let unknown = serde_json::from_str::<plain>(r#"{"colour":"red"}"#)
        .expect_err("unknown")
        .to_string();
    assert!(unknown.contains("unknown field `colour`"), "{unknown}");
    let missing = serde_json::from_str::<decrement>(r#"{"sku":"A1"}"#)
        .expect_err("missing")
        .to_string();
    assert!(missing.contains("missing field `house`"), "{missing}");
}

#[tokio::test]
async fn the_function_stays_a_function() {
    plain().await;
    let stock = || Data::new(Stock(5));
    decrement(Attempt::test(), "A1".into(), stock(), 2, 7, "o".into())
        .await
        .expect("enough");
    let error = decrement(Attempt::test(), "A1".into(), stock(), 6, 7, "o".into())
        .await
        .expect_err("too many");
    assert_eq!(error.to_string(), "never that many");
}

#[test]
fn data_parameters_are_needed_by_type() {
    let needs = decrement::data_needs();
    assert_eq!(needs.len(), 1);
    assert!(needs[0].name.ends_with("Stock"), "{needs:?}");
}

type Run = Attempt;
type Shared = Data<Stock>;

#[task(singleton, on_busy = skip)]
fn nightly(#[data] stock: Shared, #[attempt] run: Run, #[allow(unused_variables)] deep: bool) -> Result<(), String> {
    let _ = (run, stock);
    Ok(())
}

#[test]
fn aliases_are_marked_and_a_singleton_locks_its_name() {
    assert_eq!(<nightly as Job>::SPEC.fields, [Field::new("deep", Kind::Bool)]);
    assert_eq!(<nightly as Job>::SPEC.locks, ["singleton:nightly"]);
    assert_eq!(<nightly as Job>::SPEC.on_busy, OnBusy::Skip);
    assert_eq!(nightly { deep: true }.lock_keys(), ["singleton:nightly"]);
    assert!(<nightly as Task>::SPEC.blocking);
    assert_eq!(nightly(Data::new(Stock(1)), Attempt::test(), false), Ok(()));
}

#[task(job = SendMail, on_busy = snooze("5s"), lock = "mail:{to}", backoff = "2h")]
async fn send_mail(mut to: String, r#type: u8) -> anyhow::Result<()> {
    to.push('!');
    anyhow::ensure!(r#type > 0, "no such mail: {to}");
    Ok(())
}

#[tokio::test]
async fn the_struct_may_have_another_name() {
    let job = SendMail { to: "a".into(), r#type: 0 };
    assert_eq!(<SendMail as Job>::SPEC.name, "send_mail");
    assert_eq!(
        <SendMail as Job>::SPEC.fields,
        [Field::new("to", Kind::String), Field::new("type", Kind::Uint)]
    );
    assert_eq!(<SendMail as Job>::SPEC.on_busy, OnBusy::Snooze(Duration::from_secs(5)));
    assert_eq!(job.lock_keys(), ["mail:a"]);
    assert_eq!(<SendMail as Task>::SPEC.backoff.cap, Duration::from_secs(7200));
    let error = send_mail(job.to, job.r#type).await.expect_err("type 0");
    assert_eq!(error.to_string(), "no such mail: a!");
}

/// What a shared crate has.
mod shop {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Job)]
    #[serde(deny_unknown_fields)]
    #[job(lock = ["account:{from}", "account:{to}"], queue = "money")]
    #[job(unique = "transfer:{from}-{to}", priority = "low")]
    pub struct MoveMoney {
        pub from: u64,
        pub to: u64,
        #[serde(default)]
        pub cents: i64,
    }

    #[derive(Serialize, Deserialize, Job)]
    #[job(name = "tidy-up", singleton, crash_limit = 1)]
    #[serde(deny_unknown_fields)]
    pub struct TidyUp {}
}

#[task(for = shop::MoveMoney, retries = 0, also = ["pay"])]
async fn move_money(attempt: Attempt, cents: i64, from: u64) -> TaskResult {
    let _ = (attempt, from);
    if cents == 0 { Err("nothing to move")? } else { Ok(()) }
}

use shop::TidyUp;

#[task(for = shop::TidyUp)]
fn tidy_up(job: TidyUp) {
    let TidyUp {} = job;
}

#[test]
fn a_job_may_live_without_its_handler() {
    let spec = <shop::MoveMoney as Job>::SPEC;
    assert_eq!((spec.name, spec.queue, spec.priority), ("move_money", "money", Priority::Low));
    assert_eq!(
        spec.fields,
        [
            Field::new("from", Kind::Uint),
            Field::new("to", Kind::Uint),
            Field::optional("cents", Kind::Int)
        ]
    );
    let job = shop::MoveMoney { from: 1, to: 2, cents: 3 };
    assert_eq!(job.lock_keys(), ["account:1", "account:2"]);
    assert_eq!(job.unique_key().as_deref(), Some("transfer:1-2"));
    let spec = <TidyUp as Job>::SPEC;
    assert_eq!(
        (spec.name, spec.locks, spec.crash_limit),
        ("tidy-up", &["singleton:tidy-up"][..], 1)
    );
}

#[tokio::test]
async fn a_handler_may_live_without_its_job() {
    let job: <move_money as Task>::Job = shop::MoveMoney { from: 1, to: 2, cents: 3 };
    assert_eq!(<move_money as Task>::SPEC.also, ["pay"]);
    move_money::run(job, Attempt::test(), Default::default()).await.expect("moves");
    assert!(move_money(Attempt::test(), 0, 1).await.is_err());
    tidy_up::run(TidyUp {}, Attempt::test(), Default::default()).await.expect("tidies");
}

#[test]
fn tasks_lists_what_a_worker_runs() {
    let mut registry = Registry::default();
    linchpin::tasks![decrement, plain, SendMail, move_money, tidy_up].register(&mut registry);
    assert_eq!(registry.names(), ["stock.decrement", "plain", "send_mail", "move_money", "tidy-up"]);
}

/// A handler may be called as a local of the generated code is.
#[task]
async fn data(job: u8, attempt: u8) -> TaskResult {
    if job == attempt { Ok(()) } else { Err("differ".into()) }
}

macro_rules! tasks_from_a_macro {
    ($name:ident, $field:ident, $lock:literal) => {
        #[task(lock = $lock)]
        async fn $name($field: u32) {
            let _ = $field;
        }
    };
}
tasks_from_a_macro!(made, id, "made:{id}");

#[tokio::test]
async fn names_do_not_collide() {
    data::run(data { job: 1, attempt: 1 }, Attempt::test(), Default::default())
        .await
        .expect("same");
    assert_eq!(made { id: 4 }.lock_keys(), ["made:4"]);
}
