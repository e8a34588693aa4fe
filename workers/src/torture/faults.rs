//! The faults of a run: one after the other, each of a random kind, at random workers.

use std::time::Duration;

use clap::ValueEnum;
use linchpin::Client;
use linchpin::store::lease::BreakAnswer;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::admin::Admin;
use super::crew::Crew;
use super::late;
use super::work::{LEASE, STOCK};
use crate::bench::monotonic_ns;
use crate::failure::Failure;

/// A kind of fault.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// SIGKILL of a worker, which is replaced.
    Kill,
    /// SIGSTOP of a worker for 1 to 2 leases.
    Pause,
    /// Every connection of a worker, or of all, is reset.
    Cut,
    /// Every connection of a worker, or of all, is open and silent for up to 2.5 leases.
    Blackhole,
    /// The server forgets every script.
    Flush,
    /// An operator takes a lock from its holder.
    Break,
    /// Entries of the queue are there twice.
    Twin,
    /// All workers are paused, and a renewal comes when the deadline of its claim has passed.
    Late,
    /// The server restarts: needs --restart-with.
    Restart,
}

impl Kind {
    /// Those that need nothing but the store.
    pub const USUAL: [Kind; 5] = [Kind::Kill, Kind::Pause, Kind::Cut, Kind::Blackhole, Kind::Flush];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Kill => "kill",
            Kind::Pause => "pause",
            Kind::Cut => "cut",
            Kind::Blackhole => "blackhole",
            Kind::Flush => "flush",
            Kind::Break => "break",
            Kind::Twin => "twin",
            Kind::Late => "late",
            Kind::Restart => "restart",
        }
    }
}

/// A fault that has ended, from when on the processes that it hit are to recover.
#[derive(Debug, Clone)]
pub struct Over {
    pub kind: Kind,
    /// When it ended.
    pub at: u64,
    /// The processes that it hit; of a kill, those that are gone.
    pub processes: Vec<usize>,
}

/// What lasts: to be ended at its time.
struct Lasting {
    until: tokio::time::Instant,
    kind: Kind,
    seats: Vec<usize>,
}

/// Throws faults.
pub struct Injector {
    dice: StdRng,
    kinds: Vec<Kind>,
    restart: Option<String>,
    client: Client,
    namespace: String,
    admin: Admin,
    lasting: Vec<Lasting>,
    /// How many were thrown of each kind, in the order in which they were named.
    pub thrown: Vec<(Kind, u64)>,
    pub over: Vec<Over>,
    /// The fence of each holder that lost its lock to an operator.
    pub broken: Vec<u64>,
    /// What is wrong with renewals that came late.
    pub late: Vec<String>,
}

impl Injector {
    pub fn new(seed: u64, kinds: &[Kind], restart: Option<String>, client: Client, namespace: &str, admin: Admin) -> Self {
        Self {
            dice: StdRng::seed_from_u64(seed),
            kinds: kinds.to_vec(),
            restart,
            client,
            namespace: namespace.to_owned(),
            admin,
            lasting: Vec::new(),
            thrown: kinds.iter().map(|kind| (*kind, 0)).collect(),
            over: Vec::new(),
            broken: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Ends what is due, then throws one.
    pub async fn throw(&mut self, crew: &mut Crew) -> Result<(), Failure> {
        self.end_due(crew, false)?;
        let Some(kind) = self.kinds.choose(&mut self.dice).copied() else {
            return Ok(());
        };
        let seat = self.dice.random_range(0..crew.len());
        let seats: Vec<usize> = match self.dice.random_bool(0.25) {
            true => (0..crew.len()).collect(),
            false => vec![seat],
        };
        let processes = |crew: &Crew, seats: &[usize]| seats.iter().map(|seat| crew.process(*seat)).collect::<Vec<_>>();
        match kind {
            Kind::Kill => {
                let gone = processes(crew, &[seat]);
                crew.kill(seat).await?;
                self.is_over(kind, gone);
            }
            Kind::Pause if crew.is_paused(seat) => return Ok(()),
            Kind::Pause => {
                crew.pause(seat, true)?;
                let time = LEASE.mul_f64(self.dice.random_range(1.0..2.0));
                self.lasts(kind, vec![seat], time);
            }
            Kind::Cut => {
                seats.iter().for_each(|seat| crew.proxy(*seat).cut());
                self.is_over(kind, processes(crew, &seats));
            }
            Kind::Blackhole => {
                seats.iter().for_each(|seat| crew.proxy(*seat).hush(true));
                let time = LEASE.mul_f64(self.dice.random_range(0.1..2.5));
                self.lasts(kind, seats, time);
            }
            Kind::Flush => {
                // lost with a server that restarts: then it has forgotten them anyway
                let mut admin = self.admin.connect().await?;
                let _: redis::RedisResult<()> = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut admin).await;
                self.is_over(kind, processes(crew, &(0..crew.len()).collect::<Vec<_>>()));
            }
            Kind::Break => {
                let held = self.client.locks(None, 100).await?.locks;
                let held: Vec<_> = held.into_iter().filter(|line| line.holder.is_some()).collect();
                if let Some(line) = held.choose(&mut self.dice) {
                    let answer = self.client.break_lock(line.key.as_str()).await?;
                    // of an auditor only its nested lock is gone, and its attempt may take effect
                    if let (BreakAnswer::Broken { fence, .. }, true) = (answer, line.key.as_str().starts_with(STOCK)) {
                        self.broken.push(fence.0);
                    }
                }
                self.is_over(kind, Vec::new());
            }
            Kind::Twin => {
                let list = format!("{{{}}}:queue:default:1", self.namespace);
                let mut admin = self.admin.connect().await?;
                let mut lrange = redis::cmd("LRANGE");
                let entries: Vec<Vec<u8>> = lrange.arg(&list).arg(0).arg(9).query_async(&mut admin).await?;
                if !entries.is_empty() {
                    let () = redis::cmd("LPUSH").arg(&list).arg(entries).query_async(&mut admin).await?;
                }
                self.is_over(kind, Vec::new());
            }
            Kind::Late => {
                let Some(claimed) = late::claim(&self.client).await? else {
                    return Ok(());
                };
                let seats: Vec<usize> = (0..crew.len()).filter(|seat| !crew.is_paused(*seat)).collect();
                seats.iter().try_for_each(|seat| crew.pause(*seat, true))?;
                let renewed = late::renew(&self.client, claimed).await;
                seats.iter().try_for_each(|seat| crew.pause(*seat, false))?;
                self.late.extend(renewed?);
                self.is_over(kind, processes(crew, &seats));
            }
            Kind::Restart => {
                let command = self.restart.clone().unwrap_or_default();
                let status = tokio::process::Command::new("sh").arg("-c").arg(&command).status().await;
                let status = status.map_err(|error| Failure::new("restart the server", error))?;
                if !status.success() {
                    return Err(Failure::new("restart the server", format!("`{command}`: {status}")));
                }
                self.is_over(kind, processes(crew, &(0..crew.len()).collect::<Vec<_>>()));
            }
        }
        if let Some((_, count)) = self.thrown.iter_mut().find(|(thrown, _)| *thrown == kind) {
            *count += 1;
        }
        Ok(())
    }

    fn is_over(&mut self, kind: Kind, processes: Vec<usize>) {
        let at = monotonic_ns();
        self.over.push(Over { kind, at, processes });
    }

    fn lasts(&mut self, kind: Kind, seats: Vec<usize>, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        self.lasting.push(Lasting { until, kind, seats });
    }

    /// Ends what is due, or everything.
    pub fn end_due(&mut self, crew: &mut Crew, all: bool) -> Result<(), Failure> {
        let now = tokio::time::Instant::now();
        let (ended, lasting) = std::mem::take(&mut self.lasting)
            .into_iter()
            .partition(|lasting| all || lasting.until <= now);
        self.lasting = lasting;
        for lasting in ended {
            for seat in &lasting.seats {
                match lasting.kind {
                    // killed meanwhile: another sits there, which nobody paused
                    Kind::Pause if crew.is_paused(*seat) => crew.pause(*seat, false)?,
                    Kind::Blackhole
                        if !self
                            .lasting
                            .iter()
                            .any(|other| other.kind == Kind::Blackhole && other.seats.contains(seat)) =>
                    {
                        crew.proxy(*seat).hush(false);
                    }
                    _ => {}
                }
            }
            let processes = lasting.seats.iter().map(|seat| crew.process(*seat)).collect();
            self.is_over(lasting.kind, processes);
        }
        Ok(())
    }
}
