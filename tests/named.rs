//! Jobs by a task's name, and tasks that are defined while the program runs: equal to those of `#[task]`.
#![cfg(feature = "macros")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use linchpin::client::End;
use linchpin::job::{Field, JobSpec, Kind};
use linchpin::registry::Registration;
use linchpin::store::settle::Outcome;
use linchpin::task::TaskSpec;
use linchpin::{Client, Data, Error, TaskResult, Worker, task};
use serde_json::{Map, Value, json};

#[task(lock = ["inventory:{sku}", "rate:{rate}"], unique = "order:{order}", queue = "stock", priority = "high", on_busy = snooze("5s"), expires_in = "1h", crash_limit = 2, retries = 1)]
async fn decrement(
    seen: Data<Arc<Mutex<Vec<String>>>>,
    sku: String,
    order: u64,
    rate: f64,
    #[serde(default)] qty: u32,
    note: Option<String>,
) -> TaskResult {
    seen.lock().unwrap().push(format!("{sku} {order} {rate} {qty} {note:?}"));
    Ok(())
}

fn args(json: Value) -> Map<String, Value> {
    json.as_object().unwrap().clone()
}

fn seen() -> Arc<Mutex<Vec<String>>> {
    Arc::default()
}

/// A worker that has told of its tasks.
async fn told(client: &Client) {
    let worker = Worker::builder(client).task::<decrement>().data(seen()).build().unwrap();
    worker.run(std::future::ready(())).await.unwrap();
}

#[tokio::test]
async fn a_job_by_name_is_the_job_that_rust_would_enqueue() {
    let client = Client::connect("memory://").await.unwrap();
    told(&client).await;
    let tasks = client.tasks().await.unwrap();
    let named = args(json!({"sku": "A1", "order": 7, "rate": 1.0, "qty": 2, "note": null}));
    let by_name = client.enqueue_named(&tasks, "decrement", &named).unwrap().await.unwrap();
    let by_rust = client
        .enqueue(decrement {
            sku: "A1".into(),
            order: 7,
            rate: 1.0,
            qty: 2,
            note: None,
        })
        .await
        .unwrap();
    assert_eq!(by_name.id(), by_rust.id(), "one job: the same unique key, the same arguments");
    client.delete(by_name.id()).await.unwrap();
    let headers = |envelope: linchpin::store::turn::Envelope| envelope.header;
    let mut seen = Vec::new();
    for other in [8, 9] {
        let mut named = named.clone();
        named["order"] = other.into();
        let id = match other {
            8 => client.enqueue_named(&tasks, "decrement", &named).unwrap().await.unwrap().id(),
            _ => {
                let job = decrement {
                    sku: "A1".into(),
                    order: 9,
                    rate: 1.0,
                    qty: 2,
                    note: None,
                };
                client.enqueue(job).await.unwrap().id()
            }
        };
        let mut header = headers(client.job(id).await.unwrap().unwrap().envelope.unwrap());
        header.unique = None;
        seen.push(header);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].locks.len(), 2);
}

#[tokio::test]
async fn what_is_wrong_with_a_job_by_name_is_named() {
    let client = Client::connect("memory://").await.unwrap();
    let empty = client.tasks().await.unwrap();
    let error = client.enqueue_named(&empty, "decrement", &Map::new()).unwrap_err().to_string();
    assert!(error.contains("start one first"), "{error}");
    told(&client).await;
    let tasks = client.tasks().await.unwrap();
    let good = json!({"sku": "A1", "order": 7, "rate": 0.5});
    for (task, change, said) in [
        ("decremnt", json!({}), &["the nearest is `decrement`"][..]),
        (
            "decrement",
            json!({"colour": 1}),
            &["\"colour\"", "no such argument", "sku (string)"],
        ),
        ("decrement", json!({"sku": 5}), &["\"sku\"", "a number is no string"]),
        ("decrement", json!({"order": -5}), &["\"order\"", "a negative number is no uint"]),
        ("decrement", json!({"qty": "two"}), &["\"qty\"", "text is no uint"]),
        ("decrement", json!({"sku": null, "order": "x"}), &["\"sku\"", "\"order\""]),
    ] {
        let mut args = args(good.clone());
        args.extend(change.as_object().unwrap().clone());
        let error = client.enqueue_named(&tasks, task, &args).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)));
        let error = error.to_string();
        assert!(said.iter().all(|part| error.contains(part)), "{error}");
    }
    let error = client
        .enqueue_named(&tasks, "decrement", &args(json!({"sku": "A1"})))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"order\"") && error.contains("\"rate\"") && error.contains("it is missing"),
        "{error}"
    );
    assert_eq!(client.census().await.unwrap().jobs, 0, "nothing was enqueued");
}

#[tokio::test]
async fn an_unchecked_job_gets_its_locks_from_the_worker() {
    let client = Client::connect("memory://").await.unwrap();
    let fields = args(json!({"sku": "A1", "order": 7, "rate": 0.5}));
    let id = client.enqueue_unchecked("decrement", &fields).unwrap().await.unwrap().id();
    let ran = seen();
    let worker = Worker::builder(&client).task::<decrement>().data(ran.clone()).build().unwrap();
    let ended = client.wait(id);
    worker.run(async { assert_eq!(ended.await.unwrap(), End::Done) }).await.unwrap();
    assert_eq!(*ran.lock().unwrap(), ["A1 7 0.5 0 None"]);
    let log = client.attempts(0, 10).await.unwrap();
    assert_eq!(log.last().unwrap().record.lock_keys, "inventory:A1,rate:0.5");
    assert!(client.enqueue_unchecked("no name", &fields).is_err());
}

const FIELDS: &[Field] = &[Field::new("sku", Kind::String), Field::optional("qty", Kind::Int)];

fn defined(ran: Arc<Mutex<Vec<String>>>) -> Registration {
    let job = JobSpec {
        locks: &["inventory:{sku}"],
        ..JobSpec::new("restock", FIELDS)
    };
    let task = TaskSpec {
        retries: 0,
        ..TaskSpec::DEFAULT
    };
    Registration::defined(job, task, move |attempt, args| {
        let ran = ran.clone();
        async move {
            ran.lock().unwrap().push(format!("{} {}", attempt.number(), Value::Object(args)));
            Ok(())
        }
    })
}

#[tokio::test]
async fn a_task_defined_while_the_program_runs_works_like_any_other() {
    let client = Client::connect("memory://").await.unwrap();
    let ran = seen();
    let build = || {
        let worker = Worker::builder(&client).defined(defined(ran.clone()));
        worker.mismatch_window(Duration::ZERO).build().unwrap()
    };
    build().run(std::future::ready(())).await.unwrap();
    let tasks = client.tasks().await.unwrap();
    let good = client
        .enqueue_named(&tasks, "restock", &args(json!({"sku": "A1", "qty": -3})))
        .unwrap();
    let good = good.await.unwrap().id();
    let bad = client
        .enqueue_unchecked("restock", &args(json!({"qty": "x"})))
        .unwrap()
        .await
        .unwrap()
        .id();
    let ends = async { (client.wait(good).await.unwrap(), client.wait(bad).await.unwrap()) };
    build()
        .run(async {
            let (good, bad) = ends.await;
            assert_eq!(good, End::Done);
            assert!(matches!(bad, End::Dead(_)), "{bad:?}");
        })
        .await
        .unwrap();
    assert_eq!(*ran.lock().unwrap(), [r#"1 {"qty":-3,"sku":"A1"}"#]);
    let log = client.attempts(0, 10).await.unwrap();
    let done = log.iter().find(|entry| entry.record.outcome == Outcome::Done).unwrap();
    assert_eq!(done.record.lock_keys, "inventory:A1");
    let reason = format!("{:?}", client.job(bad).await.unwrap().unwrap().state);
    assert!(reason.contains("sku") && reason.contains("missing"), "{reason}");
}

#[tokio::test]
async fn limits_of_a_task_can_be_changed_and_a_wrong_name_is_said() {
    let client = Client::connect("memory://").await.unwrap();
    let worker = Worker::builder(&client).task::<decrement>().data(seen());
    worker
        .limits("decrement", |limits| limits.retries = 9)
        .build()
        .unwrap()
        .run(std::future::ready(()))
        .await
        .unwrap();
    assert_eq!(client.tasks().await.unwrap().get("decrement").unwrap().retries, 9);
    let worker = Worker::builder(&client).task::<decrement>().data(seen());
    let error = worker.limits("decremnt", |_| ()).build().unwrap_err().to_string();
    assert!(error.contains("nearest is `decrement`"), "{error}");
}
