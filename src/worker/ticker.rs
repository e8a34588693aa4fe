//! The ticker: fires schedules. Every worker has one and none leads: each knows all schedules, computes the same next tick, and asks the store at its time; the
//! store lets one of them do it. Only the store's clock counts.

mod clock;
mod jobs;
mod timetable;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::client::Tasks;
use crate::error::Error;
use crate::limits::SCHEDULE_ORPHANED;
use crate::manifest::Manifest;
use crate::names::{JobId, ProcessId, ScheduleName};
use crate::schedule::{Change, Definition, Plan, Row};
use crate::store::Store;
use crate::store::schedules::{ScheduleStep, StepAnswer};
use crate::worker::herald::Again;
use clock::StoreClock;
use jobs::warn_of_conflicts;

pub(crate) use timetable::{Brought, Timetable};

/// The replica that fired last is asked first; the others come this much later, each at a moment of its own.
const AFTER_THE_LAST: Duration = Duration::from_millis(100);
const APART: Duration = Duration::from_millis(100);
/// A worker says at least so often that it brings a schedule, well before it counts as orphaned; each at a moment of its own within the second half.
const SEEN_AGAIN: Duration = Duration::from_secs(SCHEDULE_ORPHANED.as_secs() * 2 / 5);
/// How often one schedule is planned anew in a row.
const TURNS: usize = 200;
/// The clock is looked at so often: it may have jumped with the machine's sleep.
const SLEEP_MAX: Duration = Duration::from_secs(20);

/// Fires schedules until it is dropped.
pub(crate) struct Ticker {
    store: Arc<dyn Store>,
    me: ProcessId,
    brought: HashMap<ScheduleName, Brought>,
    /// What this worker tells of its tasks.
    own: Vec<(String, Manifest)>,
    /// That, and what others have told.
    tasks: Tasks,
    /// The version of the schedules, from the heartbeats.
    version: watch::Receiver<u64>,
    seen_version: u64,
    clock: StoreClock,
    known: HashMap<ScheduleName, Known>,
    /// When to look at which, in milliseconds since 1970.
    agenda: BTreeSet<(u64, ScheduleName)>,
}

/// A row as it was last seen.
struct Known {
    text: String,
    row: Row,
    job: Option<JobId>,
    at: u64,
}

impl Ticker {
    pub(crate) fn new(store: Arc<dyn Store>, me: ProcessId, timetable: Timetable, version: watch::Receiver<u64>) -> Self {
        let Timetable { brought, own } = timetable;
        Self {
            store,
            me,
            brought: brought.into_iter().map(|brought| (brought.name.clone(), brought)).collect(),
            tasks: own.iter().cloned().collect(),
            own,
            version,
            seen_version: 0,
            clock: StoreClock::default(),
            known: HashMap::new(),
            agenda: BTreeSet::new(),
        }
    }

    /// Runs for ever. What the store does not answer is tried again.
    pub(crate) async fn run(mut self) {
        let mut again = Again::new();
        let mut started = None;
        loop {
            let result = match started {
                None => self.start().await.map(|at| started = Some(at)),
                Some(_) => self.next().await,
            };
            match result {
                Ok(()) => again = Again::new(),
                Err(error) => {
                    let wait = again.wait();
                    tracing::warn!(%error, "schedules wait for the store, trying again");
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Brings what this worker brings, and learns all the others.
    async fn start(&mut self) -> Result<u64, Error> {
        self.seen_version = *self.version.borrow_and_update();
        let began = self.read().await?;
        for brought in self.brought.values().cloned().collect::<Vec<_>>() {
            self.bring(&brought, began).await?;
        }
        Ok(began)
    }

    /// Reads all rows; answers the store's instant.
    async fn read(&mut self) -> Result<u64, Error> {
        let read = self.store.schedules().await?;
        self.clock.set(read.now);
        let now = self.clock.now_ms();
        self.known.clear();
        self.agenda.clear();
        for (name, text, _) in read.rows {
            self.keep(&name, Some(text), now);
        }
        if !self.known.is_empty() {
            let told = self.store.tasks().await?;
            let told = told
                .into_iter()
                .filter_map(|(task, line)| Some((task, serde_json::from_str(&line).ok()?)));
            self.tasks = told.chain(self.own.iter().cloned()).collect();
        }
        Ok(now)
    }

    /// Sleeps until something is due, and does it.
    async fn next(&mut self) -> Result<(), Error> {
        let now = self.clock.now_ms();
        let first = self.agenda.first().map(|(at, _)| Duration::from_millis(at.saturating_sub(now)));
        let sleep = first.unwrap_or(SLEEP_MAX).min(SLEEP_MAX);
        if !sleep.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                changed = self.version.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                    let before = std::mem::replace(&mut self.seen_version, *self.version.borrow());
                    // it only falls when the store has lost its data
                    match self.seen_version < before {
                        true => drop(self.start().await?),
                        false => drop(self.read().await?),
                    }
                }
            }
            return Ok(());
        }
        let Some((_, name)) = self.agenda.first().cloned() else {
            return Ok(());
        };
        self.look(&name).await
    }

    /// Takes note of a row, and when to look at it.
    fn keep(&mut self, name: &ScheduleName, text: Option<String>, at: u64) {
        if let Some(known) = self.known.remove(name) {
            self.agenda.remove(&(known.at, name.clone()));
        }
        let Some(text) = text else { return };
        let Some((row, job)) = Row::read(&text) else {
            tracing::warn!(schedule = %name, "its row cannot be read: left to the release that wrote it");
            return;
        };
        self.agenda.insert((at, name.clone()));
        self.known.insert(name.clone(), Known { text, row, job, at });
    }

    /// Looks at a schedule at this instant and not before.
    fn look_at(&mut self, name: &ScheduleName, at: u64) {
        if let Some(known) = self.known.get_mut(name) {
            self.agenda.remove(&(known.at, name.clone()));
            known.at = at;
            self.agenda.insert((at, name.clone()));
        }
    }

    fn brings(&self, name: &ScheduleName, definition: &Definition) -> bool {
        self.brought.get(name).is_some_and(|brought| brought.definition == *definition)
    }

    /// Does what is due of one schedule.
    async fn look(&mut self, name: &ScheduleName) -> Result<(), Error> {
        let (mut previous_lives, mut is_fresh) = (false, false);
        for _ in 0..TURNS {
            let now = self.clock.now_ms();
            let Some(known) = self.known.get(name) else { return Ok(()) };
            if known.row.is_orphaned(now) && !is_fresh {
                // those who bring it say so without telling everybody
                is_fresh = self.is_fresh(name).await?;
                continue;
            }
            let (row, job, text) = (&known.row, known.job, known.text.clone());
            let brings = self.brings(name, &row.definition);
            let (mut change, alive) = match row.plan(name, now, previous_lives, &self.me) {
                Plan::Step(change) => (*change, false),
                Plan::Wait(until) => {
                    // again at each look while it lives: who asked first may have died before
                    if let (true, true, Some(job)) = (row.replaces(), previous_lives, job) {
                        self.store.cancel(job).await?;
                    }
                    let again = row.seen + self.seen_again(name);
                    if brings && now >= again {
                        (Change::none(row.clone()), true)
                    } else {
                        let until = until.map(|until| until + self.patience(name, row, now, until));
                        let again = brings.then_some(again);
                        let at = until.into_iter().chain(again).min().unwrap_or(u64::MAX);
                        self.look_at(name, at);
                        return Ok(());
                    }
                }
            };
            if brings {
                change.row.seen = now;
            }
            let (jobs, last) = self.jobs(name, &mut change, now);
            let new = change.row.write(last.or(job));
            let step = ScheduleStep {
                name: name.clone(),
                expected: Some(text),
                new: Some(new.clone()),
                from: Some(Duration::from_millis(change.from)),
                before: change.before.map(Duration::from_millis),
                previous_lives: change.previous_lives,
                tell: false,
                jobs,
            };
            let stepped = self.store.step_schedule(step).await?;
            self.clock.set(stepped.now);
            match stepped.answer {
                StepAnswer::Done(accepted) => {
                    warn_of_conflicts(name, &accepted);
                    self.keep(name, Some(new), now);
                    if alive {
                        continue;
                    }
                    previous_lives = last.is_some() || previous_lives;
                }
                StepAnswer::Lost(text) => {
                    self.keep(name, text, now);
                    previous_lives = false;
                }
                StepAnswer::Previous(lives) => previous_lives = lives,
                StepAnswer::Early | StepAnswer::Past => {}
            }
        }
        // others are always before: they do what there is to do
        let now = self.clock.now_ms();
        self.look_at(name, now + 1000);
        Ok(())
    }

    /// Whether a row is still as it was last seen; learns it otherwise.
    async fn is_fresh(&mut self, name: &ScheduleName) -> Result<bool, Error> {
        let Some(known) = self.known.get(name) else { return Ok(true) };
        let step = ScheduleStep {
            name: name.clone(),
            expected: Some(known.text.clone()),
            new: Some(known.text.clone()),
            from: None,
            before: None,
            previous_lives: None,
            tell: false,
            jobs: Vec::new(),
        };
        let stepped = self.store.step_schedule(step).await?;
        self.clock.set(stepped.now);
        let StepAnswer::Lost(text) = stepped.answer else { return Ok(true) };
        let now = self.clock.now_ms();
        self.keep(name, text, now);
        Ok(false)
    }

    /// How long after it was last said this replica says again that it brings a schedule.
    fn seen_again(&self, name: &ScheduleName) -> u64 {
        SEEN_AGAIN.as_millis() as u64 - self.share(name, SEEN_AGAIN / 2)
    }

    /// A part of a span in milliseconds, by this replica and a schedule.
    fn share(&self, name: &ScheduleName, of: Duration) -> u64 {
        let digest = Sha256::new().chain_update(self.me.as_str()).chain_update(name.as_str()).finalize();
        let part = u64::from(digest[0]) << 8 | u64::from(digest[1]);
        (of.as_millis() as u64 * part) >> 16
    }

    /// How long this replica lets others be first with a tick.
    fn patience(&self, name: &ScheduleName, row: &Row, now: u64, until: u64) -> u64 {
        if row.by == self.me.as_str() || until <= now {
            return 0;
        }
        let mine = self.share(name, APART);
        match row.by.is_empty() {
            true => mine,
            false => AFTER_THE_LAST.as_millis() as u64 + mine,
        }
    }

    /// Writes a schedule that this worker brings, unless one of a higher generation is alive.
    async fn bring(&mut self, brought: &Brought, began: u64) -> Result<(), Error> {
        let name = &brought.name;
        let generation = brought.generation.unwrap_or(began);
        for _ in 0..TURNS {
            let now = self.clock.now_ms();
            let known = self.known.get(name);
            let (expected, row, tell) = match known {
                None => (
                    None,
                    Row::first(brought.definition.clone(), true, generation, now).write(None),
                    true,
                ),
                Some(known) => {
                    let same = known.row.definition == brought.definition;
                    let older = known.row.generation > generation && known.row.brought && !known.row.is_orphaned(now);
                    if older && !same {
                        tracing::info!(schedule = %name, "a later generation of this schedule is in force: it stays");
                        return Ok(());
                    }
                    let mut row = match same {
                        true => known.row.clone(),
                        false => known.row.edited(brought.definition.clone(), true, generation, now),
                    };
                    if known.row.is_orphaned(now) {
                        row.skip_to(now);
                    }
                    row.brought = true;
                    row.generation = row.generation.max(generation);
                    row.seen = now;
                    let tell = !same || known.row.is_orphaned(now);
                    (Some(known.text.clone()), row.write(known.job), tell)
                }
            };
            let step = ScheduleStep {
                name: name.clone(),
                expected,
                new: Some(row.clone()),
                from: None,
                before: None,
                previous_lives: None,
                tell,
                jobs: Vec::new(),
            };
            let stepped = self.store.step_schedule(step).await?;
            self.clock.set(stepped.now);
            match stepped.answer {
                StepAnswer::Lost(text) => self.keep(name, text, now),
                _ => {
                    self.keep(name, Some(row), now);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
