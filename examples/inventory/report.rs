//! What a run printed.

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// The result of a run. The names of the fields are what scripts read.
#[derive(Serialize, Debug)]
pub struct Report {
    pub store: String,
    pub jobs: u64,
    pub workers: u64,
    pub killed: u64,
    pub stock_expected: i64,
    pub stock: i64,
    pub lost: u64,
    pub double: u64,
    pub overlaps: u64,
    pub crashed_attempts: u64,
    pub seconds: f64,
    pub jobs_per_s: f64,
}

impl Report {
    /// Whether every job was applied exactly once, one at a time.
    pub fn clean(&self) -> bool {
        self.stock == self.stock_expected && self.lost == 0 && self.double == 0 && self.overlaps == 0
    }

    /// Prints it as a table, or as one JSON object.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let verdict = if self.clean() { "exact" } else { "WRONG" };
        println!("store       {}", self.store);
        println!("jobs        {} in {:.2} s ({:.0}/s)", self.jobs, self.seconds, self.jobs_per_s);
        println!(
            "workers     {}, {} killed, {} attempts cut short by it",
            self.workers, self.killed, self.crashed_attempts
        );
        println!("stock       {} of {} expected: {verdict}", self.stock, self.stock_expected);
        println!("lost        {}", self.lost);
        println!("doubled     {}", self.double);
        println!("overlapped  {}", self.overlaps);
        Ok(())
    }
}

/// A bar on a terminal, nothing elsewhere.
pub fn progress_bar(jobs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} jobs  {per_sec}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(jobs).with_style(style)
}
