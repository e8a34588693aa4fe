//! Schedules: rows that are compared and set, and the jobs that come of it.

use std::time::Duration;

use linchpin::names::{JobId, ScheduleName};
use linchpin::store::new_job::Accepted;
use linchpin::store::schedules::{NO_JOB, ScheduleStep, StepAnswer};

use super::bench::Bench;
use super::draft::{Draft, job, secs};

fn name() -> ScheduleName {
    ScheduleName::new("nightly").expect("a valid name")
}

fn row(job: Option<JobId>, rest: &str) -> String {
    format!("{}{rest}", job.map_or_else(|| NO_JOB.to_owned(), |job| job.to_string()))
}

fn step(expected: Option<&str>, new: Option<&str>) -> ScheduleStep {
    ScheduleStep {
        name: name(),
        expected: expected.map(str::to_owned),
        new: new.map(str::to_owned),
        from: None,
        before: None,
        previous_lives: None,
        tell: false,
        jobs: Vec::new(),
    }
}

async fn done(bench: &Bench, step: ScheduleStep) -> Duration {
    let stepped = bench.step_schedule(step).await.expect("a step");
    assert!(matches!(stepped.answer, StepAnswer::Done(_)), "{stepped:?}");
    stepped.now
}

async fn answer(bench: &Bench, step: ScheduleStep) -> StepAnswer {
    bench.step_schedule(step).await.expect("a step").answer
}

async fn there(bench: &Bench) -> Vec<(String, bool)> {
    let read = bench.schedules().await.expect("a read");
    read.rows.into_iter().map(|(_, row, lives)| (row, lives)).collect()
}

async fn a_row_is_set_only_over_the_one_that_was_expected(bench: &Bench) {
    let (a, b) = (row(None, "a"), row(None, "b"));
    assert_eq!(answer(bench, step(Some(&a), Some(&b))).await, StepAnswer::Lost(None));
    done(bench, step(None, Some(&a))).await;
    let c = row(None, "c");
    assert_eq!(answer(bench, step(None, Some(&c))).await, StepAnswer::Lost(Some(a.clone())));
    assert_eq!(there(bench).await, [(a.clone(), false)]);
    done(bench, step(Some(&a), Some(&b))).await;
    assert_eq!(answer(bench, step(Some(&a), None)).await, StepAnswer::Lost(Some(b.clone())));
    done(bench, step(Some(&b), None)).await;
    assert_eq!(there(bench).await, []);
}

async fn a_step_sent_twice_is_one(bench: &Bench) {
    let draft = job();
    bench.remember(&draft);
    let new = row(Some(draft.id()), "a");
    for _ in 0..2 {
        let mut step = step(None, Some(&new));
        step.jobs = vec![draft.0.clone()];
        assert_eq!(answer(bench, step).await, StepAnswer::Done(vec![Accepted::New]));
    }
    assert_eq!(bench.worker().claim(5).await.len(), 1);
    done(bench, step(Some(&new), None)).await;
}

async fn only_the_clock_of_the_store_says_early_or_past(bench: &Bench) {
    let a = row(None, "a");
    let now = done(bench, step(None, Some(&a))).await;
    let b = row(None, "b");
    let timed = |from: Duration, before: Duration| ScheduleStep {
        from: Some(from),
        before: Some(before),
        ..step(Some(&a), Some(&b))
    };
    let (soon, later) = (now + secs(10), now + secs(20));
    assert_eq!(answer(bench, timed(soon, later)).await, StepAnswer::Early);
    bench.later(secs(21)).await;
    assert_eq!(answer(bench, timed(soon, later)).await, StepAnswer::Past);
    assert_eq!(there(bench).await, [(a.clone(), false)], "nothing was done");
    done(bench, timed(soon, later + secs(10))).await;
    done(bench, step(Some(&b), None)).await;
}

async fn put(bench: &Bench, draft: Draft) -> String {
    bench.remember(&draft);
    let new = row(Some(draft.id()), "a");
    let mut step = step(None, Some(&new));
    step.jobs = vec![draft.0];
    done(bench, step).await;
    new
}

async fn whether_the_latest_job_lives_is_asked_in_the_step(bench: &Bench) {
    let worker = bench.worker();
    let at = put(bench, job()).await;
    let b = row(None, "b");
    let assuming = |lives| ScheduleStep {
        previous_lives: Some(lives),
        ..step(Some(&at), Some(&b))
    };
    assert_eq!(answer(bench, assuming(false)).await, StepAnswer::Previous(true));
    let claimed = worker.claim_one().await;
    assert_eq!(answer(bench, assuming(false)).await, StepAnswer::Previous(true), "it runs");
    assert_eq!(there(bench).await, [(at.clone(), true)]);
    worker.done(&claimed).await;
    assert_eq!(there(bench).await, [(at.clone(), false)]);
    assert_eq!(answer(bench, assuming(true)).await, StepAnswer::Previous(false));
    done(bench, assuming(false)).await;
    done(bench, step(Some(&b), None)).await;
}

async fn a_dead_job_lives_no_more(bench: &Bench) {
    let draft = job();
    let id = draft.id();
    let at = put(bench, draft).await;
    bench.cancel(id).await.expect("a cancel");
    assert_eq!(there(bench).await, [(at.clone(), false)]);
    done(bench, step(Some(&at), None)).await;
}

async fn jobs_of_a_step_are_jobs_like_any(bench: &Bench) {
    let worker = bench.worker();
    let drafts = [job().lock("k"), job().unique("u", 1), job().after(secs(5))];
    let mut first = step(None, Some("----------------------a"));
    drafts.iter().for_each(|draft| bench.remember(draft));
    first.jobs = drafts.iter().map(|draft| draft.0.clone()).collect();
    assert_eq!(answer(bench, first).await, StepAnswer::Done(vec![Accepted::New; 3]));
    let twin = job().unique("u", 1);
    let mut second = step(Some("----------------------a"), Some("----------------------b"));
    second.jobs = vec![twin.0];
    assert_eq!(
        answer(bench, second).await,
        StepAnswer::Done(vec![Accepted::Existing(drafts[1].id())])
    );
    let claimed: Vec<JobId> = worker.claim(5).await.iter().map(|job| job.id).collect();
    assert_eq!(claimed, [drafts[0].id(), drafts[1].id()]);
    assert_eq!(bench.state(drafts[2].id()).await, "scheduled");
    done(bench, step(Some("----------------------b"), None)).await;
}

async fn a_step_that_is_refused_leaves_nothing_of_its_jobs(bench: &Bench) {
    let mut wrong = step(Some("----------------------a"), Some("----------------------b"));
    let mut large = job();
    large.0.body.args = format!("{{\"text\":\"{}\"}}", "x".repeat(10_000)).into();
    wrong.jobs = vec![large.0];
    assert_eq!(answer(bench, wrong).await, StepAnswer::Lost(None));
    assert_eq!(bench.census().await.expect("a read").jobs, 0);
    assert_eq!(bench.unbounded_keys().await, Vec::<String>::new());
}

async fn the_version_grows_where_others_are_told(bench: &Bench) {
    let before = bench.schedules().await.expect("a read").version;
    let a = row(None, "a");
    done(bench, step(None, Some(&a))).await;
    assert_eq!(bench.schedules().await.expect("a read").version, before);
    let mut told = step(Some(&a), None);
    told.tell = true;
    done(bench, told).await;
    assert_eq!(bench.schedules().await.expect("a read").version, before + 1);
}

on_every_engine! {
    a_row_is_set_only_over_the_one_that_was_expected,
    a_step_sent_twice_is_one,
    only_the_clock_of_the_store_says_early_or_past,
    whether_the_latest_job_lives_is_asked_in_the_step,
    a_dead_job_lives_no_more,
    jobs_of_a_step_are_jobs_like_any,
    a_step_that_is_refused_leaves_nothing_of_its_jobs,
    the_version_grows_where_others_are_told,
}
