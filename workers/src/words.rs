//! Words for people: durations, and what belongs to a state.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linchpin::names::JobId;
use linchpin::store::view::State;

/// A duration in its two largest units: `250ms`, `12s`, `3m05s`, `2h10m`, `4d03h`.
pub fn span(duration: Duration) -> String {
    let secs = duration.as_secs();
    match secs {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{secs}s"),
        60..3600 => format!("{}m{:02}s", secs / 60, secs % 60),
        3600..86_400 => format!("{}h{:02}m", secs / 3600, secs / 60 % 60),
        _ => format!("{}d{:02}h", secs / 86_400, secs / 3600 % 24),
    }
}

/// How long ago a job was made, by this machine's clock and that of its producer.
pub fn age(id: JobId) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(id.made_at_ms()))
}

/// What belongs to a state, in a few words.
pub fn detail(state: &State) -> String {
    match state {
        State::Scheduled { due_in } if due_in.is_zero() => "due now".into(),
        State::Scheduled { due_in } => format!("due in {}", span(*due_in)),
        State::Ready => String::new(),
        State::Parked { behind, waited } => format!("behind {behind} for {}", span(*waited)),
        State::Active { token, cancel_requested } => {
            let asked = if *cancel_requested { ", asked to stop" } else { "" };
            format!("on worker {}{asked}", token.process())
        }
        State::Dead { death, reason } if reason.is_empty() || reason == death.as_str() => death.as_str().into(),
        State::Dead { death, reason } => format!("{}: {reason}", death.as_str()),
    }
}

/// The first line of a text, cut to `most` characters.
pub fn cut(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.chars().count() <= most {
        true => line.to_owned(),
        false => line.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Milliseconds, for programs.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_show_their_two_largest_units() {
        let shown = [0, 12, 185, 7800, 356_400].map(|secs| span(Duration::from_secs(secs)));
        assert_eq!(shown, ["0ms", "12s", "3m05s", "2h10m", "4d03h"]);
    }

    #[test]
    fn a_text_is_cut_to_one_line() {
        assert_eq!(cut("ab\ncd", 5), "ab");
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
