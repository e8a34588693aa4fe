//! The checks: what was acknowledged, what the effects say, what the workers told and what the log says must fit together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::faults::{Kind, Over};
use super::history::{Event, NO_LOCK, Seen, What};

/// Events of each violation that are shown.
const SHOWN: usize = 24;

/// Everything that is known after a run.
pub struct Evidence {
    /// Order -> job and SKU, of every enqueue that was acknowledged.
    pub acknowledged: BTreeMap<u64, (String, u64)>,
    /// Order -> how often it was taken.
    pub taken: HashMap<u64, u64>,
    /// SKU -> what its stock is and should be.
    pub stock: BTreeMap<u64, (i64, i64)>,
    /// SKU -> the orders taken from it with their fences, in their order.
    pub histories: BTreeMap<u64, Vec<(u64, u64)>>,
    /// Orders whose jobs are still there, and in which state.
    pub kept: BTreeMap<u64, String>,
    /// Instants of the schedule's ticks and how often each was taken.
    pub ticks: BTreeMap<i64, u64>,
    /// How far apart they are.
    pub tick_every: i64,
    /// (job, fence) -> outcomes in the attempts log.
    pub log: HashMap<(String, u64), Vec<&'static str>>,
    pub seen: Vec<Seen>,
    pub killed: Vec<(usize, u64)>,
    pub over: Vec<Over>,
    /// The fence of each holder whose lock was broken while it held it.
    pub broken: Vec<u64>,
    /// What is wrong with renewals that came late.
    pub late: Vec<String>,
    /// How many workers ended by themselves, and whether they were to.
    pub ended: u64,
    pub may_end: bool,
    /// Whether faults were among these that let two attempts believe to hold one lock.
    pub may_overlap: bool,
    /// Keys that should not be there any more.
    pub left_keys: Vec<String>,
}

/// What the checks found.
#[derive(Default)]
pub struct Findings {
    pub lost: u64,
    pub double: u64,
    pub stuck: u64,
    pub fence_regressions: u64,
    pub overlapping_believers: u64,
    pub refused_late: u64,
    pub attempts: u64,
    /// From the end of a fault to the next attempt, in milliseconds, sorted.
    pub recoveries_ms: Vec<(f64, Kind)>,
    pub violations: Vec<String>,
}

impl Evidence {
    /// Runs every check.
    pub fn check(&self) -> Findings {
        let mut findings = Findings::default();
        self.each_order_is_taken_once(&mut findings);
        self.stock_is_right(&mut findings);
        self.fences_only_grow(&mut findings);
        self.settles_count_once(&mut findings);
        self.broken_ones_took_no_effect(&mut findings);
        self.ticks_are_whole(&mut findings);
        self.nothing_is_left(&mut findings);
        findings.violations.extend(self.late.iter().cloned());
        match (self.ended, self.may_end) {
            (0, true) => findings.violations.push("no worker reached the step at which it was to end".into()),
            (0, false) | (_, true) => {}
            (ended, false) => findings.violations.push(format!("{ended} workers ended by themselves")),
        }
        findings.overlapping_believers = self.overlaps();
        if findings.overlapping_believers > 0 && !self.may_overlap {
            let what = format!(
                "{} attempts overlapped under one lock or of one job, and nothing was paused",
                findings.overlapping_believers
            );
            findings.violations.push(what);
        }
        findings.attempts = self.seen.iter().filter(|seen| seen.event.what == What::Started).count() as u64;
        findings.recoveries_ms = self.recoveries();
        findings
    }

    fn each_order_is_taken_once(&self, findings: &mut Findings) {
        for (order, (job, sku)) in &self.acknowledged {
            let taken = self.taken.get(order).copied().unwrap_or(0);
            let what = match (taken, self.kept.get(order)) {
                (1, None) => continue,
                (0, Some(state)) => {
                    findings.stuck += 1;
                    format!("order {order} has not ended: its job {job} is {state}")
                }
                (0, None) => {
                    findings.lost += 1;
                    format!("order {order} is lost: its job {job} is gone and nothing was taken for it")
                }
                (1, Some(state)) => {
                    findings.stuck += 1;
                    format!("order {order} was taken and its job {job} is {state} all the same")
                }
                (times, _) => {
                    findings.double += 1;
                    format!("order {order} was taken {times} times (job {job})")
                }
            };
            findings
                .violations
                .push(self.with_history(what, |event| event.order == *order, *sku));
        }
        for order in self.taken.keys().filter(|order| !self.acknowledged.contains_key(order)) {
            findings.violations.push(format!("order {order} was taken, and nobody enqueued it"));
        }
    }

    fn stock_is_right(&self, findings: &mut Findings) {
        for (sku, (stock, wanted)) in self.stock.iter().filter(|(_, (stock, wanted))| stock != wanted) {
            findings
                .violations
                .push(format!("the stock of SKU {sku} is {stock} instead of {wanted}"));
        }
    }

    /// Effects come in the order of their fences, for each lock; no fence is given twice.
    fn fences_only_grow(&self, findings: &mut Findings) {
        for (sku, history) in &self.histories {
            for pair in history.windows(2) {
                let ((before, low), (order, fence)) = (pair[0], pair[1]);
                if fence <= low {
                    findings.fence_regressions += 1;
                    let what = format!("SKU {sku}: order {order} was taken under fence {fence} after order {before} under {low}");
                    let concerned = |event: &Event| event.order == order || event.order == before;
                    findings.violations.push(self.with_history(what, concerned, *sku));
                }
            }
        }
        let mut given: HashMap<(u64, u64), &str> = HashMap::new();
        let started = self.seen.iter().filter(|seen| seen.event.what == What::Started);
        for Seen { event, .. } in started.filter(|seen| seen.event.sku != NO_LOCK) {
            if let Some(other) = given.insert((event.sku, event.fence), &event.job) {
                findings.fence_regressions += 1;
                let (sku, fence, job) = (event.sku, event.fence, &event.job);
                findings
                    .violations
                    .push(format!("SKU {sku}: fence {fence} was given to job {other} and to job {job}"));
            }
        }
    }

    /// No attempt is settled both ways, and no job is done twice.
    fn settles_count_once(&self, findings: &mut Findings) {
        let mut done: HashMap<&str, u64> = HashMap::new();
        for ((job, fence), outcomes) in &self.log {
            findings.refused_late += outcomes.iter().filter(|outcome| **outcome == "lease_lost").count() as u64;
            let dones = outcomes.iter().filter(|outcome| **outcome == "done").count() as u64;
            *done.entry(job).or_default() += dones;
            if dones > 0 && outcomes.len() > 1 {
                findings.violations.push(format!(
                    "job {job}: its attempt under fence {fence} ended as {}",
                    outcomes.join(" and ")
                ));
            }
        }
        for (job, times) in done.into_iter().filter(|(_, times)| *times > 1) {
            findings.double += 1;
            findings
                .violations
                .push(format!("job {job}: {times} settles were accepted as done"));
        }
    }

    /// Who lost a lock before the settle has no effect.
    fn broken_ones_took_no_effect(&self, findings: &mut Findings) {
        for ((job, fence), outcomes) in &self.log {
            if outcomes.contains(&"done") && self.broken.contains(fence) {
                findings.violations.push(format!(
                    "job {job}: its attempt under fence {fence} lost its lock to an operator and took effect all the same"
                ));
            }
        }
    }

    /// Every tick between the first and the last, each once.
    fn ticks_are_whole(&self, findings: &mut Findings) {
        let (Some((first, _)), Some((last, _))) = (self.ticks.first_key_value(), self.ticks.last_key_value()) else {
            findings.violations.push("no tick of the schedule was taken".into());
            return;
        };
        let mut at = *first;
        while at <= *last {
            match self.ticks.get(&at) {
                Some(1) => {}
                Some(times) => findings.violations.push(format!("the tick of {at} was taken {times} times")),
                None => findings.violations.push(format!("the tick of {at} is lost")),
            }
            at += self.tick_every;
        }
    }

    fn nothing_is_left(&self, findings: &mut Findings) {
        for key in &self.left_keys {
            findings.violations.push(format!("key `{key}` is left after everything has ended"));
        }
    }

    /// Attempts that believed at the same time to hold the same lock. A pause makes such, and nothing can exclude it: what counts is that
    /// only one of them takes effect.
    fn overlaps(&self) -> u64 {
        // what excludes: the lock of a SKU, or the job where it has none
        let held = |event: &Event| match event.sku {
            NO_LOCK => (NO_LOCK, event.order),
            sku => (sku, 0),
        };
        let mut spans: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
        let mut open = HashMap::new();
        for Seen { process, event } in &self.seen {
            let name = (event.job.as_str(), event.fence);
            if event.what == What::Started {
                open.insert(name, (event.at, held(event), *process));
            } else if let Some((from, held, _)) = open.remove(&name) {
                spans.entry(held).or_default().push((from, event.at));
            }
        }
        for (from, held, process) in open.into_values() {
            let end = self
                .killed
                .iter()
                .find(|(killed, _)| *killed == process)
                .map_or(from, |(_, at)| *at);
            spans.entry(held).or_default().push((from, end.max(from)));
        }
        let mut overlaps = 0;
        for spans in spans.values_mut() {
            spans.sort_unstable();
            let mut latest = 0;
            for (from, to) in spans {
                overlaps += u64::from(*from < latest);
                latest = latest.max(*to);
            }
        }
        overlaps
    }

    /// Of a kill: for each attempt that it interrupted, until the next one under the same lock. Of any other fault: for each process that it
    /// hit and that lives, until its next attempt.
    fn recoveries(&self) -> Vec<(f64, Kind)> {
        let mut starts: BTreeSet<(u64, usize)> = BTreeSet::new();
        let mut by_sku: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut running: HashMap<(usize, &str, u64), u64> = HashMap::new();
        for Seen { process, event } in &self.seen {
            let name = (*process, event.job.as_str(), event.fence);
            match event.what {
                What::Started => {
                    starts.insert((event.at, *process));
                    by_sku.entry(event.sku).or_default().insert(event.at);
                    running.insert(name, event.sku);
                }
                _ => drop(running.remove(&name)),
            }
        }
        let mut took = Vec::new();
        let ms = |from: u64, to: u64| (to - from) as f64 / 1e6;
        for over in &self.over {
            if over.kind == Kind::Kill {
                let interrupted = running.iter().filter(|((process, ..), _)| over.processes.contains(process));
                for (_, sku) in interrupted.filter(|(_, sku)| **sku != NO_LOCK) {
                    let again = by_sku.get(sku).and_then(|starts| starts.range(over.at..).next());
                    took.extend(again.map(|at| (ms(over.at, *at), over.kind)));
                }
                continue;
            }
            for process in &over.processes {
                let next = starts.range((over.at, 0)..).find(|(_, by)| by == process);
                // what another fault hit before it could is that one's
                let hit_again = self
                    .over
                    .iter()
                    .any(|other| other.at > over.at && other.processes.contains(process) && next.is_none_or(|(at, _)| other.at < *at));
                if let (Some((at, _)), false) = (next, hit_again) {
                    took.push((ms(over.at, *at), over.kind));
                }
            }
        }
        took.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        took
    }

    /// A violation with what the workers told of it, and of the SKU at that time.
    fn with_history(&self, what: String, concerned: impl Fn(&Event) -> bool, sku: u64) -> String {
        let mut told: Vec<&Seen> = self.seen.iter().filter(|seen| concerned(&seen.event)).collect();
        told.sort_by_key(|seen| seen.event.at);
        let first = told.first().map_or(0, |seen| seen.event.at);
        let lines = told.iter().take(SHOWN).map(|Seen { process, event }| {
            format!(
                "\n    {:>9.3} s  process {process}: order {} of SKU {sku}, job {}, fence {}: {:?}",
                (event.at - first) as f64 / 1e9,
                event.order,
                event.job,
                event.fence,
                event.what
            )
        });
        what + &lines.collect::<String>()
    }
}
