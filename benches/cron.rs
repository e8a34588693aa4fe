//! How long the next tick of a line takes, and how long a line takes to be read or refused.
//!
//! `cargo bench --bench cron`; without `--bench` each is done a few times, to see that it works.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use linchpin::schedule::{Cron, Zone};

/// Everyday lines and the hardest known ones: rare dates, far years, lists of every second, days that depend on the month.
const LINES: [&str; 24] = [
    "*/5 * * * *",
    "* * * * *",
    "* * * * * *",
    "0 3 * * *",
    "30 2 * * 1-5",
    "0 */2 * * *",
    "30 4 1,15 * 5",
    "0 0 L * *",
    "0 0 LW * *",
    "0 0 15W * *",
    "0 0 * * 5L",
    "0 0 * * 5#2",
    "0 0 * * 1#5",
    "0 0 29 2 *",
    "* * 29 2 */6",
    "0 0 */28 2 3#5",
    "0 0 */28 2 3",
    "* * */28 2 3#5",
    "0 0 L,1W,15W 2 1#5,3L",
    "59 59 23 31 12 ? 2100",
    "* * * 31 12 ? 2100",
    "0 0 0 1 1 ? 1970",
    "0-59 0-59 0-23 1-31 1-12 0-6 1970-2100",
    "0-59 0-59 1,2,3 * * *",
];

const ZONES: [&str; 6] = [
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "America/Havana",
];

/// Each call is timed so often; the least counts, so that what else the machine does is left out.
const REPEATS: usize = 5;

fn main() {
    let measured = std::env::args().any(|word| word == "--bench");
    let starts: usize = if measured { 500 } else { 3 };
    let first: DateTime<Utc> = DateTime::from_timestamp(1_767_225_600, 0).unwrap_or_default();
    println!("{:42} {:>10} {:>10}", "next tick of", "median", "worst");
    let mut all = Vec::new();
    for line in LINES {
        let cron = read(line);
        let mut times = Vec::new();
        for zone in ZONES.map(zone) {
            for start in 0..starts {
                // An odd stride, over 27 years of seasons and times of day.
                let start = first + TimeDelta::seconds(start as i64 * 1_700_017);
                times.push(least(|| cron.next_after(black_box(start), zone)));
            }
        }
        report(line, &mut times);
        all.extend(times);
    }
    report("all of them", &mut all);

    println!("\n{:42} {:>10} {:>10}", "reading", "median", "worst");
    let long = format!("{} * * * *", vec!["0-59/1"; 140].join(","));
    let years = "0 0 0 */28 2 3#5 1970-2100";
    let never = "0 0 0 30,31 2 ? 1970-2100";
    let junk = "a-b/c,".repeat(160);
    for (name, line) in [
        ("*/5 * * * *", "*/5 * * * *"),
        ("a long list", &long),
        (years, years),
        (never, never),
        ("junk of 960 characters", &junk),
    ] {
        let mut times: Vec<Duration> = (0..starts).map(|_| least(|| Cron::parse(black_box(line)).is_ok())).collect();
        report(name, &mut times);
    }
}

fn read(line: &str) -> Cron {
    Cron::parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

fn zone(name: &str) -> Zone {
    Zone::parse(name).unwrap_or_else(|error| panic!("{error}"))
}

fn least<T>(call: impl Fn() -> T) -> Duration {
    let timed = (0..REPEATS).map(|_| {
        let start = Instant::now();
        black_box(call());
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let worst = times.last().copied().unwrap_or_default();
    println!("{name:42} {median:>10.2?} {worst:>10.2?}");
}
