//! Time as the benchmarks count it: the monotonic clock, which every process of one machine shares, and CPU time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock; two processes of one machine may compare theirs.
pub fn monotonic_ns() -> u64 {
    read(ClockId::Monotonic).as_nanos() as u64
}

/// CPU time that all threads of this process have used.
pub fn own_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let t = clock_gettime(clock);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// The value at `part` (0.5 for the median) of sorted values; 0 of none.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(at.saturating_sub(1).min(last)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=500).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 250.0);
        assert_eq!(quantile(&values, 0.99), 495.0);
        assert_eq!(quantile(&values, 1.0), 500.0);
        assert_eq!(quantile(&[3.0], 0.5), 3.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
