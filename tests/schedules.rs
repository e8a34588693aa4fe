//! Schedules on workers, on both engines: each tick once, whoever fires it.
//!
//! What broke others, and the test that it does not happen here (without a path: below):
//! - a job for each replica: `each_tick_fires_once_whichever_worker_fires_it`
//! - a leader told by its hostname, one that goes on believing, a tick lost when the lead changes hands: nobody leads, and
//!   `tests/cluster/schedules.rs` kills replicas whose clocks differ, freezes and restarts the server
//! - more than 100 missed ticks and never again: `after_more_missed_ticks_than_anybody_counts_it_goes_on` (`src/schedule/row/tests.rs`)
//! - an edit that fires at once, a restart that counts anew: `an_edited_schedule_counts_from_now_and_a_restart_keeps_its_place`
//! - a chain in which each run starts the next, until one is lost: `jobs_that_fail_or_are_deleted_end_no_schedule`
//! - a run by hand that cancels the next tick: `a_run_by_hand_leaves_the_next_tick_alone`
//! - a replica without schedules that wipes everybody's: `a_schedule_of_run_time_is_fired_by_workers_that_never_heard_of_it`
//! - a zone kept as an offset: `a_zone_is_its_rules_and_no_offset`; 02:30 lost or doubled when the clock changes: `every_vector_holds` and
//!   `the_library_agrees_with_a_simulator_around_every_change`; a date that never comes: `a_date_that_never_comes_is_refused_and_does_not_loop`;
//!   Sunday as 0, 1 or 7: `sunday_is_0_and_7_and_has_two_names` (all in `tests/cron`)
#![cfg(all(feature = "redis", feature = "macros"))]
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linchpin::attempt::TickOf;
use linchpin::client::{Defined, RunAnswer};
use linchpin::schedule::{Fate, Overlap, Schedule};
use linchpin::store::schedules::{ScheduleStep, StepAnswer};
use linchpin::{Attempt, Client, Data, Error, TaskResult, Worker, task};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

mod support;

use support::{RedisServer, within};

/// The ticks that were seen, and how often each.
#[derive(Default)]
struct Seen(Mutex<BTreeMap<i64, Vec<TickOf>>>);

impl Seen {
    fn ticks(&self) -> BTreeMap<i64, Vec<TickOf>> {
        self.0.lock().expect("no panic").clone()
    }
}

#[task]
async fn report(attempt: Attempt, seen: Data<Arc<Seen>>, shop: String) -> TaskResult {
    let tick = attempt.tick().cloned();
    if let Some(tick) = tick {
        let mut ticks = seen.0.lock().expect("no panic");
        ticks.entry(tick.at.timestamp()).or_default().push(tick);
    }
    assert_eq!(shop, "north");
    Ok(())
}

fn job() -> report {
    report { shop: "north".into() }
}

#[task(every = "1s")]
async fn pulse(attempt: Attempt, seen: Data<Arc<Seen>>) -> TaskResult {
    let tick = attempt.tick().cloned().expect("a tick");
    let mut ticks = seen.0.lock().expect("no panic");
    ticks.entry(tick.at.timestamp()).or_default().push(tick);
    Ok(())
}

#[task(cron = "30 2 * * mon-fri", tz = "Europe/Berln")]
async fn nightly() -> TaskResult {
    Ok(())
}

struct Crew {
    stop: Vec<oneshot::Sender<()>>,
    running: Vec<JoinHandle<Result<linchpin::worker::Summary, Error>>>,
}

impl Crew {
    fn start(clients: &[Client], seen: &Arc<Seen>, schedules: &[Schedule]) -> Self {
        let mut crew = Self {
            stop: Vec::new(),
            running: Vec::new(),
        };
        for client in clients {
            let mut worker = Worker::builder(client).task::<report>().data(seen.clone());
            for schedule in schedules {
                worker = worker.schedule(schedule.clone());
            }
            let (stop, stopped) = oneshot::channel::<()>();
            let worker = worker.build().expect("a worker");
            crew.stop.push(stop);
            crew.running.push(tokio::spawn(worker.run(async { drop(stopped.await) })));
        }
        crew
    }

    async fn stop(self) {
        drop(self.stop);
        for running in self.running {
            within("a worker", running).await.expect("no panic").expect("no error");
        }
    }
}

async fn until(what: &str, happened: impl AsyncFn() -> bool) {
    let waiting = async {
        while !happened().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(what, waiting).await;
}

macro_rules! on_every_engine {
    ($($fact:ident),* $(,)?) => {
        mod memory {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $fact() {
                    let client = linchpin::Client::connect("memory://").await.expect("the embedded store");
                    super::$fact([client.clone(), linchpin::Client::on(client.store().clone())]).await;
                }
            )*
        }
        mod redis {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $fact() {
                    let server = super::RedisServer::start();
                    let client = async || linchpin::Client::connect(&server.url()).await.expect("our own server");
                    super::$fact([client().await, client().await]).await;
                }
            )*
        }
    };
}

async fn each_tick_fires_once_whichever_worker_fires_it(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let schedule = Schedule::every("pulse", "1s").job(job()).overlap(Overlap::Allow);
    let crew = Crew::start(&clients, &seen, &[schedule]);
    until("five ticks", async || seen.ticks().len() >= 5).await;
    crew.stop().await;
    let ticks = seen.ticks();
    let first = *ticks.keys().next().expect("a tick");
    for (i, (at, fired)) in ticks.iter().enumerate() {
        assert_eq!((*at, fired.len()), (first + i as i64, 1), "{ticks:?}");
        assert_eq!((fired[0].schedule.as_str(), fired[0].missed), ("pulse", 0));
        assert_eq!(fired[0].nominal, fired[0].at.naive_utc());
    }
    let view = clients[0].schedule_view("pulse").await.expect("a read").expect("there");
    assert!(
        view.counts.fired >= 5 && view.past.iter().all(|outcome| outcome.late_ms < 1000),
        "{view:?}"
    );
}

async fn a_schedule_of_run_time_is_fired_by_workers_that_never_heard_of_it(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let crew = Crew::start(&clients[..1], &seen, &[]);
    until("the task", async || {
        clients[1].tasks().await.expect("a read").get("report").is_some()
    })
    .await;
    let unknown = Schedule::every("pulse", "1s").task("reprt", serde_json::Map::new());
    let error = clients[1].schedule(unknown).await.expect_err("no such task").to_string();
    assert!(error.contains("the nearest is `report`"), "{error}");
    let args = serde_json::Map::from_iter([("shop".to_owned(), "north".into())]);
    let schedule = Schedule::every("pulse", "1s").task("report", args);
    assert_eq!(clients[1].schedule(schedule.clone()).await.expect("defined"), Defined::New);
    assert_eq!(clients[1].schedule(schedule).await.expect("defined"), Defined::Same);
    until("two ticks", async || seen.ticks().len() >= 2).await;
    assert!(clients[1].delete_schedule("pulse").await.expect("an answer"));
    assert!(!clients[1].delete_schedule("pulse").await.expect("an answer"));
    crew.stop().await;
    assert!(clients[0].schedules().await.expect("a read").is_empty());
}

async fn a_paused_schedule_records_its_ticks_and_goes_on_when_resumed(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let schedule = Schedule::every("pulse", "1s").job(job());
    let crew = Crew::start(&clients[..1], &seen, std::slice::from_ref(&schedule));
    until("a tick", async || !seen.ticks().is_empty()).await;
    assert!(clients[1].pause_schedule("pulse").await.expect("an answer"));
    let view = async || clients[1].schedule_view("pulse").await.expect("a read").expect("there");
    until("a tick that is skipped", async || view().await.counts.paused >= 1).await;
    crew.stop().await;
    // a deploy leaves it paused
    let crew = Crew::start(&clients[..1], &seen, &[schedule]);
    let before = view().await.counts.paused;
    until("one more", async || view().await.counts.paused > before).await;
    assert!(view().await.paused);
    let fired = view().await.counts.fired;
    assert!(clients[1].resume_schedule("pulse").await.expect("an answer"));
    until("a tick", async || view().await.counts.fired > fired).await;
    crew.stop().await;
    assert!(seen.ticks().values().flatten().all(|tick| tick.missed == 0));
}

async fn a_run_by_hand_leaves_the_next_tick_alone(clients: [Client; 2]) {
    let schedule = Schedule::every("yearly", "366d").job(job());
    assert_eq!(clients[0].schedule(schedule).await.expect("defined"), Defined::New);
    let view = async || clients[1].schedule_view("yearly").await.expect("a read").expect("there");
    let next = view().await.next.expect("a tick").at;
    let run = async |key, force| clients[1].run_schedule("yearly", key, force).await.expect("an answer");
    let RunAnswer::Enqueued(first) = run(Some("today"), false).await else {
        panic!("not enqueued")
    };
    assert_eq!(run(Some("today"), false).await, RunAnswer::Existing(first));
    assert_eq!(run(None, false).await, RunAnswer::Overlap(first));
    assert!(matches!(run(None, true).await, RunAnswer::Enqueued(_)));
    assert_eq!(
        clients[1].run_schedule("never", None, false).await.expect("an answer"),
        RunAnswer::Unknown
    );
    let view = view().await;
    assert_eq!(view.next.expect("a tick").at, next);
    assert_eq!(
        (view.counts.by_hand, view.past.last().map(|outcome| outcome.fate)),
        (2, Some(Fate::ByHand))
    );
}

async fn a_backfill_enqueues_each_tick_of_the_span_once(clients: [Client; 2]) {
    let schedule = Schedule::cron("nightly", "0 3 * * *").tz("Europe/Berlin").job(job());
    clients[0].schedule(schedule).await.expect("defined");
    let instant = |text: &str| text.parse().expect("an instant");
    let (from, to) = (instant("2026-03-27T00:00:00Z"), instant("2026-03-30T00:00:00Z"));
    let done = clients[0]
        .backfill_schedule("nightly", from, to)
        .await
        .expect("an answer")
        .expect("there");
    let ticks: Vec<String> = done.iter().map(|(tick, _)| tick.at.to_rfc3339()).collect();
    // the clock goes forward on the 29th
    assert_eq!(
        ticks,
        [
            "2026-03-27T02:00:00+00:00",
            "2026-03-28T02:00:00+00:00",
            "2026-03-29T01:00:00+00:00"
        ]
    );
    assert!(done.iter().all(|(_, enqueued)| enqueued.is_new()));
    let again = clients[0]
        .backfill_schedule("nightly", from, to)
        .await
        .expect("an answer")
        .expect("there");
    assert!(again.iter().all(|(_, enqueued)| !enqueued.is_new()), "their jobs have not ended");
    let future = clients[0].backfill_schedule("nightly", from, instant("2099-01-01T00:00:00Z")).await;
    assert!(future.is_err());
}

async fn an_edited_schedule_counts_from_now_and_a_restart_keeps_its_place(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let view = async || clients[1].schedule_view("pulse").await.expect("a read");
    let long = |period: &str| Schedule::every("pulse", period).job(job());
    let crew = Crew::start(&clients[..1], &seen, &[long("100d")]);
    until("the schedule", async || view().await.is_some()).await;
    crew.stop().await;
    let next = view().await.expect("there").next.expect("a tick").at;
    let crew = Crew::start(&clients[..1], &seen, &[long("100d")]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(view().await.expect("there").next.expect("a tick").at, next, "a restart");
    crew.stop().await;
    let crew = Crew::start(&clients[..1], &seen, &[long("99d")]);
    until("the edit", async || view().await.is_some_and(|view| view.when == "99d")).await;
    // a worker without schedules leaves those of others alone
    let other = Crew::start(&clients[1..], &seen, &[]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    crew.stop().await;
    other.stop().await;
    assert!(seen.ticks().is_empty(), "nothing fired at once");
    assert_eq!(view().await.expect("there").when, "99d");
}

async fn an_older_generation_does_not_write_its_definition_back(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let of = |period: &str, generation| Schedule::every("pulse", period).job(job()).generation(generation);
    let view = async || clients[1].schedule_view("pulse").await.expect("a read");
    let new = Crew::start(&clients[..1], &seen, &[of("50d", 2)]);
    until("the schedule", async || view().await.is_some()).await;
    let old = Crew::start(&clients[1..], &seen, &[of("60d", 1)]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(view().await.expect("there").when, "50d");
    new.stop().await;
    old.stop().await;
}

/// Writes another instant at which a worker last said that it brings a schedule, as that worker does: nobody is told.
async fn set_seen(client: &Client, seen_ago: Duration) {
    let read = client.store().schedules().await.expect("a read");
    let (name, text, _) = read.rows[0].clone();
    let seen = (read.now - seen_ago).as_millis();
    let mut row: serde_json::Value = serde_json::from_str(&text[22..]).expect("JSON");
    row["seen"] = serde_json::json!(seen as u64);
    row["brought"] = true.into();
    let step = ScheduleStep {
        name,
        expected: Some(text.clone()),
        new: Some(format!("{}{}", &text[..22], serde_json::to_string(&row).expect("JSON"))),
        from: None,
        before: None,
        previous_lives: None,
        tell: false,
        jobs: Vec::new(),
    };
    let answer = client.store().step_schedule(step).await.expect("an answer").answer;
    assert_eq!(answer, StepAnswer::Done(Vec::new()));
}

async fn a_schedule_that_no_worker_brings_any_more_is_not_fired(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    clients[0]
        .schedule(Schedule::every("pulse", "1s").job(job()))
        .await
        .expect("defined");
    set_seen(&clients[0], Duration::from_secs(601)).await;
    let crew = Crew::start(&clients[..1], &seen, &[]);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(seen.ticks().is_empty());
    assert!(clients[1].schedule_view("pulse").await.expect("a read").expect("there").orphaned);
    // one that brings it comes back: it ticks on every worker again, from now on
    let back = Crew::start(&clients[1..], &seen, &[Schedule::every("pulse", "1s").job(job())]);
    until("a tick", async || !seen.ticks().is_empty()).await;
    crew.stop().await;
    back.stop().await;
    assert!(seen.ticks().values().flatten().all(|tick| tick.missed == 0));
}

async fn a_worker_that_does_not_bring_a_schedule_fires_it_though_what_it_knows_is_old(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    until("a next tick that is far enough for what follows", async || {
        clients[0].delete_schedule("pulse").await.expect("an answer");
        let schedule = Schedule::every("pulse", "5s").job(job());
        clients[0].schedule(schedule).await.expect("defined");
        let view = clients[0].schedule_view("pulse").await.expect("a read").expect("there");
        view.next.expect("a tick").at - chrono::Utc::now() > chrono::TimeDelta::milliseconds(3500)
    })
    .await;
    set_seen(&clients[0], Duration::from_secs(598)).await;
    let crew = Crew::start(&clients[..1], &seen, &[]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    set_seen(&clients[1], Duration::ZERO).await;
    until("a tick", async || !seen.ticks().is_empty()).await;
    crew.stop().await;
}

#[task]
async fn endless(attempt: Attempt, seen: Data<Arc<Seen>>) -> TaskResult {
    let tick = attempt.tick().cloned().expect("a tick");
    seen.0.lock().expect("no panic").entry(tick.at.timestamp()).or_default().push(tick);
    attempt.cancelled().await;
    Err("told to stop".into())
}

#[task(singleton)]
async fn quick() -> TaskResult {
    Ok(())
}

async fn the_lock_of_a_quick_job_is_kept_as_long_as_its_schedule_says(clients: [Client; 2]) {
    let schedule = Schedule::every("quick", "50d").job(quick {}).lock_at_least(Duration::from_secs(30));
    let worker = Worker::builder(&clients[0]).task::<quick>().schedule(schedule);
    let worker = worker.build().expect("a worker");
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    until("the schedule", async || {
        clients[1].schedule_view("quick").await.expect("a read").is_some()
    })
    .await;
    let run = clients[1].run_schedule("quick", None, false).await.expect("an answer");
    assert!(matches!(run, RunAnswer::Enqueued(_)), "{run:?}");
    until("its end", async || clients[1].census().await.expect("a read").jobs == 0).await;
    let locks = clients[1].locks(None, 10).await.expect("a read").locks;
    let kept: Vec<Duration> = locks.iter().filter_map(|lock| Some(lock.holder.as_ref()?.left)).collect();
    assert!(
        matches!(kept[..], [ttl] if (Duration::from_secs(20)..=Duration::from_secs(30)).contains(&ttl)),
        "{locks:?}"
    );
    drop(stop);
    within("the worker", running).await.expect("no panic").expect("no error");
}

#[task(every = "1s")]
async fn hopeless(attempt: Attempt, seen: Data<Arc<Seen>>) -> TaskResult {
    let tick = attempt.tick().cloned().expect("a tick");
    seen.0.lock().expect("no panic").entry(tick.at.timestamp()).or_default().push(tick);
    Err(linchpin::TaskError::discard("no use"))
}

async fn jobs_that_fail_or_are_deleted_end_no_schedule(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let worker = Worker::builder(&clients[0]).task::<hopeless>().data(seen.clone());
    let worker = worker.build().expect("a worker");
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    for count in 1..=3 {
        until("a tick", async || seen.ticks().len() >= count).await;
        let filter = linchpin::store::page::JobFilter::default();
        clients[1].delete_dead(&filter).await.expect("an answer");
    }
    drop(stop);
    within("the worker", running).await.expect("no panic").expect("no error");
}

async fn a_tick_that_replaces_the_job_before_it_cancels_that_one_and_starts(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let schedule = Schedule::every("replaced", "1s").job(endless {}).overlap(Overlap::Replace);
    let worker = Worker::builder(&clients[0]).task::<endless>().data(seen.clone()).schedule(schedule);
    let worker = worker.shutdown_grace(Duration::ZERO).build().expect("a worker");
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    until("three of them", async || seen.ticks().len() >= 3).await;
    drop(stop);
    within("the worker", running).await.expect("no panic").expect("no error");
    assert!(seen.ticks().values().all(|fired| fired.len() == 1), "{:?}", seen.ticks());
    let dead = clients[1].census().await.expect("a read").dead;
    assert!(dead >= 2, "{dead} were cancelled");
}

async fn a_task_is_its_own_schedule(clients: [Client; 2]) {
    let seen = Arc::new(Seen::default());
    let worker = Worker::builder(&clients[0])
        .task::<pulse>()
        .data(seen.clone())
        .build()
        .expect("a worker");
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    until("two ticks", async || seen.ticks().len() >= 2).await;
    drop(stop);
    within("the worker", running).await.expect("no panic").expect("no error");
    let error = Worker::builder(&clients[0])
        .task::<nightly>()
        .build()
        .expect_err("no such zone")
        .to_string();
    assert!(error.contains("Europe/Berlin") && error.contains("(schedule `nightly`)"), "{error}");
}

on_every_engine! {
    a_task_is_its_own_schedule,
    jobs_that_fail_or_are_deleted_end_no_schedule,
    the_lock_of_a_quick_job_is_kept_as_long_as_its_schedule_says,
    a_tick_that_replaces_the_job_before_it_cancels_that_one_and_starts,
    a_schedule_that_no_worker_brings_any_more_is_not_fired,
    a_worker_that_does_not_bring_a_schedule_fires_it_though_what_it_knows_is_old,
    each_tick_fires_once_whichever_worker_fires_it,
    a_schedule_of_run_time_is_fired_by_workers_that_never_heard_of_it,
    a_paused_schedule_records_its_ticks_and_goes_on_when_resumed,
    a_run_by_hand_leaves_the_next_tick_alone,
    a_backfill_enqueues_each_tick_of_the_span_once,
    an_edited_schedule_counts_from_now_and_a_restart_keeps_its_place,
    an_older_generation_does_not_write_its_definition_back,
}

#[tokio::test]
async fn what_is_wrong_with_a_schedule_is_said_all_at_once() {
    let client = Client::connect("memory://").await.expect("the embedded store");
    let wrong = Schedule::cron("a b", "61 * * * *")
        .tz("Europe/Berln")
        .queue("-x")
        .overlap(Overlap::QueueAll { limit: 1000 })
        .jitter(Duration::from_secs(1 << 40));
    let error = client.schedule(wrong).await.expect_err("wrong").to_string();
    for said in [
        "schedule name",
        "minute",
        "Europe/Berlin",
        "queue name",
        "1 to 100",
        "jitter",
        "a task's name",
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
    let built = Worker::builder(&client)
        .task::<report>()
        .data(Arc::new(Seen::default()))
        .schedule(Schedule::every("pulse", "1s").task("report", serde_json::Map::new()))
        .schedule(Schedule::every("unlocked", "1s").job(job()).lock_at_least(Duration::from_secs(1)))
        .schedule(Schedule::every("other", "1s").task("reprot", serde_json::Map::new()))
        .schedule(Schedule::every("pulse", "2s").job(job()))
        .schedule(Schedule::every("pulse", "3s").job(job()))
        .build();
    let error = built.expect_err("wrong").to_string();
    for said in [
        "has none to keep",
        "\"shop\"",
        "(schedule `pulse`)",
        "the nearest is `report`",
        "each schedule once",
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
}
