//! Defaults and bounds: the only place they stand. `config.toml` and the docs repeat them, and a test compares.

use std::time::Duration;

/// The namespace of clients that name none.
pub const NAMESPACE: &str = "linchpin";
/// The queue of jobs that name none.
pub const QUEUE: &str = "default";
/// How long a claim's attempts may go on without renewing.
pub const LEASE: Duration = Duration::from_secs(15);
/// The shortest lease: three renewals have to fit with a margin that a busy machine keeps.
pub const LEASE_MIN: Duration = Duration::from_secs(1);
/// The longest lease.
pub const LEASE_MAX: Duration = Duration::from_secs(3600);
/// How long an attempt may take before it is stopped.
pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Charged retries after the first attempt.
pub const RETRIES: u32 = 10;
/// First delay of the backoff; it doubles per charged attempt.
pub const BACKOFF_FIRST: Duration = Duration::from_secs(15);
/// Longest delay of the backoff, before jitter.
pub const BACKOFF_CAP: Duration = Duration::from_secs(3600);
/// Jitter of the backoff, as a part of the delay either way.
pub const BACKOFF_JITTER: f64 = 0.25;
/// Crashes as a suspect after which a job is buried.
pub const CRASH_LIMIT: u32 = 3;
/// Attempts one worker runs at once.
pub const CONCURRENCY: usize = 20;
/// The most attempts one worker may run at once.
pub const CONCURRENCY_MAX: usize = 10_000;
/// The longest `shutdown_grace` and `mismatch_window`.
pub const WINDOW_MAX: Duration = Duration::from_secs(24 * 3600);
/// How long a stopping worker waits for its handlers.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);
/// How old the fleet's last look may be before the next turn looks again.
pub const LOOK: Duration = Duration::from_millis(500);
/// How long after the end of a sweep the next one begins.
pub const SWEEP: Duration = Duration::from_secs(600);
/// How long a free lock whose waiters were all in paused queues is left alone by the looks.
pub const PAUSED_CHECK: Duration = Duration::from_millis(500);
/// How long a freed lock is kept for the job whose turn it is.
pub const NEXT_KEPT: Duration = Duration::from_secs(2);
/// How long an offered lock is kept for the client whose turn it is: it confirms, or the lock ends.
pub const OFFER_KEPT: Duration = Duration::from_secs(1);
/// How often a client that waits for a lock asks again when nobody tells it anything.
pub const ASK_EVERY: Duration = Duration::from_secs(1);
/// How long after the last ask a process that waits for locks is not offered any, and keeps its places.
pub const WAITING_SILENT: Duration = Duration::from_secs(4);
/// How long after the last ask the places of a process are given up.
pub const WAITING_GONE: Duration = Duration::from_secs(30);
/// How long a task's attempt waits for a nested lock, and an owner that holds a lock for another.
pub const NESTED_WAIT: Duration = Duration::from_secs(5);
/// How long the store knows that a hold was broken by an operator.
pub const BROKEN_KEPT: Duration = Duration::from_secs(4000);
/// Of how many broken holds the store knows it.
pub const BROKEN_KEPT_MAX: usize = 1000;
/// How long an enqueue is resent before its outcome counts as unknown. Turns are resent until they are answered.
pub const RESEND_DEADLINE: Duration = Duration::from_secs(120);
/// How long an unused lane is remembered.
pub const LANE_KEPT: Duration = Duration::from_secs(600);
/// How long a job that no worker here can decode or knows goes back uncharged.
pub const MISMATCH_WINDOW: Duration = Duration::from_secs(15 * 60);
/// First delay of such a return; it doubles up to [`MISMATCH_DELAY_CAP`].
pub const MISMATCH_DELAY_FIRST: Duration = Duration::from_secs(2);
/// Longest delay of such a return.
pub const MISMATCH_DELAY_CAP: Duration = Duration::from_secs(60);

/// Dead jobs kept.
pub const DEAD_KEPT: u64 = 10_000;
/// How long dead jobs are kept.
pub const DEAD_KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);
/// Bytes of dead jobs kept.
pub const DEAD_KEPT_BYTES: u64 = 256 << 20;
/// Attempts the log keeps.
pub const ATTEMPTS_KEPT: u64 = 10_000;

/// Bytes of a job's arguments as JSON.
pub const PAYLOAD_MAX_BYTES: usize = 64 << 10;
/// How deep a job's arguments may nest: less than what decoding allows.
pub const PAYLOAD_MAX_DEPTH: usize = 100;
/// Bytes of a stored error; longer ones are cut.
pub const ERROR_MAX_BYTES: usize = 4 << 10;
/// Nested locks and their outcomes that the record of an attempt lists; more are counted.
pub const NESTED_RECORDED: usize = 16;
/// Errors kept per job, the newest last.
pub const ERRORS_KEPT: usize = 3;
/// Bytes of a lock key or unique key.
pub const LOCK_KEY_MAX_BYTES: usize = 512;
/// Bytes of a queue, task or namespace name.
pub const NAME_MAX_BYTES: usize = 64;
/// Lock keys of one job.
pub const LOCK_KEYS_MAX: usize = 8;
/// Bodies over this many bytes stand in a hash of their own and are read after the claim.
pub const BODY_INLINE_MAX_BYTES: usize = 4 << 10;
/// Jobs in one enqueue round trip.
pub const ENQUEUE_BATCH_MAX: usize = 1000;
/// Plain jobs that one with a delay, a unique key or an expiry counts for in the client's batches: a thousand such would keep a server busy for
/// longer than a script may take.
pub const ENQUEUE_WEIGHT: usize = 4;
/// Bytes of arguments after which a batch of jobs is sent.
pub const ENQUEUE_BATCH_MAX_BYTES: usize = 256 << 10;
/// Effects that one job hands over, jobs that follow among them.
pub const EFFECTS_MAX: usize = 64;
/// Bytes of the effects of one job, keys and values together.
pub const EFFECTS_MAX_BYTES: usize = 64 << 10;
/// Effects after which a turn takes no further settle: a script may not keep a server busy for long.
pub const EFFECTS_TURN_MAX: usize = 256;
/// Bytes of a job's result as JSON.
pub const RESULT_MAX_BYTES: usize = 64 << 10;
/// Elements of a hash, set, list or stream of the user's up to which it is read.
pub const VALUE_ELEMENTS_MAX: usize = 10_000;
/// Settles in one turn.
pub const SETTLES_MAX: usize = 100;
/// Jobs one turn claims.
pub const CLAIM_MAX: usize = 100;
/// Bytes of arguments that a turn claims or frees, as far as the claim before tells: a server answers nobody else meanwhile.
pub const TURN_BYTES: usize = 1 << 20;
/// Struck suspects of a list that a claim steps over: further ones go to its tail.
pub const OVER_MAX: usize = 16;
/// Bytes of the note of an attempt's progress.
pub const PROGRESS_NOTE_MAX_BYTES: usize = 200;
/// Attempts one renewal names.
pub const RENEW_MAX: usize = 100;
/// Jobs one turn promotes.
pub const PROMOTE_MAX: usize = 200;
/// Queues one worker serves.
pub const QUEUES_MAX: usize = 64;
/// Bytes of the arguments of a schedule's jobs as JSON.
pub const SCHEDULE_ARGS_MAX_BYTES: usize = 8 << 10;
/// Missed ticks that fire one by one, or ticks that wait for the one before, of one schedule.
pub const TICKS_KEPT_MAX: u32 = 100;
/// Missed ticks that are counted.
pub const TICKS_MISSED_MAX: u64 = 100_000;
/// Ticks that are later than this are skipped.
pub const CATCHUP_WINDOW: Duration = Duration::from_secs(24 * 3600);
/// A tick that is later than this has been missed, for a schedule that skips those.
pub const TICK_LATE: Duration = Duration::from_secs(60);
/// Outcomes of ticks that are kept of each schedule.
pub const OUTCOMES_KEPT: usize = 10;
/// A schedule that workers bring is orphaned when none has for this long.
pub const SCHEDULE_ORPHANED: Duration = Duration::from_secs(600);
/// Jobs in one page of a list.
pub const PAGE_MAX: usize = 1000;
/// Entries of a queue or waiters of a lock within which a job's position is looked for.
pub const POSITION_MAX: usize = 10_000;
/// Workers in one list.
pub const WORKERS_LISTED_MAX: usize = 1000;
/// How long a worker may be silent and still count as alive; it speaks every 10 s.
pub const WORKER_LIVE: Duration = Duration::from_secs(60);
/// Bytes of the name of a step of a job's work in PostgreSQL.
pub const STEP_MAX_BYTES: usize = 64;
/// The advisory lock under which the tables in PostgreSQL are made: "linchpin" in ASCII.
pub const MIGRATION_LOCK: i64 = i64::from_be_bytes(*b"linchpin");
/// Rows that one statement prunes in PostgreSQL.
pub const PRUNE_BATCH: i64 = 1000;
/// Jobs of which the store is asked at once while pruning.
pub const PRUNE_AT_ONCE: usize = 64;
/// The youngest that may be pruned in PostgreSQL.
pub const PRUNE_MIN: Duration = Duration::from_secs(3600);
/// The furthest a job may be due in the future.
pub const DELAY_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// The longest beginning of a text that is within a bound and ends with a whole character.
pub(crate) fn within_bytes(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The server's deadline of a claim is its lease plus this.
pub const fn grace(lease: Duration) -> Duration {
    Duration::from_nanos(lease.as_nanos() as u64 / 15 * 2)
}

/// An attempt's own deadline is its lease less this.
pub const fn margin(lease: Duration) -> Duration {
    Duration::from_nanos(lease.as_nanos() as u64 / 15)
}

/// How often the watchdog renews.
pub const fn renew_every(lease: Duration) -> Duration {
    Duration::from_nanos(lease.as_nanos() as u64 / 3)
}

/// How long a handler that was told to stop may go on before the watchdog surrenders its job.
pub const fn stuck_limit(lease: Duration) -> Duration {
    lease
}

/// A lock outlives the deadline of its claim by two looks, so that the reaper and not the expiry normally ends a hold.
pub const fn lock_ttl(lease: Duration) -> Duration {
    Duration::from_nanos(lease.as_nanos() as u64 + grace(lease).as_nanos() as u64 + 2 * LOOK.as_nanos() as u64)
}

const _: () = assert!(BROKEN_KEPT.as_secs() > LEASE_MAX.as_secs());
// claim.lua tells a claim's fences apart by two digits
const _: () = assert!(CLAIM_MAX <= 100);
const _: () = assert!(BODY_INLINE_MAX_BYTES < PAYLOAD_MAX_BYTES);
