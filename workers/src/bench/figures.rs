//! What a benchmark prints: one JSON object for scripts, one small table for people.

use std::fmt::Display;

use serde::Serialize;

use crate::failure::Failure;

/// The figures of one workload; `None` where a figure does not apply.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figures {
    /// The workload's name.
    pub workload: &'static str,
    /// The store, without secrets.
    pub store: String,
    /// Jobs measured.
    pub jobs: u64,
    /// Attempts the worker may run at once.
    pub concurrency: Option<usize>,
    /// From `run()` to the last accepted settle.
    pub seconds: Option<f64>,
    /// Jobs settled per second.
    pub jobs_per_s: Option<f64>,
    /// Jobs enqueued per second, one by one.
    pub enqueue_per_s: Option<f64>,
    /// Jobs enqueued per second, 1,000 a call.
    pub bulk_enqueue_per_s: Option<f64>,
    /// Median from the start of the enqueue call to the start of the handler.
    pub p50_us: Option<f64>,
    /// 99 % of them took at most this.
    pub p99_us: Option<f64>,
    /// The longest of them.
    pub max_us: Option<f64>,
    /// CPU of the server's main thread.
    pub redis_cpu_us_per_job: Option<f64>,
    /// Commands as the server counts them, those of scripts included.
    pub redis_commands_per_job: Option<f64>,
    /// Commands that clients sent.
    pub redis_calls_per_job: Option<f64>,
    /// Memory the server needs for a job with 100 bytes of arguments that waits.
    pub redis_bytes_per_pending_job: Option<f64>,
    /// CPU of this process.
    pub worker_cpu_us_per_job: Option<f64>,
    /// The floor, mean of before and after.
    pub floor_jobs_per_s: Option<f64>,
    /// The floor of enqueueing, mean of before and after.
    pub floor_enqueue_per_s: Option<f64>,
    /// `jobs_per_s` (or `enqueue_per_s`) of the floor.
    pub ratio_to_floor: Option<f64>,
    /// Median of a PING.
    pub ping_p50_us: Option<f64>,
    /// What only this workload has.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub more: Option<More>,
}

/// Figures of the workloads that check a bound.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum More {
    /// `drain`.
    Drain {
        /// Bytes of all that is left.
        left_bytes: u64,
        /// Each key that is left, without the namespace, and its bytes.
        left_keys: Vec<(String, u64)>,
    },
    /// `idle`.
    Idle {
        /// Workers of the fleet.
        workers: usize,
        /// Queues each serves.
        queues: usize,
        /// Commands as the server counts them.
        redis_commands_per_s: f64,
        /// Commands that clients sent.
        redis_calls_per_s: f64,
    },
    /// `backlog`.
    Backlog {
        /// Jobs pending beside those measured in the shallow case.
        shallow_jobs: u64,
        /// Jobs per second there.
        shallow_jobs_per_s: f64,
        /// `jobs_per_s` of it.
        ratio_to_shallow: f64,
    },
    /// `schedules`.
    Schedules {
        /// CPU of this process, of one core.
        cpu_percent: f64,
        /// Ticks that were looked at.
        ticks: u64,
        /// How late the latest of them was.
        latest_ms: u64,
    },
    /// `due`.
    Due {
        /// Bytes of each job's arguments.
        args_bytes: usize,
        /// The worker's longest script call in the slow log; 0 when none reached 0.5 ms.
        slowest_script_us: u64,
        /// The longest enqueueing call.
        slowest_enqueue_us: u64,
    },
}

/// Where a column stands.
type Column = fn(&mut Figures) -> &mut Option<f64>;

/// The columns that are measured, by name.
const COLUMNS: [(&str, Column); 16] = [
    ("seconds", |f| &mut f.seconds),
    ("jobs_per_s", |f| &mut f.jobs_per_s),
    ("enqueue_per_s", |f| &mut f.enqueue_per_s),
    ("bulk_enqueue_per_s", |f| &mut f.bulk_enqueue_per_s),
    ("p50_us", |f| &mut f.p50_us),
    ("p99_us", |f| &mut f.p99_us),
    ("max_us", |f| &mut f.max_us),
    ("redis_cpu_us_per_job", |f| &mut f.redis_cpu_us_per_job),
    ("redis_commands_per_job", |f| &mut f.redis_commands_per_job),
    ("redis_calls_per_job", |f| &mut f.redis_calls_per_job),
    ("redis_bytes_per_pending_job", |f| &mut f.redis_bytes_per_pending_job),
    ("worker_cpu_us_per_job", |f| &mut f.worker_cpu_us_per_job),
    ("floor_jobs_per_s", |f| &mut f.floor_jobs_per_s),
    ("floor_enqueue_per_s", |f| &mut f.floor_enqueue_per_s),
    ("ratio_to_floor", |f| &mut f.ratio_to_floor),
    ("ping_p50_us", |f| &mut f.ping_p50_us),
];

impl Figures {
    /// The median of each column over several runs of one workload, rounded. The rest is as in the first.
    pub fn median(mut runs: Vec<Figures>) -> Figures {
        let mut median = runs.first().cloned().unwrap_or_default();
        for (_, column) in COLUMNS {
            let mut values: Vec<f64> = runs.iter_mut().filter_map(|run| *column(run)).collect();
            values.sort_by(f64::total_cmp);
            *column(&mut median) = values.get(values.len().saturating_sub(1) / 2).copied().map(rounded);
        }
        median
    }

    /// One JSON object on one line.
    ///
    /// # Errors
    /// When a figure is no number.
    pub fn json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| Failure::new("write the figures", error))
    }

    /// What applies, a name and a value a line.
    pub fn table(&self) -> String {
        let mut lines = vec![line("workload", self.workload), line("store", &self.store), line("jobs", self.jobs)];
        lines.extend(self.concurrency.map(|concurrency| line("concurrency", concurrency)));
        for (name, column) in COLUMNS {
            lines.extend(column(&mut self.clone()).map(|value| line(name, value)));
        }
        match &self.more {
            None => {}
            Some(More::Drain { left_bytes, left_keys }) => {
                lines.push(line("left_bytes", left_bytes));
                lines.extend(left_keys.iter().map(|(key, bytes)| line(&format!("  {key}"), bytes)));
            }
            Some(More::Idle {
                workers,
                queues,
                redis_commands_per_s,
                redis_calls_per_s,
            }) => {
                lines.push(line("workers", workers));
                lines.push(line("queues", queues));
                lines.push(line("redis_commands_per_s", redis_commands_per_s));
                lines.push(line("redis_calls_per_s", redis_calls_per_s));
            }
            Some(More::Backlog {
                shallow_jobs,
                shallow_jobs_per_s,
                ratio_to_shallow,
            }) => {
                lines.push(line("shallow_jobs", shallow_jobs));
                lines.push(line("shallow_jobs_per_s", shallow_jobs_per_s));
                lines.push(line("ratio_to_shallow", ratio_to_shallow));
            }
            Some(More::Schedules {
                cpu_percent,
                ticks,
                latest_ms,
            }) => {
                lines.push(line("cpu_percent", cpu_percent));
                lines.push(line("ticks", ticks));
                lines.push(line("latest_ms", latest_ms));
            }
            Some(More::Due {
                args_bytes,
                slowest_script_us,
                slowest_enqueue_us,
            }) => {
                lines.push(line("args_bytes", args_bytes));
                lines.push(line("slowest_script_us", slowest_script_us));
                lines.push(line("slowest_enqueue_us", slowest_enqueue_us));
            }
        }
        lines.join("\n")
    }
}

fn line(name: &str, value: impl Display) -> String {
    format!("{name:<28} {value:>14}")
}

/// Without decimals from 100 on, with four below.
pub fn rounded(exact: f64) -> f64 {
    if exact.abs() >= 100.0 {
        exact.round()
    } else {
        (exact * 1e4).round() / 1e4
    }
}

#[cfg(test)]
mod tests {
    use super::Figures;

    /// The names that others script against, in their order.
    const NAMES: [&str; 20] = [
        "workload",
        "store",
        "jobs",
        "concurrency",
        "seconds",
        "jobs_per_s",
        "enqueue_per_s",
        "bulk_enqueue_per_s",
        "p50_us",
        "p99_us",
        "max_us",
        "redis_cpu_us_per_job",
        "redis_commands_per_job",
        "redis_calls_per_job",
        "redis_bytes_per_pending_job",
        "worker_cpu_us_per_job",
        "floor_jobs_per_s",
        "floor_enqueue_per_s",
        "ratio_to_floor",
        "ping_p50_us",
    ];

    #[test]
    fn the_object_has_exactly_the_documented_names() {
        let run = Figures {
            workload: "noop",
            seconds: Some(0.123456),
            jobs_per_s: Some(123456.7),
            ..Figures::default()
        };
        let json = Figures::median(vec![run]).json().unwrap();
        let mut at = 0;
        for name in NAMES {
            at = at
                + json[at..]
                    .find(&format!("\"{name}\":"))
                    .unwrap_or_else(|| panic!("{name} is missing or out of order in {json}"))
                + 1;
        }
        assert_eq!(json.matches("\":").count(), NAMES.len());
        assert!(
            json.contains("\"seconds\":0.1235,\"jobs_per_s\":123457.0,\"enqueue_per_s\":null"),
            "{json}"
        );
    }

    #[test]
    fn the_median_is_taken_by_column() {
        let run = |seconds, ratio| Figures {
            seconds: Some(seconds),
            ratio_to_floor: Some(ratio),
            ..Figures::default()
        };
        let median = Figures::median(vec![run(3.0, 0.1), run(1.0, 0.3), run(2.0, 0.2)]);
        assert_eq!((median.seconds, median.ratio_to_floor, median.p50_us), (Some(2.0), Some(0.2), None));
    }
}
