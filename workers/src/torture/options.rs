//! What to do, where and for how long.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::faults::Kind;

/// How long all that is left may take after the last fault.
const DRAIN_MAX: Duration = Duration::from_secs(120);
/// What to do, where and for how long.
#[derive(Args, Debug)]
pub struct Options {
    /// The store: redis:// or unix://. Use one that serves nobody else: faults of the server hit all its users.
    #[arg(long, value_name = "URL")]
    pub store: String,
    /// How long faults are thrown; what is left then is waited for.
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    pub duration: Duration,
    /// Worker processes.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub workers: u64,
    /// What is random follows from it; drawn and printed when it is not given.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Kinds of faults.
    #[arg(long, value_delimiter = ',', default_values_t = Kind::USUAL.to_vec(), value_enum)]
    pub faults: Vec<Kind>,
    /// From one fault to the next.
    #[arg(long, default_value = "300ms", value_parser = humantime::parse_duration)]
    pub every: Duration,
    /// Restarts the server, for the fault `restart`: a shell command that ends when it is up again.
    #[arg(long, value_name = "COMMAND")]
    pub restart_with: Option<String>,
    /// Also writes the JSON object to this file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Takes a guard out of the scripts.
    #[cfg(feature = "mutants")]
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(linchpin::store::redis::mutants::mutants()))]
    pub mutant: Option<String>,
    /// Workers end at this step of an attempt, again and again.
    #[cfg(feature = "failpoints")]
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(linchpin::failpoint::Step::ALL.map(linchpin::failpoint::Step::as_str)))]
    pub failpoint: Option<String>,
}

impl Options {
    #[cfg(feature = "mutants")]
    /// The guard that is taken out.
    pub fn mutant(&self) -> Option<String> {
        self.mutant.clone()
    }

    #[cfg(not(feature = "mutants"))]
    /// The guard that is taken out.
    pub fn mutant(&self) -> Option<String> {
        None
    }

    /// The step at which workers end.
    #[cfg(feature = "failpoints")]
    pub fn failpoint(&self) -> Option<String> {
        self.failpoint.clone()
    }

    /// The step at which workers end.
    #[cfg(not(feature = "failpoints"))]
    pub fn failpoint(&self) -> Option<String> {
        None
    }

    /// How long all that is left may take after the last fault: a mutant shall be caught soon.
    pub fn drain_max(&self) -> Duration {
        if self.mutant().is_some() && self.failpoint().is_none() {
            Duration::from_secs(6)
        } else {
            DRAIN_MAX
        }
    }
}

/// Makes this process use the mutant, if there is one.
pub fn mutate(mutant: Option<&str>) {
    #[cfg(feature = "mutants")]
    if let Some(name) = mutant {
        linchpin::store::redis::mutants::mutate(name);
    }
    let _ = mutant;
}

/// Makes this process end when it reaches a step for the so manieth time, if there is one.
pub fn arm(failpoint: Option<&(String, u64)>) {
    #[cfg(feature = "failpoints")]
    if let Some((name, times)) = failpoint
        && let Some(step) = linchpin::failpoint::Step::ALL.into_iter().find(|step| step.as_str() == name)
    {
        linchpin::failpoint::arm(step, *times);
    }
    let _ = failpoint;
}
