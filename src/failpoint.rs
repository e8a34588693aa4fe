//! Named steps of an attempt at which a process can be made to end, to prove that nothing depends on its living. Without the feature
//! `failpoints`, which is for `linchpin torture` alone and never in a release, reaching one does nothing.

/// A step of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The reply of a claim was read.
    ClaimAnswered,
    /// The handler is about to run.
    HandlerStarts,
    /// The handler has ended; its worker does not know yet.
    HandlerEnded,
    /// A turn with settles is about to be sent.
    SettleLeaves,
    /// A turn with settles was applied; the worker has not looked at the answer.
    SettleUnread,
    /// A renewal is about to be sent.
    RenewalLeaves,
}

#[cfg(feature = "failpoints")]
impl Step {
    /// Every step.
    pub const ALL: [Step; 6] = [
        Step::ClaimAnswered,
        Step::HandlerStarts,
        Step::HandlerEnded,
        Step::SettleLeaves,
        Step::SettleUnread,
        Step::RenewalLeaves,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::ClaimAnswered => "claim_answered",
            Step::HandlerStarts => "handler_starts",
            Step::HandlerEnded => "handler_ended",
            Step::SettleLeaves => "settle_leaves",
            Step::SettleUnread => "settle_unread",
            Step::RenewalLeaves => "renewal_leaves",
        }
    }
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Step;

    static ARMED: OnceLock<(Step, u64)> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    pub fn arm(step: Step, times: u64) {
        let _ = ARMED.set((step, times));
    }

    pub fn reach(step: Step) {
        if let Some((armed, times)) = ARMED.get()
            && *armed == step
            && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *times
        {
            std::process::abort();
        }
    }
}

/// Makes this process abort when it reaches a step for the `times`-th time; the first call counts.
#[cfg(feature = "failpoints")]
pub fn arm(step: Step, times: u64) {
    armed::arm(step, times);
}

/// Says that a step is reached.
pub(crate) fn reach(step: Step) {
    #[cfg(feature = "failpoints")]
    armed::reach(step);
    let _ = step;
}
