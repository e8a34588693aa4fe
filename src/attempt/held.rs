//! The locks an attempt takes besides those of its task.
//!
//! One token per outermost acquisition; re-entry is counted here and never in the store. A hold whose guards were all dropped
//! stays until the attempt is settled, and may be entered again meanwhile; one that is being released is gone for good.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::attempt::{Attempt, Phase};
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::{NESTED_RECORDED, lock_ttl, margin};
use crate::lock::Wait;
use crate::names::{Fence, LockKey, OwnerToken};
use crate::store::lease::ReleaseAnswer;
use crate::store::settle::{LockWord, NestedRecord};

/// First wait before a release whose outcome is unknown is sent again; it doubles.
const RELEASE_AGAIN: Duration = Duration::from_millis(50);

/// A lock held by an attempt. Dropping it keeps the lock until the attempt is settled; [`HeldLock::release`] frees it now.
#[must_use = "the lock stays held until the attempt is settled"]
#[derive(Debug)]
pub struct HeldLock {
    attempt: Attempt,
    key: LockKey,
    fence: Fence,
    /// Counted among the attempt's nested holds; the task's own locks are not.
    nested: bool,
    left: bool,
}

/// The nested holds of one attempt.
#[derive(Default)]
pub(crate) struct Holds {
    /// One acquisition at a time, so that a key is never asked for twice. A release does not wait for it: it would be for 5 s.
    gate: tokio::sync::Mutex<()>,
    list: Mutex<List>,
    /// Grows before each release: what a renewal found missing then may have been released.
    releases: AtomicU64,
}

#[derive(Default)]
struct List {
    closed: bool,
    holds: Vec<Hold>,
    /// What happened, for the log; bounded.
    record: Vec<NestedRecord>,
    omitted: u32,
}

struct Hold {
    key: LockKey,
    token: OwnerToken,
    fence: Fence,
    valid_until: LeaseInstant,
    guards: u32,
}

impl Holds {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The earliest of `claim` and the holds' own ends.
    pub(super) fn valid_until(&self, claim: LeaseInstant) -> LeaseInstant {
        self.list().holds.iter().map(|hold| hold.valid_until).fold(claim, LeaseInstant::min)
    }

    /// What a renewal has to name, and the count of releases at this time.
    pub(crate) fn named(&self) -> (Vec<(LockKey, OwnerToken)>, u64) {
        let list = self.list();
        let held = list.holds.iter().map(|hold| (hold.key.clone(), hold.token.clone())).collect();
        (held, self.releases())
    }

    /// The keys and fences of all holds.
    #[cfg(feature = "postgres")]
    pub(super) fn fences(&self) -> Vec<(LockKey, Fence)> {
        self.list().holds.iter().map(|hold| (hold.key.clone(), hold.fence)).collect()
    }

    pub(crate) fn releases(&self) -> u64 {
        self.releases.load(Ordering::Acquire)
    }

    /// A renewal that named these was acknowledged.
    pub(crate) fn renewed(&self, named: &[(LockKey, OwnerToken)], valid_until: LeaseInstant) {
        for hold in &mut self.list().holds {
            if named.iter().any(|(_, token)| *token == hold.token) {
                hold.valid_until = hold.valid_until.max(valid_until);
            }
        }
    }

    pub(super) fn close(&self) -> Vec<(LockKey, OwnerToken)> {
        let mut list = self.list();
        list.closed = true;
        list.holds.drain(..).map(|hold| (hold.key, hold.token)).collect()
    }

    /// Notes what became of a lock.
    fn note(&self, key: &LockKey, lock: LockWord) {
        let mut list = self.list();
        let full = list.record.len() >= NESTED_RECORDED;
        let known = list.record.iter_mut().find(|row| row.lock == lock && row.key == key.as_str());
        match known {
            Some(row) => row.times = row.times.saturating_add(1),
            None if !full => list.record.push(NestedRecord {
                key: key.as_str().to_owned(),
                lock,
                times: 1,
            }),
            None => list.omitted = list.omitted.saturating_add(1),
        }
    }

    /// What was noted, and how much more there was.
    pub(super) fn recorded(&self) -> (Vec<NestedRecord>, u32) {
        let list = self.list();
        (list.record.clone(), list.omitted)
    }

    /// Enters a hold of this key again; `None` when there is none.
    fn enter(&self, key: &LockKey) -> Option<Result<Fence, ()>> {
        let mut list = self.list();
        let hold = list.holds.iter_mut().find(|hold| hold.key == *key)?;
        if hold.valid_until.passed() {
            return Some(Err(()));
        }
        hold.guards += 1;
        Some(Ok(hold.fence))
    }

    /// A guard was dropped without release.
    fn abandon(&self, key: &LockKey) {
        if let Some(hold) = self.list().holds.iter_mut().find(|hold| hold.key == *key) {
            hold.guards = hold.guards.saturating_sub(1);
        }
    }

    /// A guard is released: the hold, when it was the last guard. It is not renewed any more.
    fn leave(&self, key: &LockKey) -> Option<Hold> {
        let mut list = self.list();
        let at = list.holds.iter().position(|hold| hold.key == *key)?;
        let hold = &mut list.holds[at];
        hold.guards = hold.guards.saturating_sub(1);
        if hold.guards > 0 {
            return None;
        }
        self.releases.fetch_add(1, Ordering::AcqRel);
        Some(list.holds.swap_remove(at))
    }
}

fn lost(key: &LockKey) -> Error {
    Error::Lost {
        action: format!("lock `{key}`"),
    }
}

/// Takes or re-enters a lock.
pub(super) async fn take(attempt: &Attempt, key: LockKey, wait: Wait) -> Result<HeldLock, Error> {
    let state = attempt.state();
    if state.phase() != Phase::Running || attempt.claim().valid_until().passed() || state.stop_cause() == Some(super::StopCause::LeaseLost)
    {
        return Err(lost(&key));
    }
    let holds = state.holds_or_new();
    if state.locks().contains(&key) {
        holds.note(&key, LockWord::Reentered);
        return Ok(HeldLock::new(attempt, key, attempt.fence(), false));
    }
    let _gate = holds.gate.lock().await;
    let (entered, word) = match holds.enter(&key) {
        Some(entered) => (Some(entered), LockWord::Reentered),
        None => {
            let word = match acquire(attempt, &key, wait).await {
                Ok(word) => word,
                Err(error) => {
                    if matches!(error, Error::Busy { .. }) {
                        holds.note(&key, if wait == Wait::Not { LockWord::Busy } else { LockWord::GaveUp });
                    }
                    return Err(error);
                }
            };
            (holds.enter(&key), word)
        }
    };
    match entered {
        Some(Ok(fence)) => {
            holds.note(&key, word);
            Ok(HeldLock::new(attempt, key, fence, true))
        }
        Some(Err(())) | None => {
            holds.note(&key, LockWord::Lost);
            Err(lost(&key))
        }
    }
}

/// Takes a lock and adds it to the attempt's holds; how it was got. Dropped, it leaves no lock that nobody knows of.
async fn acquire(attempt: &Attempt, key: &LockKey, wait: Wait) -> Result<LockWord, Error> {
    let shop = attempt.shop();
    let Some(locks) = &shop.locks else {
        let number = shop.next_nested();
        let token = OwnerToken::new(&shop.worker, 0, number);
        adopt(attempt, key, token, Fence(number), LeaseInstant::now());
        return Ok(LockWord::Acquired);
    };
    let (token, ttl) = (locks.token(), lock_ttl(shop.lease));
    let taken = locks.acquire(key, &token, ttl, wait).await?;
    if !adopt(attempt, key, token.clone(), taken.fence, taken.sent_at) {
        locks.hand_over(key, &token, ttl);
        return Err(lost(key));
    }
    Ok(match taken.waited {
        true => LockWord::Waited,
        false => LockWord::Acquired,
    })
}

/// Adds a hold, unless the attempt has ended or the hold came too late.
fn adopt(attempt: &Attempt, key: &LockKey, token: OwnerToken, fence: Fence, sent_at: LeaseInstant) -> bool {
    let lease = attempt.shop().lease;
    let valid_until = sent_at.plus(lease - margin(lease));
    let mut list = attempt.state().holds_or_new().list();
    if list.closed || attempt.state().phase() != Phase::Running || valid_until.passed() {
        return false;
    }
    list.holds.push(Hold {
        key: key.clone(),
        token,
        fence,
        valid_until,
        guards: 0,
    });
    true
}

fn word_of(answer: ReleaseAnswer) -> LockWord {
    match answer {
        ReleaseAnswer::Released => LockWord::Released,
        ReleaseAnswer::NotHeld => LockWord::Lost,
    }
}

impl HeldLock {
    fn new(attempt: &Attempt, key: LockKey, fence: Fence, nested: bool) -> Self {
        Self {
            attempt: attempt.clone(),
            key,
            fence,
            nested,
            left: false,
        }
    }

    /// The lock's key.
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// The fencing token: of the acquisition, or of the attempt for a lock of its task.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Frees the lock when this was the last guard of the attempt for it; the task's own locks are freed by its settle.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was not held any more; [`Error::Unreachable`] when the release could not be sent (it is tried
    /// until the hold ends by itself).
    ///
    /// # Cancel safety
    /// Cancel safe: the release goes on.
    pub async fn release(mut self) -> Result<(), Error> {
        let attempt = self.attempt.clone();
        let Some(holds) = attempt.state().holds().filter(|_| self.nested) else {
            return Ok(());
        };
        self.left = true;
        let Some(hold) = holds.leave(&self.key) else {
            return Ok(());
        };
        let Some(store) = attempt.shop().locks.as_ref().map(|locks| locks.store().clone()) else {
            holds.note(&hold.key, LockWord::Released);
            return Ok(());
        };
        let of = attempt.clone();
        let releasing = tokio::spawn(async move {
            let mut wait = RELEASE_AGAIN;
            loop {
                let answer = store.release(&hold.key, &hold.token).await;
                if let (Ok(answer), Some(holds)) = (&answer, of.state().holds()) {
                    holds.note(&hold.key, word_of(*answer));
                }
                match answer {
                    Ok(ReleaseAnswer::Released) => return Ok(()),
                    Ok(ReleaseAnswer::NotHeld) => return Err(lost(&hold.key)),
                    Err(error) if hold.valid_until.remaining() < wait => return Err(error),
                    Err(_) => tokio::time::sleep(wait).await,
                }
                wait *= 2;
            }
        });
        releasing.await.unwrap_or_else(|ended| {
            Err(Error::Internal {
                what: format!("releasing a lock ended early: {ended}"),
            })
        })
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        if self.nested
            && !self.left
            && let Some(holds) = self.attempt.state().holds()
        {
            holds.abandon(&self.key);
        }
    }
}
