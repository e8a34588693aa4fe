//! Bad input is refused whole, before anything is sent, with a value that says what is wrong and what to do next.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use linchpin::job::{Field, JobSpec, Kind};
use linchpin::limits::{CRASH_LIMIT, DELAY_MAX, LOCK_KEYS_MAX, PAYLOAD_MAX_BYTES};
use linchpin::names::Namespace;
use linchpin::store::new_job::{OnBusy, Priority};
use linchpin::{Client, Error, Invalid, Job};
use serde::Serialize;

/// A job that can be wrong in every way that a hand-written one can.
#[derive(Serialize, Default, Clone)]
struct Odd {
    text: String,
    #[serde(skip)]
    locks: Vec<String>,
    #[serde(skip)]
    unique: Option<String>,
}

const SPEC: JobSpec = JobSpec {
    name: "odd",
    fields: &[Field::new("text", Kind::String)],
    queue: "default",
    priority: Priority::Normal,
    locks: &["{text}"],
    on_busy: OnBusy::Wait,
    wait_timeout: None,
    unique: None,
    unique_for: None,
    expires_in: None,
    crash_limit: CRASH_LIMIT,
};

impl Job for Odd {
    const SPEC: &'static JobSpec = &SPEC;

    fn lock_keys(&self) -> Vec<String> {
        self.locks.clone()
    }

    fn unique_key(&self) -> Option<String> {
        self.unique.clone()
    }
}

async fn client() -> Client {
    Client::connect("memory://").await.expect("the embedded store opens")
}

fn problems(error: Error) -> Vec<Invalid> {
    match error {
        Error::Invalid(problems) => problems,
        other => panic!("not about the input: {other}"),
    }
}

/// What is wrong with `job`, after making sure that nothing of it was kept.
async fn refused(job: Odd) -> Vec<Invalid> {
    let client = client().await;
    let problems = problems(client.enqueue(job).await.expect_err("bad input"));
    assert_eq!(client.census().await.expect("a census").jobs, 0);
    problems
}

#[tokio::test]
async fn a_bad_url_names_the_schemes_and_never_the_password() {
    for url in [
        "",
        "hunter2",
        "localhost:6379",
        "http://u:hunter2@h/",
        "redis:hunter2@h",
        "memory://hunter2",
        "REDIS://:hunter2@h",
    ] {
        let error = Client::connect(url).await.expect_err(url);
        let shown = format!("{error} {error:?} {:?}", Client::builder(url));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(problems(error)[0].allowed.contains("memory://"), "{shown}");
    }
}

#[tokio::test]
async fn a_bad_url_and_a_bad_namespace_are_reported_together() {
    let error = Client::builder("ftp://h")
        .namespace("a b")
        .connect()
        .await
        .expect_err("both are bad");
    let what: Vec<_> = problems(error).iter().map(|problem| problem.what).collect();
    assert_eq!(what, ["namespace", "store"]);
    assert!(Namespace::new("{x}").is_err(), "a brace would end the hash tag");
}

#[tokio::test]
async fn a_payload_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let overhead = r#"{"text":""}"#.len();
    let fits = Odd {
        text: "x".repeat(PAYLOAD_MAX_BYTES - overhead),
        ..Odd::default()
    };
    client().await.enqueue(fits.clone()).await.expect("it fits");
    let problems = refused(Odd {
        text: fits.text + "x",
        ..Odd::default()
    })
    .await;
    assert_eq!((problems[0].what, problems[0].value.as_str()), ("payload", "65537 bytes"));
    assert!(problems[0].allowed.contains("elsewhere"));
}

#[tokio::test]
async fn everything_wrong_with_a_job_is_reported_at_once() {
    let odd = Odd {
        text: "x".repeat(70_000),
        locks: vec!["".into(), "x".repeat(513)],
        unique: Some(String::new()),
    };
    let client = client().await;
    let enqueue = client
        .enqueue(odd)
        .queue("no such queue!")
        .timeout(Duration::ZERO)
        .delay(DELAY_MAX + Duration::from_secs(1));
    let problems = problems(enqueue.await.expect_err("bad input"));
    let what: Vec<_> = problems.iter().map(|problem| problem.what).collect();
    assert_eq!(
        what,
        ["delay", "timeout", "queue name", "lock key", "lock key", "unique key", "payload"]
    );
}

#[tokio::test]
async fn lock_keys_are_bounded_in_number_after_doubles_are_dropped() {
    let keys = |count: usize| (0..count).map(|i| format!("k{i}")).collect::<Vec<_>>();
    let mut doubled = keys(LOCK_KEYS_MAX);
    doubled.extend(keys(LOCK_KEYS_MAX));
    client()
        .await
        .enqueue(Odd {
            locks: doubled,
            ..Odd::default()
        })
        .await
        .expect("eight different keys");
    let problems = refused(Odd {
        locks: keys(LOCK_KEYS_MAX + 1),
        ..Odd::default()
    })
    .await;
    assert_eq!(problems[0].what, "number of lock keys");
}

#[tokio::test]
async fn a_unique_time_needs_a_unique_key() {
    let error = client()
        .await
        .enqueue(Odd::default())
        .unique_for(Duration::from_secs(1))
        .await
        .expect_err("no key");
    assert_eq!(problems(error)[0].what, "unique_for");
}

macro_rules! job {
    ($type:ident, $name:literal) => {
        impl Job for $type {
            const SPEC: &'static JobSpec = &JobSpec { name: $name, ..SPEC };

            fn lock_keys(&self) -> Vec<String> {
                vec![]
            }

            fn unique_key(&self) -> Option<String> {
                None
            }
        }
    };
}

#[derive(Serialize)]
struct Bare(u32);
job!(Bare, "bare");

#[derive(Serialize)]
struct Unwritable {
    map: BTreeMap<(u8, u8), u8>,
}
job!(Unwritable, "unwritable");

#[derive(Serialize)]
struct Deep {
    value: serde_json::Value,
}
job!(Deep, "deep");

#[derive(Serialize)]
struct Misnamed {}
job!(Misnamed, "mis named");

#[tokio::test]
async fn arguments_are_one_json_object_that_a_worker_can_read() {
    let client = client().await;
    let map = BTreeMap::from([((1, 2), 3)]);
    let deep = (0..200).fold(serde_json::Value::Null, |inner, _| vec![inner].into());
    assert_eq!(problems(client.enqueue(Bare(1)).await.expect_err("no object"))[0].what, "arguments");
    assert_eq!(
        problems(client.enqueue(Unwritable { map }).await.expect_err("no JSON"))[0].what,
        "arguments"
    );
    let depth = &problems(client.enqueue(Deep { value: deep }).await.expect_err("too deep"))[0];
    assert_eq!((depth.what, depth.value.as_str()), ("payload", "201 levels deep"));
    assert_eq!(
        problems(client.enqueue(Misnamed {}).await.expect_err("a blank"))[0].what,
        "task name"
    );
}

#[tokio::test]
async fn names_with_other_characters_cannot_leave_their_key() {
    let client = client().await;
    for name in ["", "a b", "a:b", "a|b", "{a}", "é", "a\n", &"x".repeat(65)] {
        assert_eq!(problems(client.pause(name).await.expect_err(name))[0].what, "queue name");
        assert_eq!(
            problems(client.enqueue(Odd::default()).queue(name).await.expect_err(name))[0].what,
            "queue name"
        );
    }
    assert_eq!(problems(client.job_by_key("").await.expect_err("empty"))[0].what, "unique key");
    assert_eq!(client.census().await.expect("a census").jobs, 0);
}

#[cfg(feature = "macros")]
mod worker {
    use std::time::Duration;

    use linchpin::limits::{CONCURRENCY_MAX, LEASE_MIN, QUEUES_MAX};
    use linchpin::{Data, TaskResult, Worker, task};

    use super::{client, problems};

    struct Shelf;

    #[task]
    async fn sort(shelf: Data<Shelf>) -> TaskResult {
        let _ = shelf;
        Ok(())
    }

    #[task(also = ["sort"])]
    async fn tidy() -> TaskResult {
        Ok(())
    }

    #[tokio::test]
    async fn a_worker_without_a_task_is_refused() {
        let client = client().await;
        let problems = problems(Worker::builder(&client).build().map(drop).expect_err("no task"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].allowed.contains("task"), "{problems:?}");
    }

    #[tokio::test]
    async fn everything_wrong_with_a_worker_is_reported_at_once() {
        let client = client().await;
        let mut builder = Worker::builder(&client).task::<sort>().task::<tidy>();
        builder = builder
            .lease(LEASE_MIN - Duration::from_millis(1))
            .concurrency(CONCURRENCY_MAX + 1)
            .queue("a b");
        let problems = problems(builder.build().map(drop).expect_err("nothing is right"));
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        for wanted in ["queue name", "task name", "Shelf", "lease", "concurrency"] {
            assert!(said.iter().any(|problem| problem.contains(wanted)), "{wanted}: {said:#?}");
        }
        assert_eq!(said.len(), 5, "{said:#?}");
    }

    #[tokio::test]
    async fn a_worker_serves_each_queue_once_and_a_bounded_number_of_them() {
        let client = client().await;
        let twice = Worker::builder(&client).task::<tidy>().queue("a").queue("a");
        assert_eq!(problems(twice.build().map(drop).expect_err("twice"))[0].value, "a");
        let many = (0..=QUEUES_MAX).fold(Worker::builder(&client).task::<tidy>(), |builder, i| builder.queue(format!("q{i}")));
        assert_eq!(problems(many.build().map(drop).expect_err("too many"))[0].what, "queues");
    }
}

#[cfg(feature = "redis")]
mod server {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use linchpin::{Client, Error};

    use super::support::{RedisServer, within};

    /// The error of connecting, as shown to people in every way.
    async fn refused(url: &str) -> (Error, String) {
        let error = within("an answer", Client::connect(url))
            .await
            .expect_err("this server cannot be used");
        let mut shown = format!("{error} {error:?}");
        let mut cause = std::error::Error::source(&error);
        while let Some(source) = cause {
            shown += &format!(" {source} {source:?}");
            cause = source.source();
        }
        (error, shown)
    }

    #[tokio::test]
    async fn a_wrong_password_is_refused_and_never_shown() {
        let server = RedisServer::options().tcp().password("s3cret-right").start();
        let port = server.port();
        for url in [
            format!("redis://:s3cret-wrong@127.0.0.1:{port}/"),
            format!("redis://someone:s3cret-wrong@127.0.0.1:{port}/"),
            format!("redis+unix://{}?pass=s3cret-wrong", server.socket().display()),
        ] {
            let (error, shown) = refused(&url).await;
            assert!(
                matches!(&error, Error::Refused { code, .. } if code == "WRONGPASS") && !error.is_transient(),
                "{shown}"
            );
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        let (error, shown) = refused(&format!("redis://127.0.0.1:{port}/")).await;
        assert!(
            matches!(&error, Error::Refused { code, .. } if code == "NOAUTH") && !error.is_transient(),
            "{shown}"
        );
        let right = Client::connect(&server.url()).await.expect("the right one");
        assert!(!format!("{right:?} {}", right.store().describe()).contains("s3cret"));
    }

    #[tokio::test]
    async fn nobody_at_the_address_is_unreachable_and_says_where() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        for url in [
            format!("redis://:s3cret@127.0.0.1:{port}/"),
            "unix:///no/such/socket?pass=s3cret".into(),
        ] {
            let (error, shown) = refused(&url).await;
            assert!(matches!(&error, Error::Unreachable { .. }) && error.is_transient(), "{shown}");
            assert!(shown.contains(&port.to_string()) || shown.contains("/no/such/socket"), "{shown}");
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_too_old_is_refused_with_what_is_needed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let old = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            let mut bytes = [0; 4096];
            loop {
                let len = stream.read(&mut bytes)?;
                let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
                for command in text.split('*').skip(1) {
                    let info = command.contains("INFO\r\n$");
                    stream.write_all(if info { b"$19\r\nredis_version:6.0.9\r\n" } else { b"+OK\r\n" })?;
                }
                if len == 0 {
                    return std::io::Result::Ok(());
                }
            }
        });
        let (error, shown) = refused(&format!("redis://127.0.0.1:{port}/")).await;
        assert!(matches!(&error, Error::Refused { code, .. } if code == "version"), "{shown}");
        assert!(shown.contains("6.0.9") && shown.contains("6.2"), "{shown}");
        drop(old);
    }

    #[tokio::test]
    async fn an_url_that_redis_cannot_understand_is_invalid_and_shows_no_secret() {
        for url in ["redis://:s3cret@host:notaport/", "redis://:s3cret@/", "redis://:s3cret@host/notadb"] {
            let (error, shown) = refused(url).await;
            assert!(matches!(&error, Error::Invalid(_)), "{url}: {shown}");
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }
}
