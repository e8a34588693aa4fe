//! Why a job is not running: every reason, and what operators ask of queues and workers.

use std::time::Duration;

use linchpin::Client;
use linchpin::client::{Explanation, Reason};
use linchpin::limits::WORKER_LIVE;
use linchpin::names::{JobId, ProcessId, TaskName};
use linchpin::store::new_job::Priority;
use linchpin::store::settle::{Charge, Death, Verdict};
use linchpin::store::view::WorkerCard;

use super::bench::Bench;
use super::draft::{job, job_in, key, queue, secs};
use super::worker::{LAPSE, LEASE, discard, retry_after};

async fn explain(bench: &Bench, id: JobId) -> Explanation {
    let client = Client::on(bench.store.clone());
    client.explain(id).await.expect("an answer").expect("kept")
}

async fn words(bench: &Bench, id: JobId) -> Vec<&'static str> {
    explain(bench, id).await.reasons.iter().map(Reason::as_str).collect()
}

fn card(queues: &[&str], tasks: &[&str]) -> WorkerCard {
    WorkerCard {
        worker: ProcessId::random(),
        labels: vec![("host".into(), "shop-1".into()), ("pid".into(), "42".into())],
        queues: queues.iter().map(|name| queue(name)).collect(),
        concurrency: 2,
        running: 0,
        tasks: tasks.iter().map(|name| ((*name).to_owned(), "{}".to_owned())).collect(),
    }
}

/// A worker that can run the tests' jobs says that it lives.
async fn able(bench: &Bench) -> WorkerCard {
    let card = card(&["q"], &["take"]);
    bench.register(&card).await.expect("a registration");
    card
}

async fn a_parked_job_names_the_lock_its_holder_and_since_when(bench: &Bench) {
    able(bench).await;
    let worker = bench.worker();
    let holder = bench.put(job().lock("inventory:A1")).await;
    let held = worker.claim_one().await;
    let first = bench.put(job().lock("inventory:A1").wait_timeout(secs(60))).await;
    let second = bench.put(job().lock("inventory:A1")).await;
    bench.later(secs(2)).await;
    assert!(worker.claim(2).await.is_empty());
    bench.later(secs(3)).await;
    let Reason::Parked {
        behind,
        holder: Some(who),
        waited,
        ahead,
        gives_up_in,
    } = explain(bench, first).await.reasons.remove(0)
    else {
        panic!("{:?}", explain(bench, first).await);
    };
    assert_eq!((behind, waited), (key("inventory:A1"), secs(3)));
    assert_eq!((who.token, who.job), (held.token.clone(), Some(holder)));
    assert_eq!(who.held_for.as_secs(), 5);
    assert!(who.left > LEASE - secs(5) && who.left < LEASE * 2, "{:?}", who.left);
    assert_eq!((ahead, gives_up_in), (Some(0), Some(secs(57))));
    let text = explain(bench, second).await.reasons[0].to_string();
    let token = &held.token;
    let worker_id = worker.id.as_str();
    assert_eq!(
        text,
        format!(
            "parked for 3 s behind lock `inventory:A1`, held by job {holder} under {token} of worker {worker_id} for 5 s; 1 waits before it"
        )
    );
    assert_eq!(words(bench, first).await, ["parked"], "nothing else stands in its way");
    worker.done(&held).await;
    assert_eq!(words(bench, first).await, ["turn"]);
}

async fn a_lock_taken_by_a_client_is_held_by_no_job(bench: &Bench) {
    let token = linchpin::names::OwnerToken::new(&ProcessId::random(), 0, 1);
    bench.acquire(&key("k"), &token, secs(60)).await.expect("an answer");
    let id = bench.put(job().lock("k")).await;
    bench.worker().claim(1).await;
    let Reason::Parked { holder: Some(who), .. } = explain(bench, id).await.reasons.remove(0) else {
        panic!("{:?}", explain(bench, id).await);
    };
    assert_eq!((who.token, who.job), (token.clone(), None));
    assert!((secs(50)..=secs(60)).contains(&who.left), "{:?}", who.left);
    bench.engine.lose_lock(&key("k")).await;
    let text = explain(bench, id).await.reasons[0].to_string();
    assert!(text.contains("which is free: the next look hands it over"), "{text}");
}

async fn an_active_job_names_its_worker_and_its_lease(bench: &Bench) {
    let worker = bench.worker();
    let mut card = card(&["q"], &["take"]);
    card.worker = worker.id.clone();
    bench.register(&card).await.expect("a registration");
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    bench.later(secs(5)).await;
    bench.cancel(id).await.expect("a cancel");
    let Reason::Active {
        token,
        worker: who,
        labels,
        since,
        lease_left,
        cancel_requested,
    } = explain(bench, id).await.reasons.remove(0)
    else {
        panic!("{:?}", explain(bench, id).await);
    };
    assert_eq!((token, who, labels), (held.token.clone(), worker.id.clone(), card.labels));
    assert_eq!((since.as_secs(), lease_left, cancel_requested), (5, secs(12), true));
    assert_eq!(words(bench, id).await, ["active"]);
    worker.settle(&held, Verdict::Return).await;
}

async fn a_scheduled_job_says_when_it_is_due_and_which_retry_it_is(bench: &Bench) {
    able(bench).await;
    let worker = bench.worker();
    let later = bench.put(job().after(secs(90))).await;
    let failed = bench.put(job()).await;
    let held = worker.claim_one().await;
    worker.settle(&held, retry_after(secs(30))).await;
    assert_eq!(explain(bench, later).await.reasons, [Reason::Scheduled { due_in: secs(90) }]);
    assert_eq!(explain(bench, later).await.reasons[0].to_string(), "due in 1 min 30 s");
    let retry = Reason::Retry {
        number: 1,
        due_in: secs(30),
        last_error: Some("it failed".into()),
    };
    assert_eq!(explain(bench, failed).await.reasons, [retry]);
    bench.later(secs(31)).await;
    let text = explain(bench, failed).await.reasons[0].to_string();
    assert_eq!(
        text,
        "retry 1 is due now, the next look promotes it; the last attempt failed: it failed"
    );
}

async fn a_ready_job_says_its_position_and_that_its_queue_is_paused(bench: &Bench) {
    let card = able(bench).await;
    let first = bench.put(job()).await;
    let second = bench.put(job()).await;
    bench.put(job().priority(Priority::High)).await;
    let low = bench.put(job().priority(Priority::Low)).await;
    assert_eq!(explain(bench, first).await.reasons, [Reason::Ready { ahead: Some(1) }]);
    assert_eq!(explain(bench, second).await.reasons, [Reason::Ready { ahead: Some(2) }]);
    assert_eq!(explain(bench, low).await.reasons, [Reason::Ready { ahead: Some(3) }]);
    bench.pause(&queue("q")).await.expect("a pause");
    assert_eq!(words(bench, first).await, ["ready", "paused"]);
    bench.resume(&queue("q")).await.expect("a resume");
    assert_eq!(words(bench, first).await, ["ready"]);
    let full = WorkerCard { running: 2, ..card };
    bench.heartbeat(&full).await.expect("a heartbeat");
    assert_eq!(explain(bench, first).await.reasons[1], Reason::Busy { slots: 2 });
}

async fn a_job_without_a_worker_for_it_says_what_is_missing(bench: &Bench) {
    let id = bench.put(job()).await;
    assert_eq!(words(bench, id).await, ["ready", "no_workers"]);
    let elsewhere = card(&["b", "a"], &["take"]);
    bench.register(&elsewhere).await.expect("a registration");
    let not_served = Reason::NotServed {
        queue: queue("q"),
        served: vec![queue("a"), queue("b")],
    };
    assert_eq!(explain(bench, id).await.reasons[1], not_served);
    bench.register(&card(&["q"], &["restock"])).await.expect("a registration");
    let unknown = Reason::UnknownTask {
        task: TaskName::new("take").expect("a name"),
        queue: queue("q"),
        workers: 1,
    };
    assert_eq!(explain(bench, id).await.reasons[1], unknown);
    let mut renamed = card(&["q"], &["take_away"]);
    renamed.tasks[0].1 = r#"{"also":["take"]}"#.into();
    bench.register(&renamed).await.expect("a registration");
    assert_eq!(words(bench, id).await, ["ready"], "a former name counts");
    bench.later(WORKER_LIVE + secs(1)).await;
    assert_eq!(words(bench, id).await, ["ready", "no_workers"], "they fell silent");
}

async fn a_suspect_and_a_mismatched_job_say_so(bench: &Bench) {
    let (gone, worker) = (bench.worker(), bench.worker());
    let id = bench.put(job()).await;
    gone.claim_one().await;
    bench.later(LAPSE).await;
    worker.look().await;
    able(bench).await;
    let suspect = Reason::Suspect {
        strikes: 0,
        crash_limit: 3,
    };
    assert_eq!(explain(bench, id).await.reasons[1], suspect);
    bench.delete(id).await.expect("a delete");
    let id = bench.put(job()).await;
    let held = worker.claim(5).await.remove(0);
    let mismatch = Verdict::Schedule {
        delay: secs(2),
        charge: Charge::Mismatch,
        error: None,
    };
    worker.settle(&held, mismatch).await;
    bench.later(secs(1)).await;
    let mismatched = Reason::Mismatched { times: 1, since: secs(1) };
    assert_eq!(
        explain(bench, id).await.reasons,
        [Reason::Scheduled { due_in: secs(1) }, mismatched]
    );
}

async fn a_dead_or_unreadable_or_absent_job_says_so(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    worker.settle(&held, discard()).await;
    bench.later(secs(7200)).await;
    let dead = Reason::Dead {
        death: Death::Discarded,
        reason: "no use".into(),
        dead_for: secs(7200),
    };
    assert_eq!(explain(bench, id).await.reasons, [dead]);
    assert_eq!(
        explain(bench, id).await.reasons[0].to_string(),
        "dead for 2 h 0 min: discarded: no use"
    );
    let spoiled = bench.put(job()).await;
    bench.engine.spoil(spoiled).await;
    assert_eq!(words(bench, spoiled).await.last(), Some(&"unreadable"));
    let client = Client::on(bench.store.clone());
    assert_eq!(client.explain(JobId::random()).await.expect("an answer"), None);
}

async fn queues_are_listed_with_counts_pause_workers_and_their_oldest_job(bench: &Bench) {
    let stale = bench.put(job()).await;
    bench.cancel(stale).await.expect("a cancel");
    let low = bench.put(job().priority(Priority::Low)).await;
    bench.put(job()).await;
    bench.put(job_in("b")).await;
    bench.pause(&queue("empty")).await.expect("a pause");
    let mut served = card(&["q", "idle"], &["take"]);
    bench.register(&served).await.expect("a registration");
    let queues = bench.queues().await.expect("an answer");
    let shown: Vec<_> = queues
        .iter()
        .map(|view| (view.queue.as_str(), view.ready, view.paused, view.workers))
        .collect();
    assert_eq!(
        shown,
        [("b", 1, false, 0), ("empty", 0, true, 0), ("idle", 0, false, 1), ("q", 3, false, 1)]
    );
    assert_eq!(queues[3].oldest, Some(low), "the cancelled one is not ready");
    assert_eq!(queues[1].oldest, None);
    bench.deregister(&served.worker).await.expect("an answer");
    served.queues.clear();
    assert_eq!(bench.queues().await.expect("an answer").len(), 3);
}

async fn workers_are_listed_with_their_cards_until_they_leave(bench: &Bench) {
    let mut one = card(&["q", "b"], &["take", "restock"]);
    one.running = 1;
    bench.register(&one).await.expect("a registration");
    bench.later(WORKER_LIVE + secs(1)).await;
    let two = card(&["q"], &["take"]);
    bench.register(&two).await.expect("a registration");
    bench.later(Duration::from_millis(250)).await;
    let workers = bench.workers().await.expect("an answer");
    assert_eq!(
        workers.iter().map(|view| view.worker.clone()).collect::<Vec<_>>(),
        [two.worker.clone(), one.worker.clone()]
    );
    assert_eq!(workers[0].silent_for, Duration::from_millis(250));
    assert!(workers[0].is_live() && !workers[1].is_live());
    let silent = &workers[1];
    assert_eq!((&silent.labels, &silent.queues), (&one.labels, &one.queues));
    assert_eq!((silent.concurrency, silent.running), (2, 1));
    let tasks: Vec<&str> = silent.tasks.iter().map(TaskName::as_str).collect();
    assert_eq!(tasks, ["restock", "take"]);
    let manifest = bench.tasks().await.expect("an answer");
    assert_eq!(
        manifest.iter().map(|(task, _)| task.as_str()).collect::<Vec<_>>(),
        ["restock", "take"]
    );
    bench.deregister(&two.worker).await.expect("an answer");
    assert_eq!(bench.workers().await.expect("an answer").len(), 1);
}

on_every_engine!(
    a_parked_job_names_the_lock_its_holder_and_since_when,
    a_lock_taken_by_a_client_is_held_by_no_job,
    an_active_job_names_its_worker_and_its_lease,
    a_scheduled_job_says_when_it_is_due_and_which_retry_it_is,
    a_ready_job_says_its_position_and_that_its_queue_is_paused,
    a_job_without_a_worker_for_it_says_what_is_missing,
    a_suspect_and_a_mismatched_job_say_so,
    a_dead_or_unreadable_or_absent_job_says_so,
    queues_are_listed_with_counts_pause_workers_and_their_oldest_job,
    workers_are_listed_with_their_cards_until_they_leave,
);
