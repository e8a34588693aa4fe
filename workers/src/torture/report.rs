//! What a run printed.

use std::collections::BTreeMap;

use serde::Serialize;

/// The result of a run. The names of the fields are what scripts read.
#[derive(Serialize, Debug)]
pub struct Report {
    pub seed: u64,
    pub seconds: f64,
    pub jobs: u64,
    pub faults: BTreeMap<&'static str, u64>,
    pub attempts: u64,
    pub refused_late: u64,
    pub overlapping_believers: u64,
    pub lost: u64,
    pub double: u64,
    pub fence_regressions: u64,
    pub stuck: u64,
    pub recovery_ms_max: Option<f64>,
    pub recovery_ms_p99: Option<f64>,
    /// The longest after each kind of fault.
    pub recovery_ms_max_by_fault: BTreeMap<&'static str, f64>,
    pub left_keys: usize,
    pub violations: Vec<String>,
}

impl Report {
    /// As a table for people.
    pub fn table(&self) -> String {
        let faults: Vec<String> = self.faults.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.0} ms"));
        let mut lines = vec![
            format!("seed                  {}", self.seed),
            format!(
                "jobs                  {} in {:.1} s, {} attempts",
                self.jobs, self.seconds, self.attempts
            ),
            format!("faults                {}", faults.join(", ")),
            format!(
                "longest recovery      {} (99 of 100 within {})",
                ms(self.recovery_ms_max),
                ms(self.recovery_ms_p99)
            ),
            format!(
                "  by fault            {}",
                self.recovery_ms_max_by_fault
                    .iter()
                    .map(|(kind, ms)| format!("{kind} {ms:.0} ms"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            format!(
                "refused late          {} attempts came after their lease and changed nothing",
                self.refused_late
            ),
            format!("overlapping believers {}", self.overlapping_believers),
            format!("lost                  {}", self.lost),
            format!("doubled               {}", self.double),
            format!("stuck                 {}", self.stuck),
            format!("fence regressions     {}", self.fence_regressions),
            format!("left keys             {}", self.left_keys),
        ];
        match self.violations.len() {
            0 => lines.push("verdict               each job took effect exactly once".into()),
            count => {
                lines.push(format!("verdict               {count} VIOLATIONS"));
                let shown = self.violations.iter().take(5).map(|violation| format!("  {violation}"));
                lines.extend(shown);
                if count > 5 {
                    lines.push(format!("  … and {} more: see --json", count - 5));
                }
            }
        }
        lines.join("\n")
    }
}
