//! What a run printed.

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// The result of a run. The names of the fields are what scripts read.
#[derive(Serialize, Debug)]
pub struct Report {
    pub payments: u32,
    pub workers: u32,
    pub killed: u32,
    pub lost: u64,
    pub double: u64,
    pub wrong_accounts: u64,
    pub met_again: u64,
    pub seconds: f64,
}

impl Report {
    /// Whether every payment was made exactly once.
    pub fn clean(&self) -> bool {
        self.lost == 0 && self.double == 0 && self.wrong_accounts == 0
    }

    /// Prints it as a table, or as one JSON object.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let rate = f64::from(self.payments) / self.seconds;
        println!("payments    {} in {:.2} s ({rate:.0}/s)", self.payments, self.seconds);
        println!("workers     {}, {} killed", self.workers, self.killed);
        println!(
            "met again   {} attempts found their payment made by one that was killed",
            self.met_again
        );
        println!("lost        {}", self.lost);
        println!("doubled     {}", self.double);
        match self.wrong_accounts {
            0 => println!("balances    exact"),
            wrong => println!("balances    {wrong} accounts are WRONG"),
        }
        Ok(())
    }
}

/// A bar on a terminal, nothing elsewhere.
pub fn progress_bar(payments: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} payments  {per_sec}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(payments.into()).with_style(style)
}
