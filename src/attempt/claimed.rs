//! A claim as its worker keeps it: what all its attempts share, and each attempt's state.
//!
//! One allocation a claim. The executor ends attempts, the fetcher answers them, the watchdog renews and stops them; what they
//! share is atomic.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::attempt::held::Holds;
use crate::attempt::{StopCause, Workshop};
use crate::clock::LeaseInstant;
use crate::effects::Effects;
use crate::error::Error;
use crate::limits::margin;
use crate::names::{Fence, JobId, LockKey, OwnerToken, ProcessId};
use crate::store::turn::{Claim, ClaimedJob, LockOutcome, Tries, Undecodable};
use crate::store::view::Progress;

/// A claim: its token, how long it is valid, and its attempts.
pub(crate) struct Claimed {
    shop: Arc<Workshop>,
    token: OwnerToken,
    /// When its answer came: its locks are not older.
    claimed_at: LeaseInstant,
    valid_until: AtomicU64,
    /// When the renewal that counts was sent (the claim itself at first).
    renewed_at: AtomicU64,
    /// A renewal is under way.
    pub(crate) renewing: AtomicBool,
    /// Its validity passed: it is not renewed any more.
    pub(crate) lapsed: AtomicBool,
    /// Its number in the watchdog's list.
    pub(crate) serial: AtomicU64,
    /// Attempts not answered for.
    pub(crate) unanswered: AtomicU32,
    attempts: Box<[AttemptState]>,
}

impl Claimed {
    pub(crate) fn new(claim: Claim, shop: Arc<Workshop>) -> Arc<Self> {
        let count = claim.jobs.len() as u32;
        let valid_until = claim.sent_at.plus(shop.lease - margin(shop.lease));
        Arc::new(Self {
            shop,
            token: claim.token,
            claimed_at: LeaseInstant::now(),
            valid_until: AtomicU64::new(valid_until.as_nanos()),
            renewed_at: AtomicU64::new(claim.sent_at.as_nanos()),
            renewing: AtomicBool::new(false),
            lapsed: AtomicBool::new(false),
            serial: AtomicU64::new(0),
            unanswered: AtomicU32::new(count),
            attempts: claim.jobs.into_iter().map(AttemptState::new).collect(),
        })
    }

    pub(super) fn test() -> Arc<Self> {
        let process = ProcessId::random();
        let job = ClaimedJob {
            id: JobId::random(),
            fence: Fence(1),
            envelope: Err(Undecodable {
                reason: "a test attempt has no job".into(),
            }),
            how: LockOutcome::None,
            tries: Tries::default(),
            expired: false,
            alone: false,
        };
        let claim = Claim {
            token: OwnerToken::new(&process, 0, 1),
            sent_at: LeaseInstant::now(),
            jobs: vec![job],
        };
        Self::new(claim, Workshop::test(process))
    }

    pub(crate) fn shop(&self) -> &Arc<Workshop> {
        &self.shop
    }

    pub(crate) fn token(&self) -> &OwnerToken {
        &self.token
    }

    /// What is left of the time that locks taken with it are held at least; none when it is over.
    pub(crate) fn left_of(&self, least: Duration) -> Option<Duration> {
        let left = self.claimed_at.plus(least).remaining();
        (!left.is_zero()).then_some(left)
    }

    pub(crate) fn valid_until(&self) -> LeaseInstant {
        LeaseInstant::from_nanos(self.valid_until.load(Ordering::Acquire))
    }

    pub(crate) fn renewed_at(&self) -> LeaseInstant {
        LeaseInstant::from_nanos(self.renewed_at.load(Ordering::Acquire))
    }

    /// A renewal sent at `sent_at` was acknowledged.
    pub(crate) fn renewed(&self, sent_at: LeaseInstant) {
        let lease = self.shop.lease;
        self.renewed_at.fetch_max(sent_at.as_nanos(), Ordering::AcqRel);
        self.valid_until
            .fetch_max(sent_at.plus(lease - margin(lease)).as_nanos(), Ordering::AcqRel);
    }

    pub(crate) fn attempt(&self, index: usize) -> &AttemptState {
        &self.attempts[index]
    }

    pub(crate) fn attempts(&self) -> &[AttemptState] {
        &self.attempts
    }
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Its handler runs, or is about to.
    Running = 0,
    /// Its handler has ended; the settle has no answer yet.
    Ended = 1,
    /// It was stuck and the watchdog settles it; no answer yet.
    Surrendered = 2,
    /// Answered for: nothing of it is left in the store.
    Answered = 3,
}

/// One attempt of a claim.
pub(crate) struct AttemptState {
    pub(crate) job: ClaimedJob,
    phase: AtomicU8,
    stop: AtomicU8,
    told_at: AtomicU64,
    started: AtomicU64,
    deadline: AtomicU64,
    uses: AtomicUsize,
    changed: Notify,
    holds: OnceLock<Box<Holds>>,
    effects: OnceLock<Box<Mutex<HandedOver>>>,
    progress: Mutex<Option<Box<Progress>>>,
}

/// What a handler has handed over.
#[derive(Default)]
struct HandedOver {
    effects: Effects,
    /// The handler has ended: nothing more is taken.
    closed: bool,
}

impl AttemptState {
    fn new(job: ClaimedJob) -> Self {
        Self {
            job,
            phase: AtomicU8::new(Phase::Running as u8),
            stop: AtomicU8::new(0),
            told_at: AtomicU64::new(0),
            started: AtomicU64::new(0),
            deadline: AtomicU64::new(0),
            uses: AtomicUsize::new(0),
            changed: Notify::new(),
            holds: OnceLock::new(),
            effects: OnceLock::new(),
            progress: Mutex::new(None),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.job.tries.charged.saturating_add(1)
    }

    /// The task's locks that its claim holds for it.
    pub(crate) fn locks(&self) -> &[LockKey] {
        match (&self.job.how, &self.job.envelope) {
            (LockOutcome::Acquired | LockOutcome::Waited(_), Ok(envelope)) => &envelope.header.locks,
            _ => &[],
        }
    }

    // ---- phase -------------------------------------------------------------------------------------------------------

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Running,
            1 => Phase::Ended,
            2 => Phase::Surrendered,
            _ => Phase::Answered,
        }
    }

    /// Moves a running attempt on; false when somebody else did.
    pub(crate) fn leave_running(&self, to: Phase) -> bool {
        self.phase
            .compare_exchange(Phase::Running as u8, to as u8, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    pub(crate) fn answered(&self) {
        self.phase.store(Phase::Answered as u8, Ordering::Release);
    }

    // ---- stopping ----------------------------------------------------------------------------------------------------

    /// Tells it to stop, unless it was told; the first cause stands.
    pub(crate) fn stop(&self, cause: StopCause) -> bool {
        if self.stop.load(Ordering::Acquire) != 0 {
            return false;
        }
        let _ = self
            .told_at
            .compare_exchange(0, LeaseInstant::now().as_nanos(), Ordering::AcqRel, Ordering::Acquire);
        let first = self
            .stop
            .compare_exchange(0, cause.code(), Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if first {
            self.changed.notify_waiters();
        }
        first
    }

    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        StopCause::from_code(self.stop.load(Ordering::Acquire))
    }

    /// When it was told to stop.
    pub(crate) fn told_at(&self) -> Option<LeaseInstant> {
        self.stop_cause()
            .map(|_| LeaseInstant::from_nanos(self.told_at.load(Ordering::Acquire)))
    }

    pub(crate) async fn stopped(&self) -> StopCause {
        loop {
            let changed = self.changed.notified();
            if let Some(cause) = self.stop_cause() {
                return cause;
            }
            changed.await;
        }
    }

    // ---- time --------------------------------------------------------------------------------------------------------

    pub(crate) fn start(&self, at: LeaseInstant, timeout: Duration) {
        self.started.store(at.as_nanos(), Ordering::Release);
        self.deadline.store(at.plus(timeout).as_nanos(), Ordering::Release);
    }

    pub(crate) fn deadline(&self) -> Option<LeaseInstant> {
        Some(self.deadline.load(Ordering::Acquire))
            .filter(|nanos| *nanos != 0)
            .map(LeaseInstant::from_nanos)
    }

    /// How long its handler has run by now; zero when it has not started.
    pub(crate) fn ran(&self) -> Duration {
        match self.started.load(Ordering::Acquire) {
            0 => Duration::ZERO,
            started => Duration::from_nanos(LeaseInstant::now().as_nanos().saturating_sub(started)),
        }
    }

    // ---- use ---------------------------------------------------------------------------------------------------------

    pub(super) fn enter_use(&self) {
        self.uses.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn leave_use(&self) {
        if self.uses.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn in_use(&self) -> bool {
        self.uses.load(Ordering::Acquire) > 0
    }

    /// Waits until nothing keeps the attempt in use.
    pub(crate) async fn unused(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.in_use() {
                return;
            }
            changed.await;
        }
    }

    // ---- progress ----------------------------------------------------------------------------------------------------

    pub(super) fn set_progress(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(progress));
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).as_deref().cloned()
    }

    // ---- effects -----------------------------------------------------------------------------------------------------

    pub(super) fn hand_over(&self, said: Effects, is_own: impl Fn(&[u8]) -> bool) -> Result<(), Error> {
        let mut handed = self.handed();
        if handed.closed {
            return Err(Error::Lost {
                action: "hand over effects: the handler has ended".into(),
            });
        }
        handed.effects.take(said, is_own)
    }

    pub(super) fn handed_over(&self) -> Effects {
        match self.effects.get() {
            Some(handed) => handed.lock().unwrap_or_else(PoisonError::into_inner).effects.clone(),
            None => Effects::default(),
        }
    }

    fn handed(&self) -> MutexGuard<'_, HandedOver> {
        let handed = self.effects.get_or_init(Box::default);
        handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was handed over; from here on nothing more is. `None` where that is nothing.
    pub(crate) fn close_effects(&self) -> Option<Effects> {
        let handed = self.effects.get()?;
        let mut handed = handed.lock().unwrap_or_else(PoisonError::into_inner);
        handed.closed = true;
        let effects = std::mem::take(&mut handed.effects);
        (!effects.is_empty()).then_some(effects)
    }

    // ---- nested holds ------------------------------------------------------------------------------------------------

    pub(crate) fn holds(&self) -> Option<&Holds> {
        self.holds.get().map(|holds| &**holds)
    }

    pub(super) fn holds_or_new(&self) -> &Holds {
        self.holds.get_or_init(Box::default)
    }

    /// The nested holds, to be named in the attempt's settle; from here on it takes none.
    pub(crate) fn close_holds(&self) -> Vec<(LockKey, OwnerToken)> {
        self.holds().map(Holds::close).unwrap_or_default()
    }
}
