//! Random verbs over few jobs, keys, queues and workers, so that they meet.
//!
//! Indices are taken modulo what there is. Both clocks stand still during a verb. Every duration that a verb names ends on half
//! a second and time moves between verbs by whole ones, or by 10 ms before a turn that is not to look, so that no two claims lapse
//! at one instant: which of those is reaped first is up to the engine.

use linchpin::store::effects::Effect;
use proptest::prelude::*;

use super::effects::effects;

pub const QUEUES: usize = 2;
pub const KEYS: usize = 3;
pub const WORKERS: usize = 3;

#[derive(Debug, Clone)]
pub enum Verb {
    Enqueue(Wanted),
    Turn(Asked),
    /// Renews the claim of a held attempt, without the attempts of it that the mask names.
    Renew {
        held: usize,
        unnamed: u8,
    },
    Surrender(Ending),
    /// Applies effects that ride no settle.
    Effects(Vec<Effect>),
    Acquire {
        key: usize,
        who: usize,
    },
    Release {
        key: usize,
        who: usize,
    },
    Cancel(usize),
    Delete(usize),
    Retry(usize),
    Pause(usize),
    Resume(usize),
    LoseLock(usize),
    ForeignLock(usize),
    DuplicateEntry(usize),
    Spoil(usize),
    Advance(u64),
}

#[derive(Debug, Clone)]
pub struct Wanted {
    pub queue: usize,
    pub priority: u8,
    /// Bits of keys.
    pub locks: u8,
    /// 0 waits, 1 skips, 2 fails, 3 snoozes.
    pub on_busy: u8,
    pub wait_timeout: Option<u64>,
    pub delay: Option<u64>,
    pub expires_in: Option<u64>,
    pub crash_limit: u32,
    /// Key, digest, whether it is kept for a time.
    pub unique: Option<(usize, u8, bool)>,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub worker: usize,
    pub want: usize,
    /// 0: the first queue, 1: the second, 2: both, 3: both the other way round.
    pub queues: u8,
    /// 0 none, 1 one, 2 one alone, 3 only the one that was put off last.
    pub suspects: u8,
    /// So soon after the last look that this turn does not look.
    pub soon: bool,
    pub settles: Vec<Ending>,
}

#[derive(Debug, Clone)]
pub struct Ending {
    pub held: usize,
    /// See `Pair::verdict`.
    pub verdict: u8,
    /// Under the token of another attempt.
    pub forged: bool,
    /// What rides it, if it is done.
    pub effects: Vec<Effect>,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let locks = prop_oneof![2 => Just(0u8), 4 => Just(1), 1 => Just(2), 2 => Just(3), 1 => 0u8..8];
    let on_busy = prop_oneof![6 => Just(0u8), 1 => 1u8..4];
    let unique = proptest::option::weighted(0.25, (0usize..2, 0u8..2, proptest::bool::weighted(0.3)));
    let some = |chance, range| proptest::option::weighted(chance, range);
    let plain = (0..QUEUES, 0u8..3, locks, on_busy, some(0.3, 1u64..9), some(0.2, 1u64..9));
    (plain, some(0.15, 3u64..12), 1u32..4, unique).prop_map(|(plain, expires_in, crash_limit, unique)| {
        let (queue, priority, locks, on_busy, wait_timeout, delay) = plain;
        Wanted {
            queue,
            priority,
            locks,
            on_busy,
            wait_timeout,
            delay,
            expires_in,
            crash_limit,
            unique,
        }
    })
}

fn ending() -> impl Strategy<Value = Ending> {
    let effects = proptest::option::weighted(0.6, effects()).prop_map(Option::unwrap_or_default);
    (0usize..64, 0u8..8, proptest::bool::weighted(0.08), effects).prop_map(|(held, verdict, forged, effects)| Ending {
        held,
        verdict,
        forged,
        effects,
    })
}

fn asked() -> impl Strategy<Value = Asked> {
    let settles = proptest::collection::vec(ending(), 0..4);
    let soon = proptest::bool::weighted(0.4);
    (0..WORKERS, 0usize..5, 0u8..4, 0u8..4, soon, settles).prop_map(|(worker, want, queues, suspects, soon, settles)| Asked {
        worker,
        want,
        queues,
        suspects,
        soon,
        settles,
    })
}

fn verb() -> impl Strategy<Value = Verb> {
    let any = 0usize..64;
    prop_oneof![
        24 => wanted().prop_map(Verb::Enqueue),
        40 => asked().prop_map(Verb::Turn),
        8 => (any.clone(), 0u8..8).prop_map(|(held, unnamed)| Verb::Renew { held, unnamed: unnamed & (unnamed >> 1) }),
        2 => ending().prop_map(Verb::Surrender),
        3 => effects().prop_map(Verb::Effects),
        2 => (0..KEYS, 0..WORKERS).prop_map(|(key, who)| Verb::Acquire { key, who }),
        2 => (0..KEYS, 0..WORKERS).prop_map(|(key, who)| Verb::Release { key, who }),
        4 => any.clone().prop_map(Verb::Cancel),
        2 => any.clone().prop_map(Verb::Delete),
        3 => any.clone().prop_map(Verb::Retry),
        2 => (0..QUEUES).prop_map(Verb::Pause),
        3 => (0..QUEUES).prop_map(Verb::Resume),
        1 => (0..KEYS).prop_map(Verb::LoseLock),
        1 => (0..KEYS).prop_map(Verb::ForeignLock),
        1 => any.clone().prop_map(Verb::DuplicateEntry),
        1 => any.prop_map(Verb::Spoil),
        5 => prop_oneof![1 => 1u64..4, 1 => Just(20u64)].prop_map(Verb::Advance),
    ]
}

pub fn sequence() -> impl Strategy<Value = Vec<Verb>> {
    proptest::collection::vec(verb(), 1..90)
}
