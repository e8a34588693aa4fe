//! Schedules without a store: the vectors, the clock's gaps and overlaps against a simulator, and junk.
//!
//! `LINCHPIN_FULL=1` runs all checks in place of a sample; give it `--release`.

mod expressions;
mod junk;
mod lines;
mod simulator;
mod transitions;
mod vectors;

use chrono::{DateTime, Utc};

/// Whether all checks run.
fn full() -> bool {
    std::env::var_os("LINCHPIN_FULL").is_some_and(|value| value == "1")
}

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Random numbers of a seed: splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Of `0..below`.
    fn below(&mut self, below: u32) -> u32 {
        (self.roll() % u64::from(below)) as u32
    }

    /// Of `from..=to`.
    fn within(&mut self, from: u32, to: u32) -> u32 {
        from + self.below(to - from + 1)
    }
}
