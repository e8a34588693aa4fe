//! The attempts log as a witness.

use std::collections::HashMap;

use linchpin::Client;

/// The attempts log, read as it grows.
#[derive(Default)]
pub struct Log {
    after: u64,
    /// (job, fence) -> its outcomes.
    pub outcomes: HashMap<(String, u64), Vec<&'static str>>,
}

impl Log {
    /// Reads what is new.
    pub async fn read_on(&mut self, client: &Client) -> Result<(), linchpin::Error> {
        loop {
            let entries = client.attempts(self.after, 1000).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            self.after = last.number;
            for entry in entries {
                let attempt = (entry.record.job, entry.record.fence.0);
                self.outcomes.entry(attempt).or_default().push(entry.record.outcome.as_str());
            }
        }
    }
}
