//! Suspects: jobs whose last attempt ended with its worker, and the strikes that bury those that do it again.

use linchpin::names::JobId;
use linchpin::store::new_job::Priority;
use linchpin::store::settle::{Outcome, SettleAnswer, Verdict};
use linchpin::store::turn::{More, Suspects, Tries, Turn};

use super::bench::Bench;
use super::draft::{Draft, job, queue};
use super::worker::{Held, LAPSE, retry_after, wants};

async fn tries(bench: &Bench, id: JobId) -> Tries {
    bench.view(id).await.expect("kept").tries
}

/// A worker claims, ends, and is reaped.
async fn crash(bench: &Bench, want: usize, suspects: Suspects) -> Vec<Held> {
    let (held, _) = bench.worker().claim_suspects(want, suspects).await;
    bench.later(LAPSE).await;
    bench.worker().look().await;
    held
}

/// A job that crashed once as a suspect too.
async fn struck(bench: &Bench, draft: Draft) -> JobId {
    let id = bench.put(draft).await;
    for strikes in [0, 1] {
        assert_eq!(crash(bench, 1, Suspects::None).await[0].id, id);
        assert_eq!(tries(bench, id).await.strikes, strikes);
    }
    id
}

/// A job that crashed as often as it may before the strike that buries it; `crash_limit` is 3.
async fn at_its_last_strike(bench: &Bench, draft: Draft) -> JobId {
    let id = bench.put(draft).await;
    for _ in 0..3 {
        assert_eq!(crash(bench, 1, Suspects::One).await[0].id, id);
    }
    assert_eq!(tries(bench, id).await.strikes, 2);
    id
}

async fn suspects_without_a_strike_are_claimed_like_any_job_and_in_their_order(bench: &Bench) {
    let first = [bench.put(job()).await, bench.put(job().lock("k")).await, bench.put(job()).await];
    crash(bench, 3, Suspects::None).await;
    let later = bench.put(job()).await;
    let worker = bench.worker();
    let (held, more) = worker.claim_suspects(5, Suspects::None).await;
    assert_eq!(
        held.iter().map(|held| held.id).collect::<Vec<_>>(),
        [first[0], first[1], first[2], later]
    );
    assert_eq!(more, More::No);
    assert!(held[..3].iter().all(|held| held.tries.suspect && !held.alone));
}

async fn a_turn_steps_over_struck_suspects_that_it_may_not_take(bench: &Bench) {
    let suspect = struck(bench, job()).await;
    let good = bench.put(job()).await;
    let worker = bench.worker();
    let (held, more) = worker.claim_suspects(5, Suspects::None).await;
    assert_eq!((held.len(), held[0].id, more), (1, good, More::OnlySuspects));
    let (held, more) = worker.claim_suspects(5, Suspects::None).await;
    assert_eq!((held.len(), more), (0, More::OnlySuspects), "nothing but the suspect");
    let next = bench.put(job()).await;
    let (held, more) = worker.claim_suspects(1, Suspects::None).await;
    assert_eq!((held[0].id, more), (next, More::Yes), "it does not count");
    let last = bench.put(job()).await;
    let (held, _) = worker.claim_suspects(5, Suspects::One).await;
    assert_eq!(
        held.iter().map(|held| held.id).collect::<Vec<_>>(),
        [suspect, last],
        "it kept its place in front"
    );
    assert!(held[0].tries.suspect && !held[0].alone);
}

async fn of_many_struck_suspects_those_behind_the_first_go_to_the_tail(bench: &Bench) {
    let mut suspects = Vec::new();
    for _ in 0..20 {
        suspects.push(bench.put(job()).await);
    }
    for _ in 0..2 {
        assert_eq!(crash(bench, 20, Suspects::None).await.len(), 20);
    }
    let good = bench.put(job()).await;
    let worker = bench.worker();
    let (held, more) = worker.claim_suspects(5, Suspects::None).await;
    assert_eq!((held.len(), held[0].id, more), (1, good, More::Yes), "four went to the tail");
    let behind = bench.put(job()).await;
    worker.done(&held[0]).await;
    let mut order = Vec::new();
    for _ in 0..21 {
        let (held, _) = worker.claim_suspects(1, Suspects::One).await;
        worker.done(&held[0]).await;
        order.push(held[0].id);
    }
    suspects.push(behind);
    assert_eq!(order, suspects, "in their order");
}

async fn a_suspect_put_off_at_its_last_strike_is_named_and_may_be_asked_for_by_itself(bench: &Bench) {
    let lone = at_its_last_strike(bench, job().crash_limit(3)).await;
    let others = [bench.put(job().priority(Priority::High)).await, bench.put(job()).await];
    let worker = bench.worker();
    for suspects in [Suspects::None, Suspects::One, Suspects::OneAlone] {
        let turn = Turn {
            suspects,
            ..wants(3, &["q"])
        };
        let (held, reply) = worker.turn(turn).await;
        assert_eq!((held.len(), reply.put_off), (2, Some(lone)), "{suspects:?}");
        for held in &held {
            worker.settle(held, Verdict::Return).await;
        }
    }
    let only = || Turn {
        suspects: Suspects::Only(lone),
        ..wants(1, &["q"])
    };
    bench.pause(&queue("q")).await.expect("a pause");
    assert!(worker.turn(only()).await.0.is_empty(), "not from a paused queue");
    bench.resume(&queue("q")).await.expect("a resume");
    let (held, reply) = worker.turn(only()).await;
    assert_eq!((held.len(), held[0].id, held[0].alone, reply.put_off), (1, lone, true, None));
    for other in others {
        assert_eq!(bench.state(other).await, "ready");
    }
    assert!(worker.turn(only()).await.0.is_empty(), "it is active");
    worker.done(&held[0]).await;
    assert!(worker.turn(only()).await.0.is_empty(), "it is gone");
}

async fn a_suspect_asked_for_by_itself_goes_before_a_waiter_that_the_same_turn_frees(bench: &Bench) {
    let lone = at_its_last_strike(bench, job().crash_limit(3)).await;
    let worker = bench.worker();
    bench.put(job().priority(Priority::High).lock("k")).await;
    let holder = worker.claim(1).await.remove(0);
    let waiter = bench.put(job().lock("k")).await;
    assert!(worker.claim(2).await.is_empty());
    assert_eq!(bench.state(waiter).await, "parked:k");
    let turn = Turn {
        settles: vec![holder.settle(Verdict::Done)],
        suspects: Suspects::Only(lone),
        ..wants(1, &["q"])
    };
    let (held, _) = worker.turn(turn).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [lone]);
    assert_eq!(bench.state(waiter).await, "ready", "it is next");
}

async fn a_suspect_asked_for_by_itself_that_parks_brings_nobody_else(bench: &Bench) {
    let lone = at_its_last_strike(bench, job().lock("k").crash_limit(3)).await;
    let blocker = bench.put(job().priority(Priority::High).lock("k")).await;
    let worker = bench.worker();
    let holder = worker.claim(1).await.remove(0);
    assert_eq!(holder.id, blocker);
    let other = bench.put(job()).await;
    let turn = Turn {
        suspects: Suspects::Only(lone),
        ..wants(2, &["q"])
    };
    assert!(worker.turn(turn).await.0.is_empty());
    assert_eq!(
        (bench.state(lone).await, bench.state(other).await),
        ("parked:k".into(), "ready".into())
    );
    worker.done(&holder).await;
}

async fn a_list_of_suspects_only_does_not_say_that_there_is_more(bench: &Bench) {
    for _ in 0..4 {
        bench.put(job()).await;
    }
    for _ in 0..2 {
        assert_eq!(crash(bench, 4, Suspects::None).await.len(), 4);
    }
    let worker = bench.worker();
    for _ in 0..3 {
        let (held, more) = worker.claim_suspects(2, Suspects::None).await;
        assert_eq!((held.len(), more), (0, More::OnlySuspects), "or a worker would spin");
    }
}

async fn a_claim_takes_one_struck_suspect_at_most(bench: &Bench) {
    for _ in 0..3 {
        bench.put(job()).await;
    }
    for _ in 0..2 {
        assert_eq!(crash(bench, 3, Suspects::None).await.len(), 3);
    }
    let worker = bench.worker();
    let (held, more) = worker.claim_suspects(5, Suspects::One).await;
    assert_eq!((held.len(), more), (1, More::OnlySuspects));
    assert_eq!(bench.census().await.expect("a read").ready[0].1, 2);
}

async fn the_first_crash_gives_no_strike_and_the_next_ones_do(bench: &Bench) {
    let id = bench.put(job()).await;
    for strikes in [0, 1, 2] {
        crash(bench, 1, Suspects::One).await;
        let tries = tries(bench, id).await;
        assert_eq!((tries.suspect, tries.strikes, tries.charged), (true, strikes, 0));
    }
}

async fn the_last_strike_is_given_only_alone(bench: &Bench) {
    let id = at_its_last_strike(bench, job()).await;
    let worker = bench.worker();
    let (held, more) = worker.claim_suspects(1, Suspects::One).await;
    assert_eq!(
        (held.len(), more),
        (0, More::OnlySuspects),
        "only for a worker that runs nothing else"
    );
    let (held, more) = worker.claim_suspects(5, Suspects::OneAlone).await;
    assert_eq!((held[0].id, held[0].alone, more), (id, true, More::Unknown));
    bench.later(LAPSE).await;
    worker.look().await;
    assert_eq!(bench.state(id).await, "dead:crashed");
    assert_eq!(tries(bench, id).await.strikes, 3);
    assert_eq!(bench.outcomes(id).await, [Outcome::Crashed; 4]);
}

async fn a_job_at_its_last_strike_is_the_only_job_of_its_claim(bench: &Bench) {
    let id = at_its_last_strike(bench, job()).await;
    let good = bench.put(job()).await;
    let worker = bench.worker();
    let (held, _) = worker.claim_suspects(5, Suspects::OneAlone).await;
    assert_eq!(held.iter().map(|held| held.id).collect::<Vec<_>>(), [id]);
    worker.done(&held[0]).await;
    let (held, _) = worker.claim_suspects(5, Suspects::OneAlone).await;
    assert_eq!(held[0].id, good);
}

async fn a_job_at_its_last_strike_does_not_join_others(bench: &Bench) {
    let suspect = at_its_last_strike(bench, job()).await;
    let first = bench.put(job().priority(Priority::High)).await;
    let worker = bench.worker();
    let (held, more) = worker.claim_suspects(5, Suspects::OneAlone).await;
    assert_eq!((held.len(), held[0].id, held[0].alone, more), (1, first, false, More::OnlySuspects));
    assert_eq!(bench.state(suspect).await, "ready");
}

async fn a_crash_limit_of_one_buries_at_the_second_crash(bench: &Bench) {
    let id = bench.put(job().crash_limit(1)).await;
    crash(bench, 1, Suspects::None).await;
    assert_eq!(bench.state(id).await, "ready", "the first may have been a neighbour's fault");
    assert!(crash(bench, 1, Suspects::OneAlone).await[0].alone);
    assert_eq!(bench.state(id).await, "dead:crashed");
}

async fn neighbours_of_a_killer_become_suspects_and_are_never_buried_for_it(bench: &Bench) {
    let killer = bench.put(job().crash_limit(2)).await;
    let good = bench.put(job().crash_limit(2)).await;
    assert_eq!(crash(bench, 2, Suspects::None).await.len(), 2);
    let mut ran = Vec::new();
    for _ in 0..20 {
        let worker = bench.worker();
        let (held, _) = worker.claim_suspects(5, Suspects::OneAlone).await;
        for held in held {
            ran.push(held.id);
            if held.id == good {
                worker.done(&held).await;
            }
        }
        bench.later(LAPSE).await;
        bench.worker().look().await;
    }
    assert_eq!(
        (bench.state(killer).await, bench.state(good).await),
        ("dead:crashed".into(), "gone".into()),
        "{ran:?}"
    );
}

async fn an_accepted_settle_clears_mark_and_strikes(bench: &Bench) {
    for verdict in [Verdict::Return, retry_after(LAPSE)] {
        let id = bench.put(job()).await;
        for _ in 0..2 {
            crash(bench, 1, Suspects::One).await;
        }
        let worker = bench.worker();
        let (held, _) = worker.claim_suspects(1, Suspects::One).await;
        assert_eq!((held[0].id, held[0].tries.strikes), (id, 1));
        assert_eq!(worker.settle(&held[0], verdict).await, SettleAnswer::Accepted);
        let tries = tries(bench, id).await;
        assert_eq!((tries.suspect, tries.strikes), (false, 0));
        bench.cancel(id).await.expect("a cancel");
        assert!(worker.claim(5).await.is_empty(), "its entry is stale");
    }
}

async fn a_worker_that_comes_back_clears_the_suspicion_it_caused(bench: &Bench) {
    let late = bench.worker();
    let id = bench.put(job()).await;
    let held = late.claim_one().await;
    bench.later(LAPSE).await;
    bench.worker().look().await;
    assert!(tries(bench, id).await.suspect);
    assert_eq!(late.settle(&held, Verdict::Done).await, SettleAnswer::Lost);
    assert!(!tries(bench, id).await.suspect);
    assert_eq!(bench.outcomes(id).await, [Outcome::Crashed, Outcome::LeaseLost]);
}

async fn a_worker_that_comes_back_takes_back_its_own_strike_and_no_other(bench: &Bench) {
    let first = bench.worker();
    let id = bench.put(job()).await;
    let old = first.claim_one().await;
    bench.later(LAPSE).await;
    bench.worker().look().await;
    let second = bench.worker();
    let (held, _) = second.claim_suspects(1, Suspects::One).await;
    bench.later(LAPSE).await;
    bench.worker().look().await;
    assert_eq!(tries(bench, id).await.strikes, 1);
    first.settle(&old, Verdict::Done).await;
    assert_eq!(
        (tries(bench, id).await.strikes, tries(bench, id).await.suspect),
        (1, true),
        "the last reap was not from it"
    );
    second.settle(&held[0], Verdict::Done).await;
    assert_eq!((tries(bench, id).await.strikes, tries(bench, id).await.suspect), (0, false));
    second.settle(&held[0], Verdict::Done).await;
    assert_eq!(tries(bench, id).await.strikes, 0, "only once");
}

on_every_engine!(
    suspects_without_a_strike_are_claimed_like_any_job_and_in_their_order,
    a_turn_steps_over_struck_suspects_that_it_may_not_take,
    of_many_struck_suspects_those_behind_the_first_go_to_the_tail,
    a_suspect_put_off_at_its_last_strike_is_named_and_may_be_asked_for_by_itself,
    a_suspect_asked_for_by_itself_goes_before_a_waiter_that_the_same_turn_frees,
    a_suspect_asked_for_by_itself_that_parks_brings_nobody_else,
    a_list_of_suspects_only_does_not_say_that_there_is_more,
    a_claim_takes_one_struck_suspect_at_most,
    the_first_crash_gives_no_strike_and_the_next_ones_do,
    the_last_strike_is_given_only_alone,
    a_job_at_its_last_strike_is_the_only_job_of_its_claim,
    a_job_at_its_last_strike_does_not_join_others,
    a_crash_limit_of_one_buries_at_the_second_crash,
    neighbours_of_a_killer_become_suspects_and_are_never_buried_for_it,
    an_accepted_settle_clears_mark_and_strikes,
    a_worker_that_comes_back_clears_the_suspicion_it_caused,
    a_worker_that_comes_back_takes_back_its_own_strike_and_no_other,
);
