//! The fetcher: one loop that turns. It owns the free slots and the two turns in flight.
//!
//! A turn carries its share of settles and of claims, at most half of the slots' worth; the second goes out only when a share
//! waits. What ends meanwhile rides the next; there is no linger timer.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::attempt::{Claimed, End, Ended, Phase, StopCause, Workshop};
use crate::error::Error;
use crate::failpoint::{self, Step};
use crate::limits::grace;
use crate::names::{JobId, QueueName};
use crate::store::Store;
use crate::store::turn::{Claim, Suspects, Turn, TurnReply};
use crate::worker::appetite::Appetite;
use crate::worker::health::Vitals;
use crate::worker::herald::Again;
use crate::worker::looker::{Fleet, Looker};
use crate::worker::settler::{Cargo, Settler};
use crate::worker::share::Share;
use crate::worker::slots::Slots;
use crate::worker::watchdog::Watched;
use crate::worker::{Plan, Summary, ending, executor};

/// Up to this many slots, what is about to end rides along: one yield to the runtime before a turn.
const YIELD_SLOTS: usize = 10;
/// The loop steps at least this often.
const PULSE: Duration = Duration::from_secs(1);
/// How long one wait for a mark lasts.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest time between two waits for a mark that ended with nothing.
const WAKE_AGAIN: Duration = Duration::from_millis(200);
/// The least time that the last settles have to be answered in.
const FLUSH_MIN: Duration = Duration::from_secs(5);
/// Ended attempts taken in at once.
const ENDS_BATCH: usize = 128;

type Wake = BoxFuture<'static, (Instant, Result<Vec<QueueName>, Error>)>;
type Flights = FuturesUnordered<BoxFuture<'static, Landed>>;

/// A turn in flight, and what it carries.
struct Outgoing {
    want: usize,
    cargo: Cargo,
    took: Vec<QueueName>,
    suspects: Suspects,
}

struct Landed {
    slot: usize,
    reply: Result<TurnReply, Error>,
}

/// The claim loop of one worker.
pub(crate) struct Fetcher {
    shop: Arc<Workshop>,
    store: Arc<dyn Store>,
    plan: Plan,
    queues: Arc<[QueueName]>,
    ends: UnboundedReceiver<Ended>,
    watched: Arc<Watched>,
    vitals: Arc<Vitals>,
    settler: Settler,
    looker: Looker,
    share: Share,
    slots: Slots,
    outgoing: [Option<Outgoing>; 2],
    appetite: Appetite,
    took: Vec<QueueName>,
    wake_again: Instant,
    hold_off: Option<Instant>,
    again: Again,
    /// Since when it claims nothing, and when it tells what still runs to stop.
    stop_at: Option<Instant>,
    told: bool,
    flush_by: Option<Instant>,
}

impl Fetcher {
    pub(crate) fn new(
        shop: Arc<Workshop>,
        store: Arc<dyn Store>,
        plan: Plan,
        ends: UnboundedReceiver<Ended>,
        watched: Arc<Watched>,
        vitals: Arc<Vitals>,
        fleet: Fleet,
    ) -> Self {
        let now = Instant::now();
        Self {
            queues: plan.queues.clone().into(),
            share: Share::new(plan.concurrency),
            slots: Slots::new(plan.concurrency),
            appetite: Appetite::new(now),
            settler: Settler::new(watched.clone(), now),
            looker: Looker::new(fleet, now),
            shop,
            store,
            plan,
            ends,
            watched,
            vitals,
            outgoing: [None, None],
            took: Vec::new(),
            wake_again: now,
            hold_off: None,
            again: Again::new(),
            stop_at: None,
            told: false,
            flush_by: None,
        }
    }

    /// Turns until `stopped` resolves and everything has ended and was answered for.
    ///
    /// # Errors
    /// [`Error::Unknown`] when the last settles found no answer in time.
    pub(crate) async fn run(mut self, mut stopped: oneshot::Receiver<()>) -> Result<Summary, Error> {
        let mut flights = Flights::new();
        let mut wake: Option<Wake> = None;
        let mut timer = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
        loop {
            self.vitals.step(self.slots.running(), self.slots.stuck());
            self.wait_for_company().await;
            let mut now = Instant::now();
            while let Some(slot) = self.prepare(now) {
                flights.push(self.send(slot));
                now = Instant::now();
            }
            if self.is_drained() {
                self.vitals.end();
                return Ok(self.settler.summary());
            }
            if wake.is_none() && self.may_wait(now) {
                wake = Some(self.wake());
            }
            let next = self.next_look_at_the_clock(now);
            if next < timer.deadline() || timer.is_elapsed() {
                timer.as_mut().reset(next);
            }
            tokio::select! { biased;
                _ = &mut stopped, if self.stop_at.is_none() => {
                    // First of all no mark must be taken any more.
                    wake = None;
                    self.stop_at = Some(Instant::now() + self.plan.shutdown_grace);
                }
                Some(landed) = flights.next(), if !flights.is_empty() => self.land(landed),
                Some(ended) = self.ends.recv() => self.take_in(ended),
                (since, woken) = async { match wake.as_mut() { Some(wake) => wake.await, None => pending().await } } => {
                    wake = None;
                    self.woken(since, woken);
                }
                () = &mut timer => {}
            }
            self.gather();
            if self.stop_at.is_some()
                && let Some(error) = self.drain(Instant::now())
            {
                self.vitals.end();
                return Err(error);
            }
        }
    }

    // ---- turns out ---------------------------------------------------------------------------------------------------

    fn flying(&self) -> usize {
        self.outgoing.iter().flatten().count()
    }

    /// Lets a small worker's handlers that are about to end do so.
    async fn wait_for_company(&mut self) {
        if self.plan.concurrency <= YIELD_SLOTS && self.slots.running() > 0 && self.settler.pending() > 0 && self.flying() == 0 {
            tokio::task::yield_now().await;
            self.gather();
        }
    }

    /// Slots that a turn may fill now.
    fn room(&self, now: Instant) -> usize {
        let alone = |turn: &Outgoing| matches!(turn.suspects, Suspects::OneAlone | Suspects::Only(_));
        let alone_flying = self.outgoing.iter().flatten().any(alone);
        let is_empty = self.slots.are_quiet() && self.flying() == 0;
        if self.stop_at.is_some() || alone_flying || (self.appetite.makes_room(now) && !is_empty) {
            0
        } else {
            self.slots.room()
        }
    }

    /// Whether a turn is worth sending now; if so it is loaded and this is its slot.
    fn prepare(&mut self, now: Instant) -> Option<usize> {
        let flying = self.flying();
        if flying == 2 || self.hold_off.is_some_and(|until| now < until) {
            return None;
        }
        let room = self.room(now);
        let hungry = room > 0 && self.appetite.is_hungry(&self.slots, now);
        let suspects_wait = hungry && self.appetite.suspects_wait(&self.slots, now);
        let worth = if flying == 0 {
            self.settler.pending() > 0 || hungry || !self.took.is_empty() || self.owes(now)
        } else {
            !suspects_wait && (self.settler.pending() >= self.share.jobs() || (hungry && room >= self.share.jobs()))
        };
        if !worth {
            return None;
        }
        self.hold_off = None;
        let slot = usize::from(self.outgoing[0].is_some());
        let want = room.min(self.share.jobs());
        let suspects = self.appetite.suspects(flying == 0 && want > 0, &self.slots, now);
        let want = if matches!(suspects, Suspects::Only(_)) { 1 } else { want };
        let ending = self.stop_at.is_some() && self.slots.running() == 0;
        self.slots.promise(want);
        self.outgoing[slot] = Some(Outgoing {
            want,
            cargo: self.settler.load(self.share.jobs(), ending, now),
            took: std::mem::take(&mut self.took),
            suspects,
        });
        self.looker.put_off(now);
        Some(slot)
    }

    /// Whether a turn is owed although nothing has ended and nothing is known to be there.
    fn owes(&self, now: Instant) -> bool {
        match self.stop_at {
            None => self.settler.owes(now) || now >= self.looker.next(),
            Some(_) => self.settler.owes(now) || (self.slots.running() == 0 && self.settler.owes_at_end()),
        }
    }

    fn send(&self, slot: usize) -> BoxFuture<'static, Landed> {
        let mut turn = Turn {
            queues: self.plan.queues.clone(),
            lease: self.shop.lease,
            log: self.plan.log,
            ..Turn::default()
        };
        if let Some(outgoing) = &self.outgoing[slot] {
            turn.settles = outgoing.cargo.settles();
            turn.finished = outgoing.cargo.finished();
            turn.counts = outgoing.cargo.counts();
            turn.want = outgoing.want;
            turn.took = outgoing.took.clone();
            turn.suspects = outgoing.suspects;
        }
        self.vitals.turn_sent(slot);
        let (store, worker) = (self.store.clone(), self.shop.worker.clone());
        let settles = !turn.settles.is_empty();
        Box::pin(async move {
            if settles {
                failpoint::reach(Step::SettleLeaves);
            }
            let reply = store.turn(&worker, slot, turn).await;
            if settles {
                failpoint::reach(Step::SettleUnread);
            }
            Landed { slot, reply }
        })
    }

    // ---- turns in ----------------------------------------------------------------------------------------------------

    fn land(&mut self, landed: Landed) {
        let Some(outgoing) = self.outgoing[landed.slot].take() else {
            return;
        };
        self.vitals.turn_landed(landed.slot, landed.reply.is_ok());
        match landed.reply {
            Ok(reply) => self.landed_well(outgoing, reply),
            Err(error) => self.landed_badly(outgoing, &error),
        }
    }

    fn landed_well(&mut self, outgoing: Outgoing, reply: TurnReply) {
        self.again = Again::new();
        self.settler.unload(outgoing.cargo, &reply.settled);
        let claimed = reply.claim.as_ref().map_or(0, |claim| claim.jobs.len());
        self.slots.give_back(outgoing.want.saturating_sub(claimed));
        let now = Instant::now();
        let alone = reply.claim.iter().flat_map(|claim| &claim.jobs).any(|job| job.alone);
        if alone || matches!(outgoing.suspects, Suspects::Only(_)) {
            self.appetite.room_was_made();
        }
        if let Some(id) = reply.put_off {
            // Workers that have met the same one do not all stop at once.
            let patience = self.shop.lease.mul_f64(1.0 + 0.5 * rand::random::<f64>());
            self.appetite.put_off(id, patience, now);
        }
        self.appetite.learn(reply.more, now);
        if let Some(claim) = reply.claim.filter(|claim| !claim.jobs.is_empty()) {
            failpoint::reach(Step::ClaimAnswered);
            self.share.learn(&claim.jobs);
            self.claimed(claim);
        }
    }

    /// The turn was not done: everything goes back, and the next one waits a little.
    fn landed_badly(&mut self, outgoing: Outgoing, error: &Error) {
        tracing::error!(worker.id = %self.shop.worker, error = %error, "turn refused, trying again");
        self.settler.put_back(outgoing.cargo);
        self.slots.give_back(outgoing.want);
        self.took.extend(outgoing.took);
        self.hold_off = Some(Instant::now() + self.again.wait());
    }

    fn claimed(&mut self, claim: Claim) {
        let jobs = claim.jobs.len();
        let claim = Claimed::new(claim, self.shop.clone());
        self.watched.watch(&claim);
        if self.stop_at.is_some() || claim.valid_until().passed() {
            for index in 0..jobs {
                claim.attempt(index).leave_running(Phase::Ended);
                self.settler.take(claim.clone(), index, ending::returned());
            }
            self.slots.give_back(jobs);
            return;
        }
        for index in 0..jobs {
            self.slots.fill(&claim.attempt(index).job);
            executor::start(claim.clone(), index);
        }
    }

    // ---- ends --------------------------------------------------------------------------------------------------------

    fn gather(&mut self) {
        for _ in 0..ENDS_BATCH {
            match self.ends.try_recv() {
                Ok(ended) => self.take_in(ended),
                Err(_) => return,
            }
        }
    }

    fn take_in(&mut self, Ended { claim, index, end }: Ended) {
        let job = &claim.attempt(index).job;
        match &end {
            End::Settle(_) | End::Vanished => self.slots.leave(job),
            End::Surrendered(..) => self.slots.stick(),
            End::Back => self.slots.come_back(job),
        }
        if self.appetite.again().is_some() {
            self.appetite.slot_left(Instant::now());
        }
        match end {
            End::Settle(ending) => self.settler.take(claim, index, ending),
            End::Surrendered(ending, answer) => self.settler.surrendered(&claim, &ending, answer),
            End::Back | End::Vanished => {}
        }
    }

    // ---- waiting -----------------------------------------------------------------------------------------------------

    fn may_wait(&self, now: Instant) -> bool {
        let claiming = self.outgoing.iter().flatten().any(|turn| turn.want > 0);
        self.stop_at.is_none() && self.appetite.is_sated() && self.room(now) > 0 && !claiming && now >= self.wake_again
    }

    fn wake(&self) -> Wake {
        let (store, worker, queues) = (self.store.clone(), self.shop.worker.clone(), self.queues.clone());
        let since = Instant::now();
        Box::pin(async move { (since, store.wake(&worker, &queues, PATIENCE).await) })
    }

    fn woken(&mut self, since: Instant, woken: Result<Vec<QueueName>, Error>) {
        match woken {
            Ok(queues) if !queues.is_empty() => {
                self.took.extend(queues);
                self.appetite.awaken();
            }
            Ok(_) => self.wake_again = since + WAKE_AGAIN,
            Err(error) => {
                tracing::debug!(error = %error, "not woken, the looks go on");
                self.wake_again = Instant::now() + self.again.wait();
            }
        }
    }

    /// When the loop has something to do even if nothing happens.
    fn next_look_at_the_clock(&self, now: Instant) -> Instant {
        let mut next = now + PULSE;
        let mut earliest = |at: Instant| next = next.min(at.max(now));
        if let Some(until) = self.hold_off.filter(|until| *until > now) {
            earliest(until);
        } else if self.stop_at.is_none() && self.flying() == 0 {
            earliest(self.looker.next());
            if let Some(at) = self.appetite.again().filter(|_| self.room(now) > 0) {
                earliest(at);
            }
        }
        if let Some(at) = self.stop_at.filter(|_| !self.told) {
            earliest(at);
        }
        if self.appetite.is_sated() && self.wake_again > now {
            earliest(self.wake_again);
        }
        if let Some(at) = self.flush_by {
            earliest(at);
        }
        next
    }

    // ---- the end -----------------------------------------------------------------------------------------------------

    fn is_drained(&self) -> bool {
        self.stop_at.is_some() && self.slots.running() == 0 && self.flying() == 0 && !self.settler.owes_at_end()
    }

    /// Tells what still runs to stop once the grace has passed, and gives up on answers once the leases have.
    fn drain(&mut self, now: Instant) -> Option<Error> {
        if !self.told && self.stop_at.is_some_and(|at| now >= at) {
            self.told = true;
            self.watched.stop_all(StopCause::Shutdown);
        }
        if self.slots.running() > 0 {
            return None;
        }
        let lease = self.shop.lease;
        let flush_by = *self.flush_by.get_or_insert(now + (lease + grace(lease)).max(FLUSH_MIN));
        if now < flush_by {
            return None;
        }
        let ids: Vec<JobId> = self.unsettled();
        let action = format!("settle the last jobs at {}", self.store.describe());
        Some(Error::Unknown { action, ids })
    }

    fn unsettled(&self) -> Vec<JobId> {
        let flying = self.outgoing.iter().flatten().flat_map(|turn| turn.cargo.jobs());
        self.settler.unsettled().chain(flying).collect()
    }
}
