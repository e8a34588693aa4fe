//! Lists in pages: every job in its list, none twice, never more than asked for.

use linchpin::names::{JobId, TaskName};
use linchpin::store::new_job::Priority;
use linchpin::store::page::{Cursor, JobFilter, JobRow, StateName};
use linchpin::store::settle::{Death, Verdict};
use linchpin::store::view::State;

use super::bench::Bench;
use super::draft::{Draft, job, job_in, queue, secs};
use super::worker::{LAPSE, discard, retry_after, wants};

/// Every job that a filter takes, read in pages of `length`.
async fn listed(bench: &Bench, filter: &JobFilter, length: usize) -> Vec<JobRow> {
    let (mut jobs, mut after) = (Vec::new(), None);
    loop {
        let page = bench.jobs(filter, after.as_ref(), length).await.expect("a page");
        assert!(page.jobs.len() <= length, "{} jobs in a page of {length}", page.jobs.len());
        jobs.extend(page.jobs);
        after = page.next;
        if after.is_none() {
            return jobs;
        }
    }
}

fn ids(jobs: &[JobRow]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}

fn sorted(mut ids: Vec<JobId>) -> Vec<JobId> {
    ids.sort();
    ids
}

fn named(mut draft: Draft, task: &str) -> Draft {
    draft.0.body.task = TaskName::new(task).expect("a name");
    draft
}

async fn each_state_lists_its_jobs_and_no_others(bench: &Bench) {
    let worker = bench.worker();
    let active = bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let parked = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let ready = bench.put(job_in("other")).await;
    let scheduled = bench.put(job().after(secs(60))).await;
    let dead = bench.put(job_in("c")).await;
    bench.cancel(dead).await.expect("a cancel");
    let expected = [
        (StateName::Active, active),
        (StateName::Parked, parked),
        (StateName::Ready, ready),
        (StateName::Scheduled, scheduled),
        (StateName::Dead, dead),
    ];
    for (state, id) in expected {
        let jobs = listed(bench, &JobFilter::in_state(state), 10).await;
        assert_eq!(ids(&jobs), [id], "{state}");
        assert_eq!(
            jobs[0].state,
            bench.view(id).await.expect("kept").state,
            "as a look at the job alone says"
        );
    }
    let all = listed(bench, &JobFilter::default(), 2).await;
    assert_eq!(sorted(ids(&all)), sorted(expected.iter().map(|(_, id)| *id).collect()));
    worker.done(&held).await;
    assert!(listed(bench, &JobFilter::in_state(StateName::Active), 10).await.is_empty());
}

async fn pages_of_any_length_show_every_job_once(bench: &Bench) {
    let (mut ready, mut later, mut dead) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..230 {
        ready.push(bench.put(job()).await);
        later.push(bench.put(job().after(secs(60 + i))).await);
        let id = bench.put(job_in("c")).await;
        bench.cancel(id).await.expect("a cancel");
        bench.later(secs(0) + std::time::Duration::from_millis(1)).await;
        dead.push(id);
    }
    dead.reverse();
    let of_q = JobFilter {
        queue: Some(queue("q")),
        ..JobFilter::in_state(StateName::Ready)
    };
    for length in [7, 200, 1000] {
        assert_eq!(ids(&listed(bench, &of_q, length).await), ready, "claim order, {length} a page");
        assert_eq!(
            ids(&listed(bench, &JobFilter::in_state(StateName::Scheduled), length).await),
            later,
            "by due time, {length} a page"
        );
        assert_eq!(
            ids(&listed(bench, &JobFilter::in_state(StateName::Dead), length).await),
            dead,
            "the latest death first, {length} a page"
        );
        let all = listed(bench, &JobFilter::default(), length).await;
        let expected = ready.iter().chain(&later).chain(&dead).copied().collect();
        assert_eq!(sorted(ids(&all)), sorted(expected), "{length} a page");
    }
}

async fn a_queue_lists_its_priorities_in_their_order(bench: &Bench) {
    let low = bench.put(job().priority(Priority::Low)).await;
    let normal = bench.put(job()).await;
    let high = bench.put(job().priority(Priority::High)).await;
    bench.put(job_in("other")).await;
    let filter = JobFilter {
        queue: Some(queue("q")),
        ..JobFilter::in_state(StateName::Ready)
    };
    for length in [1, 2, 10] {
        assert_eq!(ids(&listed(bench, &filter, length).await), [high, normal, low]);
    }
}

async fn a_stale_or_double_entry_is_not_listed(bench: &Bench) {
    let id = bench.put(job()).await;
    let cancelled = bench.put(job()).await;
    bench.cancel(cancelled).await.expect("a cancel");
    bench.engine.duplicate_entry(id).await;
    let filter = JobFilter {
        queue: Some(queue("q")),
        ..JobFilter::in_state(StateName::Ready)
    };
    assert_eq!(ids(&listed(bench, &filter, 10).await), [id]);
}

async fn a_filter_takes_queue_and_task(bench: &Bench) {
    let wanted = bench.put(named(job_in("a"), "restock")).await;
    bench.put(named(job_in("b"), "restock")).await;
    bench.put(job_in("a")).await;
    let filter = JobFilter {
        state: None,
        queue: Some(queue("a")),
        task: Some(TaskName::new("restock").expect("a name")),
    };
    let jobs = listed(bench, &filter, 1).await;
    assert_eq!(ids(&jobs), [wanted]);
    assert_eq!(jobs[0].queue, filter.queue);
    assert_eq!(jobs[0].task, filter.task);
}

async fn a_row_says_what_went_before(bench: &Bench) {
    let worker = bench.worker();
    let failed = bench.put(job()).await;
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(30))).await;
    let row = &listed(bench, &JobFilter::in_state(StateName::Scheduled), 10).await[0];
    assert_eq!((row.id, row.charged, row.last_error.as_deref()), (failed, 1, Some("it failed")));
    assert_eq!(row.state, State::Scheduled { due_in: secs(30) });
    assert!(!row.suspect);
    let crashed = bench.put(job()).await;
    worker.claim_one().await;
    bench.later(LAPSE).await;
    worker.look().await;
    let rows = listed(bench, &JobFilter::default(), 10).await;
    assert!(rows.iter().any(|row| row.id == crashed && row.suspect));
    bench.delete(crashed).await.expect("a delete");
    let discarded = bench.put(job()).await;
    let held = worker.claim(5).await.remove(0);
    worker.settle(&held, discard()).await;
    bench.later(secs(5)).await;
    let row = &listed(bench, &JobFilter::in_state(StateName::Dead), 10).await[0];
    assert_eq!((row.id, row.dead_for), (discarded, Some(secs(5))));
    assert!(
        matches!(
            row.state,
            State::Dead {
                death: Death::Discarded,
                ..
            }
        ),
        "{row:?}"
    );
}

async fn a_body_that_stands_apart_is_listed_with_its_task(bench: &Bench) {
    let mut draft = named(job(), "bulky");
    draft.0.body.args = format!("{:?}", "x".repeat(9000)).into();
    let id = bench.put(draft).await;
    let jobs = listed(bench, &JobFilter::default(), 10).await;
    assert_eq!((jobs[0].id, jobs[0].task.as_ref().map(TaskName::as_str)), (id, Some("bulky")));
}

async fn an_unreadable_job_is_listed_without_queue_and_task(bench: &Bench) {
    let id = bench.put(job()).await;
    bench.engine.spoil(id).await;
    let jobs = listed(bench, &JobFilter::default(), 10).await;
    assert_eq!((jobs[0].id, &jobs[0].queue, &jobs[0].task), (id, &None, &None));
}

async fn a_length_or_cursor_that_does_not_fit_is_refused(bench: &Bench) {
    for _ in 0..3 {
        bench.put(job()).await;
    }
    for length in [0, 1001] {
        let error = bench.jobs(&JobFilter::default(), None, length).await.expect_err("no length");
        assert!(error.to_string().contains("1 to 1000"), "{error}");
    }
    let cursor = bench.jobs(&JobFilter::default(), None, 1).await.expect("a page").next;
    let cursor = cursor.expect("two more").to_string().parse::<Cursor>().expect("its own text");
    let other = JobFilter::in_state(StateName::Dead);
    assert!(bench.jobs(&other, Some(&cursor), 1).await.is_err(), "the cursor of another list");
}

async fn dead_jobs_are_retried_in_bulk_but_cancelled_ones_are_left_alone(bench: &Bench) {
    let client = linchpin::Client::on(bench.store.clone());
    let worker = bench.worker();
    let mut discarded = Vec::new();
    for _ in 0..3 {
        discarded.push(bench.put(job()).await);
    }
    for held in worker.claim(3).await {
        worker.settle(&held, discard()).await;
    }
    let cancelled = bench.put(job()).await;
    bench.cancel(cancelled).await.expect("a cancel");
    let taken = bench.put(job_in("u").unique("order:1", 1)).await;
    let held = worker.turn(wants(1, &["u"])).await.0.remove(0);
    worker.settle(&held, discard()).await;
    bench.put(job_in("u").unique("order:1", 2)).await;
    let nobody = JobFilter {
        queue: Some(queue("nobody")),
        ..JobFilter::default()
    };
    assert_eq!(client.retry_dead(&nobody).await.expect("a retry").done, 0);
    let bulk = client.retry_dead(&JobFilter::default()).await.expect("a retry");
    assert_eq!((bulk.done, bulk.cancelled, bulk.conflicts, bulk.gone), (3, 1, 1, 0));
    for id in discarded {
        assert_eq!(bench.state(id).await, "ready");
    }
    assert_eq!(bench.state(cancelled).await, "dead:cancelled");
    assert_eq!(bench.state(taken).await, "dead:discarded");
    let bulk = client.delete_dead(&JobFilter::default()).await.expect("a delete");
    assert_eq!((bulk.done, bulk.gone), (2, 0));
    assert_eq!(bench.census().await.expect("a read").dead, 0);
    assert_eq!(worker.claim(5).await.len(), 3, "each once");
    for held in worker.claim(5).await {
        worker.settle(&held, Verdict::Done).await;
    }
}

on_every_engine!(
    each_state_lists_its_jobs_and_no_others,
    pages_of_any_length_show_every_job_once,
    a_queue_lists_its_priorities_in_their_order,
    a_stale_or_double_entry_is_not_listed,
    a_filter_takes_queue_and_task,
    a_row_says_what_went_before,
    a_body_that_stands_apart_is_listed_with_its_task,
    an_unreadable_job_is_listed_without_queue_and_task,
    a_length_or_cursor_that_does_not_fit_is_refused,
    dead_jobs_are_retried_in_bulk_but_cancelled_ones_are_left_alone,
);
