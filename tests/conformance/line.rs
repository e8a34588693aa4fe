//! Clients in line for a lock: parked with the jobs, offered, confirmed, given up; holds renewed and broken.

use std::time::Duration;

use linchpin::names::{Fence, OwnerToken, ProcessId};
use linchpin::store::circumstances::WaiterView;
use linchpin::store::lease::{AcquireAnswer, BreakAnswer, HoldRenewal, HoldRenewed, ParkAnswer, ReleaseAnswer};
use linchpin::store::settle::{Settle, SettleAnswer, Verdict};
use linchpin::store::view::Push;
use tokio::sync::mpsc::Receiver;

use super::bench::Bench;
use super::draft::{job, key, secs, strange_token};
use super::worker::wants;

const TTL: Duration = Duration::from_secs(60);

/// One process that waits for the lock `k`.
struct Client<'a> {
    bench: &'a Bench,
    token: OwnerToken,
    pushes: Option<Receiver<Push>>,
}

impl<'a> Client<'a> {
    async fn new(bench: &'a Bench) -> Self {
        let mut client = Self::deaf(bench);
        client.subscribe().await;
        client
    }

    /// One that cannot be told anything.
    fn deaf(bench: &'a Bench) -> Self {
        let token = OwnerToken::new(&ProcessId::random(), 1000, 1);
        Self {
            bench,
            token,
            pushes: None,
        }
    }

    async fn subscribe(&mut self) {
        self.pushes = Some(self.bench.pushes(&self.token.process()).await.expect("a subscription"));
    }

    /// Asks: the fence, or none when it stands in line.
    async fn asks(&self) -> Option<Fence> {
        match self
            .bench
            .acquire_or_park(&key("k"), &self.token, TTL, true)
            .await
            .expect("an answer")
        {
            ParkAnswer::Acquired { fence, .. } => Some(fence),
            ParkAnswer::Parked { ask_in } => {
                assert!(!ask_in.is_zero() && ask_in <= secs(1), "{ask_in:?}");
                None
            }
        }
    }

    async fn takes(&self) -> Fence {
        self.asks().await.expect("the lock")
    }

    async fn waits(&self) {
        assert_eq!(self.asks().await, None);
    }

    async fn is_told(&mut self, push: Push) {
        let told = self.pushes.as_mut().expect("a subscription").recv();
        let told = tokio::time::timeout(secs(10), told).await.expect("a push in time");
        assert_eq!(told, Some(push));
    }

    async fn is_offered(&mut self) {
        let token = self.token.clone();
        self.is_told(Push::Offered(token)).await;
    }

    async fn releases(&self) {
        let answer = self.bench.release(&key("k"), &self.token).await;
        assert_eq!(answer.expect("an answer"), ReleaseAnswer::Released);
    }

    async fn renews(&self) -> HoldRenewed {
        let hold = HoldRenewal {
            key: key("k"),
            token: self.token.clone(),
            ttl: TTL,
        };
        self.bench.renew_holds(vec![hold]).await.expect("an answer").holds[0]
    }
}

async fn a_client_is_offered_the_lock_in_one_line_with_jobs(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let before = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let mut client = Client::new(bench).await;
    client.waits().await;
    let after = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    worker.done(&holder).await;
    let held = worker.claim_one().await;
    assert_eq!(held.id, before);
    client.waits().await;
    worker.done(&held).await;
    client.is_offered().await;
    assert_eq!(bench.state(after).await, format!("parked:{}", "k"));
    let stranger = bench.acquire(&key("k"), &strange_token(), TTL).await;
    assert_eq!(stranger.expect("an answer"), AcquireAnswer::Busy, "an offer excludes like a hold");
    let fence = client.takes().await;
    assert!(fence > held.fence, "fences grow per lock");
    assert_eq!(client.takes().await, fence, "a resend");
    client.releases().await;
    let last = worker.claim_one().await;
    assert_eq!(last.id, after);
    assert!(last.fence > fence);
}

async fn an_offer_of_the_settling_turn_keeps_fences_growing(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let mut client = Client::new(bench).await;
    client.waits().await;
    bench.put(job().lock("k")).await;
    bench.put(job().lock("other")).await;
    // settles the holder, offers the lock to the client, and claims what is left, all in one turn
    let turn = linchpin::store::turn::Turn {
        settles: vec![holder.settle(Verdict::Done)],
        ..wants(2, &["q"])
    };
    let (held, reply) = worker.turn(turn).await;
    assert_eq!((reply.settled.as_slice(), held.len()), ([SettleAnswer::Accepted].as_slice(), 1));
    client.is_offered().await;
    let fence = client.takes().await;
    assert!(fence > holder.fence);
    client.releases().await;
    let waiter = worker.claim_one().await;
    assert!(waiter.fence > fence && waiter.fence > held[0].fence);
}

async fn an_offer_that_nobody_confirms_ends_after_a_second_and_goes_to_the_next_who_asks(bench: &Bench) {
    let (holder, mut late, next) = (Client::new(bench).await, Client::new(bench).await, Client::new(bench).await);
    let first = holder.takes().await;
    late.waits().await;
    next.waits().await;
    holder.releases().await;
    late.is_offered().await;
    bench.later(Duration::from_millis(900)).await;
    next.waits().await;
    bench.later(Duration::from_millis(200)).await;
    assert!(next.takes().await > first);
    late.waits().await;
}

async fn a_client_that_cannot_be_told_keeps_its_place(bench: &Bench) {
    let (holder, mut deaf, mut other) = (Client::new(bench).await, Client::deaf(bench), Client::new(bench).await);
    holder.takes().await;
    deaf.waits().await;
    other.waits().await;
    holder.releases().await;
    other.is_offered().await;
    other.takes().await;
    let last = Client::new(bench).await;
    last.waits().await;
    deaf.subscribe().await;
    other.releases().await;
    deaf.is_offered().await;
    last.waits().await;
    deaf.takes().await;
}

async fn who_cannot_be_told_takes_a_free_lock_when_it_asks(bench: &Bench) {
    let (holder, deaf) = (Client::new(bench).await, Client::deaf(bench));
    holder.takes().await;
    deaf.waits().await;
    holder.releases().await;
    deaf.takes().await;
    deaf.releases().await;
}

async fn a_process_that_does_not_ask_is_passed_over_and_then_gone(bench: &Bench) {
    let (holder, mut silent, mut other) = (Client::new(bench).await, Client::new(bench).await, Client::new(bench).await);
    holder.takes().await;
    silent.waits().await;
    bench.later(secs(5)).await;
    other.waits().await;
    holder.releases().await;
    other.is_offered().await;
    other.takes().await;
    // it asks again, in its old place
    silent.waits().await;
    let third = Client::new(bench).await;
    third.waits().await;
    other.releases().await;
    silent.is_offered().await;
    silent.takes().await;
    bench.later(secs(31)).await;
    let fourth = Client::new(bench).await;
    fourth.waits().await;
    silent.releases().await;
    fourth.takes().await;
    fourth.releases().await;
    assert!(!bench.key_names().await.contains(&"parked:k".to_owned()), "the third is gone");
}

async fn who_gives_up_leaves_the_line_and_an_offer_goes_on(bench: &Bench) {
    let (holder, mut first, mut second) = (Client::new(bench).await, Client::new(bench).await, Client::new(bench).await);
    let quitter = Client::new(bench).await;
    holder.takes().await;
    quitter.waits().await;
    first.waits().await;
    second.waits().await;
    let gave_up = bench.give_up(&key("k"), &quitter.token).await;
    assert_eq!(gave_up.expect("an answer"), ReleaseAnswer::NotHeld);
    holder.releases().await;
    first.is_offered().await;
    let gave_up = bench.give_up(&key("k"), &first.token).await;
    assert_eq!(gave_up.expect("an answer"), ReleaseAnswer::Released);
    second.is_offered().await;
    second.takes().await;
    second.releases().await;
    let names = bench.key_names().await;
    assert!(!names.contains(&"parked:k".to_owned()) && !names.contains(&"lock_checks".to_owned()));
}

async fn who_asks_often_stands_in_line_once(bench: &Bench) {
    let (holder, mut client) = (Client::new(bench).await, Client::new(bench).await);
    holder.takes().await;
    for _ in 0..3 {
        client.waits().await;
    }
    assert_eq!(bench.census().await.expect("a read").parked, 1);
    holder.releases().await;
    client.is_offered().await;
    client.takes().await;
    assert_eq!(bench.census().await.expect("a read").parked, 0);
}

async fn asking_frees_a_lock_that_ended_by_its_time_without_any_worker(bench: &Bench) {
    let (holder, first, second) = (Client::new(bench).await, Client::deaf(bench), Client::new(bench).await);
    holder.takes().await;
    bench.later(secs(58)).await;
    first.waits().await;
    second.waits().await;
    bench.later(secs(3)).await;
    second.takes().await;
}

async fn asking_passes_on_a_turn_that_no_worker_takes(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let parked = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let client = Client::new(bench).await;
    client.waits().await;
    worker.done(&holder).await;
    assert_eq!(bench.state(parked).await, "ready");
    client.waits().await;
    bench.later(Duration::from_millis(2100)).await;
    client.takes().await;
    assert_eq!(bench.state(parked).await, "parked:k", "first behind who has it now");
    client.releases().await;
    assert_eq!(worker.claim_one().await.id, parked);
}

async fn a_hold_is_renewed_and_never_taken_again_by_a_renewal(bench: &Bench) {
    let client = Client::new(bench).await;
    client.takes().await;
    bench.later(secs(59)).await;
    assert_eq!(client.renews().await, HoldRenewed::Renewed);
    bench.later(secs(59)).await;
    assert_eq!(client.renews().await, HoldRenewed::Renewed);
    bench.later(secs(61)).await;
    assert_eq!(client.renews().await, HoldRenewed::Expired);
    let other = Client::new(bench).await;
    other.takes().await;
    assert_eq!(client.renews().await, HoldRenewed::Taken);
    assert_eq!(other.renews().await, HoldRenewed::Renewed);
    let answer = bench.release(&key("k"), &client.token).await;
    assert_eq!(answer.expect("an answer"), ReleaseAnswer::NotHeld);
    other.releases().await;
    assert_eq!(other.renews().await, HoldRenewed::Expired);
}

async fn a_broken_lock_goes_to_the_next_and_its_holder_is_told(bench: &Bench) {
    assert_eq!(bench.break_lock(&key("k")).await.expect("an answer"), BreakAnswer::Free);
    let (mut holder, mut waiter) = (Client::new(bench).await, Client::new(bench).await);
    let fence = holder.takes().await;
    waiter.waits().await;
    let broken = bench.break_lock(&key("k")).await.expect("an answer");
    let token = holder.token.clone();
    assert_eq!(
        broken,
        BreakAnswer::Broken {
            token: token.clone(),
            fence
        }
    );
    waiter.is_offered().await;
    waiter.takes().await;
    holder.is_told(Push::Broken(key("k"), token)).await;
    assert_eq!(holder.renews().await, HoldRenewed::Broken);
    bench.later(secs(3600)).await;
    assert_eq!(holder.renews().await, HoldRenewed::Broken, "as long as any lease");
    bench.engine.plant_foreign_lock(&key("foreign")).await;
    assert_eq!(bench.break_lock(&key("foreign")).await.expect("an answer"), BreakAnswer::Foreign);
    bench.engine.lose_lock(&key("foreign")).await;
}

async fn locks_are_listed_by_their_keys_with_holders_and_waiters(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    let parked = bench.put(job().lock("k")).await;
    assert!(worker.claim(1).await.is_empty());
    let client = Client::new(bench).await;
    client.waits().await;
    let odd = key("a|b,c%d");
    assert!(matches!(
        bench.acquire(&odd, &client.token, TTL).await.expect("an answer"),
        AcquireAnswer::Acquired { .. }
    ));
    bench.later(secs(2)).await;
    let line = bench.lock(&key("k")).await.expect("a read").expect("it is held");
    assert_eq!(line.waiters, [WaiterView::Job(parked), WaiterView::Client(client.token.clone())]);
    assert_eq!(line.next, None);
    let held = line.lock.holder.as_ref().expect("a holder");
    assert_eq!((held.job, held.fence), (Some(id), holder.fence));
    assert!(held.held_for >= secs(1) && held.held_for <= secs(3), "{held:?}");
    let page = bench.locks(None, 1).await.expect("a read");
    assert_eq!(page.next, Some(odd.clone()));
    let free = page.locks[0].holder.as_ref().expect("a holder");
    assert_eq!((free.job, &free.token), (None, &client.token));
    assert!(free.left <= TTL - secs(2), "{free:?}");
    let page = bench.locks(page.next.as_ref(), 1).await.expect("a read");
    assert_eq!((page.locks.len(), page.next), (1, None));
    let listed = page.locks[0].holder.as_ref().expect("a holder");
    assert_eq!((&listed.token, listed.fence, listed.job), (&held.token, held.fence, held.job));
    assert_eq!(page.locks[0].waiters, 2);
    worker.done(&holder).await;
    let line = bench.lock(&key("k")).await.expect("a read").expect("waited for");
    assert_eq!((line.lock.holder, line.next), (None, Some(parked)));
    assert_eq!(line.waiters, [WaiterView::Client(client.token.clone())]);
    assert_eq!(bench.lock(&key("nobody's")).await.expect("a read"), None);
}

async fn every_lock_of_a_claim_is_shown_with_the_fence_of_its_own_attempt(bench: &Bench) {
    let worker = bench.worker();
    bench.put(job()).await;
    for lock in ["a", "b", "c"] {
        bench.put(job().lock(lock)).await;
    }
    let claimed = worker.claim(4).await;
    let fences: Vec<_> = claimed[1..].iter().map(|one| one.fence).collect();
    for (lock, fence) in ["a", "b", "c"].into_iter().zip(&fences) {
        let line = bench.lock(&key(lock)).await.expect("a read").expect("it is held");
        assert_eq!(line.lock.holder.expect("a holder").fence, *fence, "{lock}");
    }
    assert!(matches!(
        bench.break_lock(&key("c")).await.expect("an answer"),
        BreakAnswer::Broken { fence, .. } if fence == fences[2]
    ));
    let kept = Settle {
        keep: Some(secs(30)),
        ..claimed[2].settle(Verdict::Done)
    };
    let (_, reply) = worker
        .turn(linchpin::store::turn::Turn {
            settles: vec![kept],
            ..wants(0, &["q"])
        })
        .await;
    assert_eq!(reply.settled, [SettleAnswer::Accepted]);
    let line = bench.lock(&key("b")).await.expect("a read").expect("it is kept");
    assert_eq!(
        line.lock.holder.expect("a holder").fence,
        fences[1],
        "after its claim's row is gone too"
    );
}

async fn the_settle_of_a_broken_attempt_is_refused(bench: &Bench) {
    let worker = bench.worker();
    let id = bench.put(job().lock("k")).await;
    let holder = worker.claim_one().await;
    assert!(matches!(
        bench.break_lock(&key("k")).await.expect("an answer"),
        BreakAnswer::Broken { fence, .. } if fence == holder.fence
    ));
    let (_, reply) = worker
        .turn(linchpin::store::turn::Turn {
            settles: vec![holder.settle(Verdict::Done)],
            ..wants(0, &["q"])
        })
        .await;
    assert_eq!(reply.settled, [SettleAnswer::Lost]);
    assert_eq!(bench.state(id).await, "ready");
}

on_every_engine!(
    a_client_is_offered_the_lock_in_one_line_with_jobs,
    an_offer_of_the_settling_turn_keeps_fences_growing,
    an_offer_that_nobody_confirms_ends_after_a_second_and_goes_to_the_next_who_asks,
    a_client_that_cannot_be_told_keeps_its_place,
    who_cannot_be_told_takes_a_free_lock_when_it_asks,
    a_process_that_does_not_ask_is_passed_over_and_then_gone,
    who_gives_up_leaves_the_line_and_an_offer_goes_on,
    who_asks_often_stands_in_line_once,
    asking_frees_a_lock_that_ended_by_its_time_without_any_worker,
    asking_passes_on_a_turn_that_no_worker_takes,
    a_hold_is_renewed_and_never_taken_again_by_a_renewal,
    a_broken_lock_goes_to_the_next_and_its_holder_is_told,
    every_lock_of_a_claim_is_shown_with_the_fence_of_its_own_attempt,
    the_settle_of_a_broken_attempt_is_refused,
    locks_are_listed_by_their_keys_with_holders_and_waiters,
);
