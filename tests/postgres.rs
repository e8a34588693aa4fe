//! `once` on a real PostgreSQL: each job's work is committed once, whoever comes late.
#![cfg(all(feature = "postgres", feature = "macros", feature = "redis"))]

mod support;

use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use linchpin::postgres::{self, Once, Pruned, once, once_step};
use linchpin::worker::Summary;
use linchpin::{Attempt, Client, Data, Error, Job, TaskError, TaskResult, Worker, task};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres, Transaction};
use support::{PostgresServer, RedisServer, within};
use tokio::sync::{mpsc, oneshot};

/// Longer than any process is paused, for these tests.
const OLD: Duration = Duration::from_secs(7200);

fn server() -> &'static PostgresServer {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    SERVER.get_or_init(PostgresServer::start)
}

/// A schema of a test's own, empty.
async fn schema(name: &str) -> PgPool {
    let options = PgConnectOptions::from_str(server().url()).expect("our own URL");
    let options = options.options([("search_path", name)]);
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .connect_with(options)
        .await
        .expect("our own server");
    sqlx::raw_sql(&format!("CREATE SCHEMA {name}"))
        .execute(&pool)
        .await
        .expect("a new schema");
    pool
}

/// A schema of a test's own with the tables, and one more for work.
async fn database(name: &str) -> PgPool {
    let pool = schema(name).await;
    postgres::migrate(&pool).await.expect("tables");
    sqlx::raw_sql("CREATE TABLE work (what text)")
        .execute(&pool)
        .await
        .expect("a table");
    pool
}

async fn count(pool: &PgPool, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    sqlx::query_scalar(&sql).fetch_one(pool).await.expect(&sql)
}

async fn work(tx: &mut Transaction<'_, Postgres>, what: &str) {
    let done = sqlx::query("INSERT INTO work VALUES ($1)").bind(what).execute(&mut **tx).await;
    done.expect("our own table");
}

async fn execute(pool: &PgPool, sql: &str) {
    sqlx::raw_sql(sql).execute(pool).await.expect(sql);
}

/// Where attempts report for work, and wait to be told how they end.
#[derive(Clone)]
struct Desk(mpsc::UnboundedSender<Arrival>);

struct Arrival {
    attempt: Attempt,
    end: oneshot::Sender<TaskResult>,
}

#[task(lock = ["account:{one}", "account:{other}"], retries = 3)]
async fn puppet(attempt: Attempt, desk: Data<Desk>, one: String, other: String) -> TaskResult {
    let (end, ended) = oneshot::channel();
    let _ = (one, other, desk.0.send(Arrival { attempt, end }));
    ended.await?
}

fn job(one: &str, other: &str) -> puppet {
    puppet {
        one: one.into(),
        other: other.into(),
    }
}

/// A worker whose attempts come here.
struct Stage {
    client: Client,
    arrivals: mpsc::UnboundedReceiver<Arrival>,
    stop: Option<oneshot::Sender<()>>,
    running: tokio::task::JoinHandle<Result<Summary, Error>>,
}

impl Stage {
    async fn on(store: &str, namespace: &str) -> Self {
        let client = Client::builder(store).namespace(namespace).connect().await.expect("a store");
        let (desk, arrivals) = mpsc::unbounded_channel();
        let worker = Worker::builder(&client)
            .task::<puppet>()
            .data(Desk(desk))
            .build()
            .expect("a worker");
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move { worker.run(async move { drop(stopped.await) }).await });
        Self {
            client,
            arrivals,
            stop: Some(stop),
            running,
        }
    }

    async fn memory() -> Self {
        Self::on("memory://", "postgres").await
    }

    async fn attempt(&mut self) -> Arrival {
        within("an attempt", self.arrivals.recv()).await.expect("a worker that runs")
    }

    async fn start(&mut self, job: impl Job) -> Arrival {
        self.client.enqueue(job).await.expect("enqueued");
        self.attempt().await
    }

    async fn end(mut self) {
        drop(self.stop.take());
        let ended = within("the worker", self.running).await.expect("no panic");
        ended.expect("a worker that ends well");
    }
}

fn again() -> TaskResult {
    Err(TaskError::retry_in(
        Duration::from_millis(1),
        "committed, and then something failed",
    ))
}

#[tokio::test]
async fn what_an_attempt_committed_is_not_done_by_the_next() {
    let pool = database("committed").await;
    let mut stage = Stage::memory().await;
    let mut arrival = stage.start(job("a", "b")).await;
    let mut found = Vec::new();
    for last in [false, false, true] {
        let mut tx = pool.begin().await.unwrap();
        let once = once(&mut tx, &arrival.attempt).await.unwrap();
        if once == Once::First {
            work(&mut tx, "transfer").await;
        }
        tx.commit().await.unwrap();
        found.push((arrival.attempt.number(), once));
        arrival.end.send(if last { Ok(()) } else { again() }).unwrap();
        if last {
            break;
        }
        arrival = stage.attempt().await;
    }
    stage.end().await;
    assert_eq!(found, [(1, Once::First), (2, Once::Already), (3, Once::Already)]);
    assert_eq!(count(&pool, "work").await, 1);
}

#[tokio::test]
async fn what_was_rolled_back_is_done_by_the_next() {
    let pool = database("rolled_back").await;
    let mut stage = Stage::memory().await;
    let arrival = stage.start(job("a", "b")).await;
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(once(&mut tx, &arrival.attempt).await.unwrap(), Once::First);
    work(&mut tx, "transfer").await;
    drop(tx);
    arrival.end.send(again()).unwrap();
    let arrival = stage.attempt().await;
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(once(&mut tx, &arrival.attempt).await.unwrap(), Once::First);
    tx.rollback().await.unwrap();
    arrival.end.send(Ok(())).unwrap();
    stage.end().await;
    for table in ["work", "linchpin_once", "linchpin_fences"] {
        assert_eq!(count(&pool, table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn two_attempts_at_once_wait_for_each_other() {
    let pool = database("at_once").await;
    for (commit, expected) in [(true, Once::Already), (false, Once::First)] {
        let attempt = Attempt::test();
        let mut first = pool.begin().await.unwrap();
        assert_eq!(once(&mut first, &attempt).await.unwrap(), Once::First);
        let (other, of) = (pool.clone(), attempt.clone());
        let mut second = tokio::spawn(async move {
            let mut tx = other.begin().await.unwrap();
            let once = once(&mut tx, &of).await.unwrap();
            tx.commit().await.unwrap();
            once
        });
        let early = tokio::time::timeout(Duration::from_millis(300), &mut second).await;
        assert!(early.is_err(), "the second does not know yet: {early:?}");
        if commit {
            first.commit().await.unwrap();
        } else {
            first.rollback().await.unwrap();
        }
        assert_eq!(within("the second", second).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn an_attempt_whose_lock_was_taken_after_it_is_refused() {
    let pool = database("taken").await;
    let redis = RedisServer::start();
    let mut stage = Stage::on(&redis.url(), "shop").await;
    let late = stage.start(job("a", "b")).await;
    // nobody has told the first attempt yet
    for key in ["{shop}:lock:account:a", "{shop}:lock:account:b"] {
        assert_eq!(redis.command(&["DEL", key]).unwrap(), ":1\r\n", "{key}");
    }
    let later = stage.start(job("b", "c")).await;
    assert!(later.attempt.fence() > late.attempt.fence());

    let mut tx = pool.begin().await.unwrap();
    assert_eq!(once(&mut tx, &later.attempt).await.unwrap(), Once::First);
    work(&mut tx, "later").await;
    let asked = {
        let (pool, attempt) = (pool.clone(), late.attempt.clone());
        tokio::spawn(async move { once(&mut pool.begin().await.unwrap(), &attempt).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    tx.commit().await.unwrap();
    let refused = within("the late attempt", asked).await.unwrap().unwrap_err();
    assert!(
        matches!(&refused, Error::Lost { action } if action.contains("`account:b`")),
        "{refused}"
    );
    assert!(!late.attempt.is_cancelled(), "the fence refused it, not the renewal");
    assert_eq!(
        (count(&pool, "linchpin_once").await, count(&pool, "linchpin_fences").await),
        (1, 2),
        "nothing of the late one stays"
    );
    drop(late.end.send(Ok(())));
    later.end.send(Ok(())).unwrap();
    // the job whose settle was refused comes again and finds nothing done
    let again = stage.attempt().await;
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(once(&mut tx, &again.attempt).await.unwrap(), Once::First);
    work(&mut tx, "late").await;
    tx.commit().await.unwrap();
    again.end.send(Ok(())).unwrap();
    stage.end().await;
    assert_eq!(count(&pool, "work").await, 2);
}

#[tokio::test]
async fn a_nested_lock_counts_with_its_own_fence() {
    let pool = database("nested").await;
    let mut stage = Stage::memory().await;
    let arrival = stage.start(job("b", "a")).await;
    let held = arrival.attempt.lock("audit, all of it").await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(once(&mut tx, &arrival.attempt).await.unwrap(), Once::First);
    tx.commit().await.unwrap();
    let fences: Vec<(String, i64)> =
        sqlx::query_as("SELECT lock, fence FROM linchpin_fences WHERE namespace = 'memory' ORDER BY fence, lock")
            .fetch_all(&pool)
            .await
            .unwrap();
    let (own, nested) = (arrival.attempt.fence().0 as i64, held.fence().0 as i64);
    let expected = [("account:a", own), ("account:b", own), ("audit%2C all of it", nested)];
    assert_eq!(fences, expected.map(|(lock, fence)| (lock.to_owned(), fence)));

    execute(&pool, "UPDATE linchpin_fences SET fence = fence + 1 WHERE lock LIKE 'audit%'").await;
    let refused = once(&mut pool.begin().await.unwrap(), &arrival.attempt).await;
    assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
    held.release().await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(
        once(&mut tx, &arrival.attempt).await.unwrap(),
        Once::Already,
        "what it holds no more does not count"
    );
    drop(tx);
    arrival.end.send(Ok(())).unwrap();
    stage.end().await;
}

#[tokio::test]
async fn who_commits_after_a_refusal_has_noted_nothing() {
    let pool = database("refusal").await;
    let mut stage = Stage::memory().await;
    let arrival = stage.start(job("a", "b")).await;
    execute(
        &pool,
        "INSERT INTO linchpin_fences VALUES ('memory', 'account:b', 9223372036854775807, now())",
    )
    .await;
    let mut tx = pool.begin().await.unwrap();
    let refused = once(&mut tx, &arrival.attempt).await;
    assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
    tx.commit().await.unwrap();
    assert_eq!(count(&pool, "linchpin_once").await, 0);
    arrival.end.send(Ok(())).unwrap();
    stage.end().await;
}

#[tokio::test]
async fn an_attempt_without_its_lease_is_not_asked_about() {
    let pool = database("lapsed").await;
    let redis = RedisServer::start();
    let client = Client::builder(&redis.url()).connect().await.unwrap();
    let (desk, mut arrivals) = mpsc::unbounded_channel();
    let worker = Worker::builder(&client)
        .lease(Duration::from_secs(1))
        .task::<puppet>()
        .data(Desk(desk))
        .build()
        .unwrap();
    let running = tokio::spawn(worker.run(std::future::pending::<()>()));
    client.enqueue(job("a", "b")).await.unwrap();
    let arrival = within("an attempt", arrivals.recv()).await.unwrap();
    redis.pause();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let refused = once(&mut pool.begin().await.unwrap(), &arrival.attempt).await;
    assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
    redis.cont();
    running.abort();
}

#[tokio::test]
async fn each_step_is_done_once() {
    let pool = database("steps").await;
    let attempt = Attempt::test();
    for expected in [Once::First, Once::Already] {
        for step in ["debit", "credit", &"é".repeat(32)] {
            let mut tx = pool.begin().await.unwrap();
            assert_eq!(once_step(&mut tx, &attempt, step).await.unwrap(), expected, "{step}");
            tx.commit().await.unwrap();
        }
        let mut tx = pool.begin().await.unwrap();
        assert_eq!(once(&mut tx, &attempt).await.unwrap(), expected, "the whole is no step");
        tx.commit().await.unwrap();
    }
    let mut tx = pool.begin().await.unwrap();
    for step in ["", "a\0b", &"é".repeat(33)] {
        let refused = once_step(&mut tx, &attempt, step).await.unwrap_err();
        assert!(refused.to_string().contains("1 to 64 bytes"), "{refused}");
    }
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let pool = schema("missing").await;
    let attempt = Attempt::test();
    let error = once(&mut pool.begin().await.unwrap(), &attempt).await.unwrap_err();
    assert!(
        error.to_string().contains("42P01") && error.to_string().contains("linchpin::postgres::migrate"),
        "{error}"
    );
    assert!(!error.is_transient());

    postgres::migrate(&pool).await.unwrap();
    execute(&pool, "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA missing TO clerk").await;
    let mut tx = pool.begin().await.unwrap();
    sqlx::raw_sql("SET LOCAL ROLE clerk").execute(&mut *tx).await.unwrap();
    let error = once(&mut tx, &attempt).await.unwrap_err();
    assert!(
        error.to_string().contains("42501") && error.to_string().contains("grant the user"),
        "{error}"
    );
    drop(tx);

    let nowhere = PgConnectOptions::from_str("postgres:///postgres?host=/nonexistent&user=x").unwrap();
    let nowhere = PgPoolOptions::new().connect_lazy_with(nowhere);
    let error = postgres::migrate(&nowhere).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_transient(), "{error}");
}

#[tokio::test]
async fn under_repeatable_read_who_waited_may_try_again() {
    let pool = database("isolation").await;
    let attempt = Attempt::test();
    let begin = async || pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let mut first = begin().await;
    let mut second = begin().await;
    // what a transaction sees is fixed by its first statement
    for tx in [&mut first, &mut second] {
        sqlx::raw_sql("SELECT 1").execute(&mut **tx).await.unwrap();
    }
    assert_eq!(once(&mut first, &attempt).await.unwrap(), Once::First);
    first.commit().await.unwrap();
    let error = once(&mut second, &attempt).await.unwrap_err();
    assert!(
        matches!(&error, Error::Refused { code, .. } if code == "40001") && error.is_transient(),
        "{error}"
    );
    drop(second);
    assert_eq!(once(&mut begin().await, &attempt).await.unwrap(), Once::Already);
}

#[tokio::test]
async fn many_may_make_the_tables_at_once_and_again() {
    let pool = schema("migrations").await;
    let all = (0..10).map(|_| postgres::migrate(&pool));
    for made in futures::future::join_all(all).await {
        made.unwrap();
    }
    // inside a transaction that its caller began
    let mut tx = pool.begin().await.unwrap();
    postgres::migrate(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(count(&pool, "linchpin_once").await + count(&pool, "linchpin_fences").await, 0);
}

#[tokio::test]
async fn jobs_of_another_namespace_do_not_count() {
    let pool = database("namespaces").await;
    let redis = RedisServer::start();
    let (mut shop, mut bank) = (Stage::on(&redis.url(), "shop").await, Stage::on(&redis.url(), "bank").await);
    let (in_shop, in_bank) = (shop.start(job("a", "b")).await, bank.start(job("a", "b")).await);
    for arrival in [in_bank, in_shop] {
        let mut tx = pool.begin().await.unwrap();
        assert_eq!(
            once(&mut tx, &arrival.attempt).await.unwrap(),
            Once::First,
            "a greater fence elsewhere is no later owner"
        );
        tx.commit().await.unwrap();
        arrival.end.send(Ok(())).unwrap();
    }
    shop.end().await;
    bank.end().await;
}

#[tokio::test]
async fn only_what_no_attempt_can_ask_about_is_pruned() {
    let pool = database("pruning").await;
    let mut stage = Stage::memory().await;
    let client = stage.client.clone();
    let (done, kept) = (stage.start(job("a", "b")).await, stage.start(job("c", "d")).await);
    for arrival in [&done, &kept] {
        for step in ["one", "two"] {
            let mut tx = pool.begin().await.unwrap();
            assert_eq!(once_step(&mut tx, &arrival.attempt, step).await.unwrap(), Once::First);
            tx.commit().await.unwrap();
        }
    }
    let id = done.attempt.job_id();
    drop(done.attempt);
    done.end.send(Ok(())).unwrap();
    within("its end", client.wait(id)).await.unwrap();

    let pruned = postgres::prune(&pool, &client, OLD).await.unwrap();
    assert_eq!(pruned, Pruned::default(), "nothing is old yet");
    // more than two batches, all of the same instant, of jobs that nobody knows; and those of another namespace
    execute(
        &pool,
        "INSERT INTO linchpin_once SELECT namespace, 'gone' || number, '', 1, now()
             FROM generate_series(1, 2500) AS number, unnest(ARRAY['memory', 'other']) AS namespace;
         INSERT INTO linchpin_fences SELECT namespace, 'gone' || number, 1, now()
             FROM generate_series(1, 2500) AS number, unnest(ARRAY['memory', 'other']) AS namespace;
         UPDATE linchpin_once SET at = at - interval '3 hours';
         UPDATE linchpin_fences SET at = at - interval '3 hours'",
    )
    .await;
    // a transaction that is about to raise a fence keeps it
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(once_step(&mut tx, &kept.attempt, "three").await.unwrap(), Once::First);
    let pruned = within("pruning", postgres::prune(&pool, &client, OLD)).await.unwrap();
    assert_eq!(pruned, Pruned { noted: 2502, fences: 2502 });
    tx.commit().await.unwrap();
    for step in ["one", "two", "three"] {
        let mut tx = pool.begin().await.unwrap();
        assert_eq!(once_step(&mut tx, &kept.attempt, step).await.unwrap(), Once::Already, "{step}");
    }
    assert_eq!(count(&pool, "linchpin_once WHERE namespace = 'other'").await, 2500);
    assert_eq!(count(&pool, "linchpin_fences WHERE namespace = 'other'").await, 2500);

    let refused = postgres::prune(&pool, &client, Duration::from_secs(3599)).await.unwrap_err();
    assert!(refused.to_string().contains("an hour or more"), "{refused}");
    kept.end.send(Ok(())).unwrap();
    stage.end().await;
}
