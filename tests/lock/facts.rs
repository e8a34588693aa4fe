//! What holds on every engine. Times are real here; nothing sleeps.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use linchpin::lock::{Guard, Loss, ReleaseAnswer};
use linchpin::names::LockKey;
use linchpin::store::Store;
use linchpin::{Client, Error};
use tokio::sync::mpsc;

use crate::support::within;

/// A store, and two processes on it.
struct Two {
    store: Arc<dyn Store>,
    one: Client,
    other: Client,
}

impl Two {
    fn on(store: Arc<dyn Store>) -> Self {
        Self {
            one: Client::on(store.clone()),
            other: Client::on(store.clone()),
            store,
        }
    }

    /// Waits until so many stand in line.
    async fn in_line(&self, count: u64) {
        within("a line", async {
            while self.one.census().await.expect("a read").parked != count {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    async fn breaks(&self, key: &str) {
        self.store.break_lock(&LockKey::new(key).expect("a key")).await.expect("an answer");
    }

    async fn is_free(&self, key: &str) -> bool {
        match self.other.lock(key).try_acquire().await {
            Ok(guard) => guard.release().await.expect("an answer") == ReleaseAnswer::Released,
            Err(Error::Busy { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    async fn gets_free(&self, key: &str) {
        let guard = within("a free lock", self.other.lock(key).acquire()).await.expect("the lock");
        guard.release().await.expect("an answer");
    }
}

async fn takes(client: &Client, key: &str) -> Guard {
    within("the lock", client.lock(key).acquire()).await.expect("the lock")
}

async fn a_lock_excludes_until_it_is_released(two: &Two) {
    let guard = takes(&two.one, "k").await;
    assert!(guard.is_valid() && guard.key().as_str() == "k");
    assert!(!two.is_free("k").await);
    assert!(two.is_free("another").await);
    let busy = two.other.lock("k").wait(Duration::from_millis(20)).acquire().await;
    assert!(matches!(busy, Err(Error::Busy { key }) if key.as_str() == "k"));
    assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::Released);
    assert_eq!(
        guard.release().await.expect("an answer"),
        ReleaseAnswer::Released,
        "its answer stands"
    );
    assert!(!guard.is_valid());
    assert!(two.is_free("k").await);
    assert_eq!(two.one.census().await.expect("a read").parked, 0, "who gave up has left the line");
}

async fn who_waits_gets_it_in_the_order_of_coming_and_fences_grow(two: &Two) {
    let holder = takes(&two.one, "k").await;
    let (say, mut heard) = mpsc::unbounded_channel();
    for (number, client) in [&two.one, &two.other, &two.one, &two.other].into_iter().enumerate() {
        let (client, say) = (client.clone(), say.clone());
        tokio::spawn(async move {
            let guard = takes(&client, "k").await;
            say.send((number, guard.fence())).expect("a listener");
            guard.release().await.expect("an answer");
        });
        two.in_line(number as u64 + 1).await;
    }
    let mut last = holder.fence();
    holder.release().await.expect("an answer");
    for expected in 0..4 {
        let (number, fence) = within("the next", heard.recv()).await.expect("a word");
        assert_eq!(number, expected);
        assert!(fence > last);
        last = fence;
    }
}

async fn a_dropped_guard_is_released(two: &Two) {
    drop(takes(&two.one, "k").await);
    two.gets_free("k").await;
}

async fn a_closed_client_has_released_what_was_dropped(two: &Two) {
    drop(takes(&two.one, "k").await);
    two.one.close().await.expect("an answer");
    assert!(two.is_free("k").await);
}

async fn a_dropped_acquire_leaves_the_line(two: &Two) {
    let holder = takes(&two.one, "k").await;
    let client = two.other.clone();
    let waiting = tokio::spawn(async move { client.lock("k").acquire().await });
    two.in_line(1).await;
    waiting.abort();
    two.in_line(0).await;
    holder.release().await.expect("an answer");
    assert!(two.is_free("k").await);
}

/// Polls a future so many times, with the runtime at work between, and drops it; its output if it came to that.
async fn polled<F: Future>(times: u64, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    for _ in 0..times {
        let once = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        if let Poll::Ready(output) = once.await {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

async fn an_acquire_dropped_anywhere_leaves_nothing(two: &Two) {
    for round in 0..200u64 {
        let holder = match round % 3 {
            0 => Some(takes(&two.other, "k").await),
            _ => None,
        };
        if let Some(guard) = polled(round % 67, two.one.lock("k").acquire()).await {
            guard.expect("the lock").release().await.expect("an answer");
        }
        drop(holder);
        two.gets_free("k").await;
    }
    two.in_line(0).await;
}

async fn a_release_dropped_anywhere_goes_on(two: &Two) {
    for round in 0..200u64 {
        let guard = takes(&two.one, "k").await;
        if let Some(answer) = polled(round % 33, guard.release()).await {
            assert_eq!(answer.expect("an answer"), ReleaseAnswer::Released);
        }
        drop(guard);
        two.gets_free("k").await;
    }
}

async fn an_owner_enters_again_and_its_last_release_frees(two: &Two) {
    let owner = two.one.owner();
    let outer = owner.lock("k").acquire().await.expect("free");
    let inner = owner.lock("k").try_acquire().await.expect("entered again");
    assert_eq!(inner.fence(), outer.fence());
    let other_owner = two.one.owner().lock("k").try_acquire().await;
    assert!(
        matches!(other_owner, Err(Error::Busy { .. })),
        "owners of one process exclude each other"
    );
    outer.release().await.expect("an answer");
    outer.release().await.expect("counted once");
    assert!(inner.is_valid());
    assert!(!two.is_free("k").await);
    inner.release().await.expect("an answer");
    assert!(two.is_free("k").await);
    let again = owner.lock("k").acquire().await.expect("free");
    assert!(again.fence() > inner.fence(), "a new acquisition");
    assert!(inner.lost().cause().is_none());
    again.release().await.expect("an answer");
}

async fn an_owner_does_not_enter_what_it_lost(two: &Two) {
    let owner = two.one.owner();
    let lost = owner.lock("k").lease(Duration::from_millis(60)).acquire().await.expect("free");
    assert_eq!(within("its end", lost.lost()).await, Loss::Expired);
    let again = within("the lock", owner.lock("k").acquire()).await.expect("free by its time");
    assert!(again.fence() > lost.fence());
    drop(lost);
    assert!(again.is_valid(), "the end of the old hold does not touch the new one");
    assert!(owner.lock("k").try_acquire().await.is_ok());
}

async fn a_fixed_lease_ends_by_itself(two: &Two) {
    let guard = two.one.lock("k").lease(Duration::from_millis(100)).acquire().await.expect("free");
    let next = takes(&two.other, "k").await;
    assert_eq!(guard.lost().cause(), Some(Loss::Expired));
    assert!(next.fence() > guard.fence());
    assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::NotHeld);
    assert!(next.is_valid());
}

async fn a_hold_is_renewed_until_its_release(two: &Two) {
    let lease = Duration::from_secs(1);
    let guard = two.one.lock("k").renewed(lease).acquire().await.expect("free");
    let first = guard.valid_until();
    within("renewals", async {
        while guard.valid_until() < first.plus(lease * 3 / 2) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(guard.is_valid());
    assert!(!two.is_free("k").await);
    assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::Released);
}

async fn a_hold_ends_at_its_longest_time_though_it_is_renewed(two: &Two) {
    let most = Duration::from_millis(1500);
    let lock = two.one.lock("k").renewed(Duration::from_secs(1)).max_hold(most);
    let begun = Instant::now();
    let guard = lock.acquire().await.expect("free");
    assert_eq!(within("its end", guard.lost()).await, Loss::HeldTooLong);
    let held = begun.elapsed();
    assert!(held >= most - Duration::from_millis(100), "{held:?}");
    let next = takes(&two.other, "k").await;
    assert!(next.fence() > guard.fence());
    assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::NotHeld);
    next.release().await.expect("an answer");
}

async fn a_lock_is_kept_for_its_shortest_time_and_then_goes_to_who_waits(two: &Two) {
    let least = Duration::from_millis(600);
    for drops in [false, true] {
        let guard = two.one.lock("k").lock_at_least(least).acquire().await.expect("free");
        let begun = Instant::now();
        match drops {
            true => drop(guard),
            false => assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::Released),
        }
        assert!(!two.is_free("k").await, "dropped: {drops}");
        let next = takes(&two.other, "k").await;
        assert!(begun.elapsed() >= least - Duration::from_millis(50), "{:?}", begun.elapsed());
        next.release().await.expect("an answer");
    }
    // over already: it is free at once
    let guard = two.one.lock("k").lock_at_least(Duration::ZERO).acquire().await.expect("free");
    guard.release().await.expect("an answer");
    assert!(two.is_free("k").await);
}

async fn several_locks_are_taken_all_or_none(two: &Two) {
    let held = takes(&two.one, "b").await;
    let error = two
        .other
        .lock_all(["c", "b", "a", "b"])
        .try_acquire()
        .await
        .expect_err("one is held");
    assert!(matches!(&error, Error::Busy { key } if key.as_str() == "b"), "{error}");
    for free in ["a", "c"] {
        assert!(two.is_free(free).await, "{free}");
    }
    let waiting = two.other.lock_all(["a", "b", "c"]).wait(Duration::from_millis(100)).acquire().await;
    assert!(matches!(waiting, Err(Error::Busy { .. })));
    let client = two.other.clone();
    let waiting = tokio::spawn(async move { client.lock_all(["a", "b", "c"]).acquire().await });
    two.in_line(1).await;
    assert!(two.is_free("a").await, "nothing is held while it waits");
    held.release().await.expect("an answer");
    let all = within("all", waiting).await.expect("no panic").expect("all");
    assert!(all.is_valid() && all.fence("b") > Some(held.fence()) && all.fence("d").is_none());
    two.breaks("c").await;
    assert_eq!(all.release().await.expect("an answer"), ReleaseAnswer::NotHeld);
    for free in ["a", "b", "c"] {
        assert!(two.is_free(free).await, "{free}");
    }
    let error = two
        .one
        .lock_all(Vec::<String>::new())
        .acquire()
        .await
        .expect_err("no key")
        .to_string();
    assert!(error.contains("1 to 8"), "{error}");
}

async fn who_takes_crossed_keys_does_not_wait_for_ever(two: &Two) {
    let transfers = |client: &Client, keys: [&'static str; 2]| {
        let client = client.clone();
        tokio::spawn(async move {
            for _ in 0..30 {
                let both = client.lock_all(keys).acquire().await.expect("both");
                assert!(both.is_valid());
                tokio::task::yield_now().await;
                both.release().await.expect("an answer");
            }
        })
    };
    let (one, other) = (transfers(&two.one, ["a", "b"]), transfers(&two.other, ["b", "a"]));
    within("one", one).await.expect("no panic");
    within("the other", other).await.expect("no panic");
}

async fn a_broken_lock_tells_its_holder(two: &Two) {
    let guard = takes(&two.one, "k").await;
    let waiting = tokio::spawn({
        let client = two.other.clone();
        async move { takes(&client, "k").await.fence() }
    });
    two.in_line(1).await;
    // so that its process hears pushes, and does not wait for its renewal
    let listening = takes(&two.other, "l").await;
    let second = two.one.clone();
    let waits = tokio::spawn(async move { second.lock("l").acquire().await });
    two.in_line(2).await;
    two.breaks("k").await;
    assert_eq!(within("the word", guard.lost()).await, Loss::Broken);
    assert!(!guard.is_valid());
    assert!(within("the waiter", waiting).await.expect("no panic") > guard.fence());
    assert_eq!(guard.release().await.expect("an answer"), ReleaseAnswer::NotHeld);
    drop(listening);
    let taken = within("the other lock", waits).await.expect("no panic").expect("the lock");
    taken.release().await.expect("an answer");
}

async fn run_holds_it_for_the_body_and_gives_its_value(two: &Two) {
    let other = &two.other;
    let value = two
        .one
        .lock("k")
        .run(|lease| async move {
            assert!(lease.is_valid());
            assert!(other.lock("k").try_acquire().await.is_err());
            Err::<(), _>("the body's own")
        })
        .await;
    assert_eq!(value.expect("held"), Err("the body's own"));
    assert!(two.is_free("k").await);
}

async fn run_drops_the_body_when_the_lock_is_lost(two: &Two) {
    let (say, mut heard) = mpsc::unbounded_channel::<()>();
    let running = two.one.lock("k").lease(Duration::from_millis(60)).run(|_| async move {
        let _open = say;
        std::future::pending::<()>().await;
    });
    let error = within("its loss", running).await.expect_err("lost");
    assert!(
        matches!(&error, Error::Lost { action } if action.contains("its time was over")),
        "{error}"
    );
    assert_eq!(heard.recv().await, None, "the body is gone");
}

async fn what_is_wrong_is_said_at_once(two: &Two) {
    let error = two.one.lock("").lease(Duration::ZERO).acquire().await.expect_err("both are wrong");
    let text = error.to_string();
    assert!(text.contains("lock key") && text.contains("10 ms to 1 h"), "{text}");
    let error = two.one.lock("k").renewed(Duration::from_millis(500)).try_acquire().await;
    assert!(matches!(error, Err(Error::Invalid(_))));
    let times = |lease, least| two.one.lock("k").lease(lease).max_hold(Duration::ZERO).lock_at_least(least);
    let error = times(Duration::from_secs(1), Duration::from_secs(2))
        .try_acquire()
        .await
        .expect_err("both");
    let text = error.to_string();
    assert!(text.contains("max_hold") && text.contains("at most the lease, 1s"), "{text}");
}

macro_rules! on_every_engine {
    ($($fact:ident),* $(,)?) => {
        mod memory {
            $(
                #[tokio::test]
                async fn $fact() {
                    let store = linchpin::store::memory::MemoryStore::new();
                    super::$fact(&super::Two::on(std::sync::Arc::new(store))).await;
                }
            )*
        }
        #[cfg(feature = "redis")]
        mod redis {
            $(
                #[tokio::test]
                async fn $fact() {
                    let server = crate::support::RedisServer::start();
                    let store = crate::faults::store(&server.url()).await;
                    super::$fact(&super::Two::on(store)).await;
                }
            )*
        }
    };
}

on_every_engine!(
    a_lock_excludes_until_it_is_released,
    who_waits_gets_it_in_the_order_of_coming_and_fences_grow,
    a_dropped_guard_is_released,
    a_closed_client_has_released_what_was_dropped,
    a_dropped_acquire_leaves_the_line,
    an_acquire_dropped_anywhere_leaves_nothing,
    a_release_dropped_anywhere_goes_on,
    an_owner_enters_again_and_its_last_release_frees,
    an_owner_does_not_enter_what_it_lost,
    a_fixed_lease_ends_by_itself,
    a_hold_is_renewed_until_its_release,
    a_hold_ends_at_its_longest_time_though_it_is_renewed,
    a_lock_is_kept_for_its_shortest_time_and_then_goes_to_who_waits,
    several_locks_are_taken_all_or_none,
    who_takes_crossed_keys_does_not_wait_for_ever,
    a_broken_lock_tells_its_holder,
    run_holds_it_for_the_body_and_gives_its_value,
    run_drops_the_body_when_the_lock_is_lost,
    what_is_wrong_is_said_at_once,
);
