//! Leases: renewing what runs, and taking back what nobody renewed.

use linchpin::store::lease::Renewed;
use linchpin::store::settle::{SettleAnswer, Verdict};
use linchpin::store::turn::{Suspects, Turn};
use linchpin::store::view::{CancelAnswer, Progress, State};

use super::bench::Bench;
use super::draft::{job, key, secs, strange_token};
use super::worker::{LAPSE, wants};

async fn a_renewed_claim_stands_and_keeps_its_locks(bench: &Bench) {
    let (worker, other) = (bench.worker(), bench.worker());
    bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    for _ in 0..5 {
        bench.later(secs(10)).await;
        assert_eq!(worker.renew(&[&held]).await, [Renewed::Renewed]);
        assert!(other.claim(1).await.is_empty());
    }
    assert_eq!(bench.state(waiter).await, "parked:k");
    worker.done(&held).await;
}

async fn a_passed_deadline_cannot_be_renewed_reaped_or_not(bench: &Bench) {
    // a lock's own time ends soon after the deadline: without one only the deadline says no
    let worker = bench.worker();
    let ids = [bench.put(job()).await, bench.put(job().lock("k")).await];
    let held = worker.claim(2).await;
    let all = || held.iter().collect::<Vec<_>>();
    let states = async || [bench.state(ids[0]).await, bench.state(ids[1]).await];
    bench.later(LAPSE).await;
    assert_eq!(worker.renew(&all()).await, [Renewed::Lost; 2]);
    assert_eq!(states().await, ["active"; 2], "nobody reaped it yet");
    worker.look().await;
    assert_eq!(states().await, ["ready"; 2]);
    assert_eq!(worker.renew(&all()).await, [Renewed::Lost; 2]);
    assert_eq!(states().await, ["ready"; 2]);
}

async fn a_renewal_under_a_foreign_token_renews_nothing(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let held = worker.claim_one().await;
    let mut stranger = held.clone();
    stranger.token = strange_token();
    bench.later(secs(10)).await;
    assert_eq!(worker.renew(&[&stranger]).await, [Renewed::Lost]);
    bench.later(secs(8)).await;
    assert_eq!(worker.renew(&[&held]).await, [Renewed::Lost], "the deadline was not moved");
}

async fn a_lost_lock_is_lost_by_that_attempt_alone(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("a")).await;
    bench.put(job().lock("b")).await;
    let held = worker.claim(2).await;
    bench.engine.lose_lock(&key("a")).await;
    assert_eq!(worker.renew(&[&held[0], &held[1]]).await, [Renewed::Lost, Renewed::Renewed]);
    let names = bench.key_names().await;
    assert!(!names.contains(&"lock:a".to_owned()), "never made again: {names:?}");
    assert_eq!(worker.settle(&held[0], Verdict::Done).await, SettleAnswer::Lost);
    worker.done(&held[1]).await;
}

async fn a_nested_lock_is_renewed_with_its_attempt_and_lost_with_it(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    let mut held = worker.claim_one().await;
    let token = strange_token();
    bench.acquire(&key("n"), &token, secs(12)).await.expect("an answer");
    held.nested = vec![(key("n"), token)];
    bench.later(secs(10)).await;
    assert_eq!(worker.renew(&[&held]).await, [Renewed::Renewed]);
    bench.later(secs(10)).await;
    assert_eq!(worker.renew(&[&held]).await, [Renewed::Renewed], "its first time has passed");
    bench.engine.lose_lock(&key("n")).await;
    assert_eq!(worker.renew(&[&held]).await, [Renewed::Lost]);
}

async fn a_renewal_that_does_not_name_an_id_sends_it_back_to_the_head(bench: &Bench) {
    let worker = bench.worker();
    let named = bench.put(job()).await;
    let unnamed = bench.put(job().lock("k")).await;
    let held = worker.claim(2).await;
    let waiter = bench.put(job().lock("k")).await;
    bench.put(job()).await;
    assert!(worker.renew(&[&held[0]]).await == [Renewed::Renewed]);
    assert_eq!(
        (bench.state(named).await, bench.state(unnamed).await),
        ("active".into(), "ready".into())
    );
    let view = bench.view(unnamed).await.expect("kept");
    assert_eq!((view.tries.charged, view.tries.suspect), (0, false));
    assert_eq!(worker.claim_one().await.id, unnamed, "at the head, its lock free");
    assert_eq!(worker.settle(&held[1], Verdict::Done).await, SettleAnswer::Lost);
    assert_eq!(bench.state(waiter).await, "ready");
}

async fn an_unnamed_id_that_was_cancelled_is_buried(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    let id = bench.put(job()).await;
    let held = worker.claim(2).await;
    assert_eq!(bench.cancel(id).await.expect("a cancel"), CancelAnswer::Requested);
    worker.renew(&[&held[0]]).await;
    assert_eq!(bench.state(id).await, "dead:cancelled");
}

async fn a_cancelled_attempt_is_told_by_its_renewal(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    bench.put(job()).await;
    let held = worker.claim(2).await;
    bench.cancel(held[1].id).await.expect("a cancel");
    assert_eq!(worker.renew(&[&held[0], &held[1]]).await, [Renewed::Renewed, Renewed::Cancelled]);
}

async fn a_lapsed_claim_is_reaped_to_the_head_as_suspect(bench: &Bench) {
    let (gone, worker) = (bench.worker(), bench.worker());
    let ids = [bench.put(job().lock("k")).await, bench.put(job()).await];
    assert_eq!(gone.claim(2).await.len(), 2);
    let behind = bench.put(job()).await;
    bench.later(LAPSE).await;
    worker.look().await;
    for id in ids {
        let view = bench.view(id).await.expect("kept");
        assert_eq!(
            (view.state, view.tries.suspect, view.tries.strikes, view.tries.charged),
            (State::Ready, true, 0, 0)
        );
    }
    let (held, _) = worker.claim_suspects(1, Suspects::One).await;
    assert_eq!(held[0].id, ids[0], "in their order, before the others");
    worker.done(&held[0]).await;
    let (held, _) = worker.claim_suspects(2, Suspects::One).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [ids[1], behind]);
}

async fn the_lock_of_a_reaped_job_goes_to_its_waiter(bench: &Bench) {
    let (gone, worker) = (bench.worker(), bench.worker());
    let id = bench.put(job().lock("k")).await;
    gone.claim_one().await;
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    bench.later(LAPSE).await;
    let held = worker.claim(2).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [waiter]);
    assert_eq!(bench.state(id).await, "parked:k", "behind it");
}

async fn every_turn_reaps_one_lapsed_claim_while_there_are_more(bench: &Bench) {
    let (gone, worker) = (bench.worker(), bench.worker());
    for _ in 0..5 {
        bench.put(job()).await;
        gone.claim_one().await;
    }
    bench.later(LAPSE).await;
    for reaped in 1..=5 {
        worker.look().await;
        assert_eq!(bench.census().await.expect("a read").active, 5 - reaped);
    }
}

async fn a_claim_whose_jobs_are_all_settled_leaves_nothing_to_reap(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    let turn = Turn {
        settles: vec![held.settle(Verdict::Return)],
        ..wants(0, &[])
    };
    bench.turn(&worker.id, 0, turn).await.expect("a turn that does not say `finished`");
    bench.later(LAPSE).await;
    worker.look().await;
    let view = bench.view(id).await.expect("kept");
    assert_eq!((view.state, view.tries.suspect), (State::Ready, false));
    let names = bench.key_names().await;
    assert!(!names.contains(&"claims".to_owned()), "the row has lapsed: {names:?}");
}

async fn a_finished_claim_that_still_owns_a_job_lapses(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job()).await;
    let held = worker.claim_one().await;
    let turn = Turn {
        finished: vec![held.token.clone()],
        ..wants(0, &[])
    };
    bench.turn(&worker.id, 0, turn).await.expect("a turn");
    bench.later(secs(601)).await; // an engine may leave it to the slow sweep
    worker.look().await;
    assert_eq!(bench.state(id).await, "ready", "not lost");
}

async fn what_an_attempt_says_of_its_progress_is_told_while_it_runs(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let told = async || {
        let of_job = bench.job(id).await.expect("a read").expect("a job").progress;
        let around = bench.circumstances(id).await.expect("a read").expect("a job").job.progress;
        assert_eq!(of_job, around);
        of_job
    };
    assert_eq!(told().await, None);
    let mut held = worker.claim_one().await;
    assert_eq!(told().await, None);
    for (done, total, note) in [(0, 0, ""), (7, 10, "a|b, 3 % of é"), (u64::MAX, u64::MAX, "|")] {
        held.progress = Some(Progress {
            done,
            total,
            note: note.into(),
        });
        assert_eq!(worker.renew(&[&held]).await, [Renewed::Renewed]);
        assert_eq!(told().await, held.progress);
    }
    let mut stranger = held.clone();
    stranger.token = strange_token();
    stranger.progress = None;
    assert_eq!(worker.renew(&[&stranger]).await, [Renewed::Lost]);
    assert_eq!(told().await, held.progress);
    // the next attempt has not said anything yet
    worker.settle(&held, Verdict::Return).await;
    assert_eq!(told().await, None);
    let mut again = worker.claim_one().await;
    assert_eq!(told().await, None);
    again.progress = held.progress.clone();
    assert_eq!(worker.renew(&[&held]).await, [Renewed::Lost]);
    assert_eq!(told().await, None, "the attempt before says nothing any more");
    assert_eq!(worker.renew(&[&again]).await, [Renewed::Renewed]);
    assert_eq!(told().await, again.progress);
    bench.later(LAPSE).await;
    worker.look().await;
    assert_eq!(told().await, None);
}

on_every_engine!(
    what_an_attempt_says_of_its_progress_is_told_while_it_runs,
    a_renewed_claim_stands_and_keeps_its_locks,
    a_passed_deadline_cannot_be_renewed_reaped_or_not,
    a_renewal_under_a_foreign_token_renews_nothing,
    a_lost_lock_is_lost_by_that_attempt_alone,
    a_nested_lock_is_renewed_with_its_attempt_and_lost_with_it,
    a_renewal_that_does_not_name_an_id_sends_it_back_to_the_head,
    an_unnamed_id_that_was_cancelled_is_buried,
    a_cancelled_attempt_is_told_by_its_renewal,
    a_lapsed_claim_is_reaped_to_the_head_as_suspect,
    the_lock_of_a_reaped_job_goes_to_its_waiter,
    every_turn_reaps_one_lapsed_claim_while_there_are_more,
    a_claim_whose_jobs_are_all_settled_leaves_nothing_to_reap,
    a_finished_claim_that_still_owns_a_job_lapses,
);
