//! `linchpin bench`: what a store and this build reach, beside the floor of the same machine at the same time.
//!
//! Every run has a namespace of its own, which must be empty before and is empty after. The server's counters are those of
//! the whole server: bench one that serves nobody else.

mod backlog;
mod clock;
mod drain;
mod due;
mod enqueue;
mod exec;
mod figures;
mod floor;
mod idle;
mod info;
mod latency;
mod lines;
mod lock;
mod schedules;
mod server;
mod tasks;
mod throughput;

use clap::{Args, ValueEnum};
use linchpin::worker::WorkerBuilder;
use linchpin::{Client, Worker};

use crate::failure::Failure;
use figures::Figures;
use floor::Shape;
use info::Info;
use server::Server;
use tasks::{Progress, Shelves};

pub use clock::{monotonic_ns, quantile};
pub use latency::produce;

/// Behind the namespace, the name of a second one, for `backlog`.
const SHALLOW: &str = "-shallow";

/// What to measure, and where.
#[derive(Args, Debug)]
pub struct Options {
    /// The workload.
    workload: Workload,
    /// The store: redis://, rediss://, unix:// or memory://.
    #[arg(long, value_name = "URL")]
    store: String,
    /// Jobs; the workload's own number by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    jobs: Option<u64>,
    /// Attempts the worker may run at once; the workload's own number by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    concurrency: Option<u64>,
    /// Runs, of whose figures the median is printed.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    reps: u64,
    /// Writes no attempts log.
    #[arg(long)]
    no_attempts: bool,
    /// Bytes of each job's arguments; for `due` alone.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(100..=65_536))]
    args_bytes: u64,
    /// Effects that each job hands over to its settle; for `noop` alone.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=64))]
    effects: u64,
    #[command(flatten)]
    lock: lock::LockOptions,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// The namespace; it must be empty, and is emptied afterwards. Default: `bench-` and random characters.
    #[arg(long)]
    namespace: Option<String>,
}

/// What can be measured.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Workload {
    /// Jobs without a lock.
    Noop,
    /// Jobs with a lock each.
    Locked,
    /// Jobs that share one lock.
    Hot,
    /// From the enqueue call in another process to the handler in an idle worker.
    Latency,
    /// Enqueueing one by one, and 1,000 at a time.
    Enqueue,
    /// What is left in the store when all work is done.
    Drain,
    /// What a fleet without work costs the server.
    Idle,
    /// How fast jobs are claimed with very many pending.
    Backlog,
    /// Jobs that are all due at one instant, and the longest script they cause.
    Due,
    /// Locks taken and released by themselves.
    Lock,
    /// Jobs that are a command, /bin/true, beside a bare loop that spawns it.
    Exec,
    /// `linchpin enqueue -`, beside the library's bulk enqueue.
    Lines,
    /// What very many schedules cost a worker, and how late its ticks are; `--jobs` is their number.
    Schedules,
}

impl Workload {
    fn name(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Locked => "locked",
            Self::Hot => "hot",
            Self::Latency => "latency",
            Self::Enqueue => "enqueue",
            Self::Drain => "drain",
            Self::Idle => "idle",
            Self::Backlog => "backlog",
            Self::Due => "due",
            Self::Lock => "lock",
            Self::Exec => "exec",
            Self::Lines => "lines",
            Self::Schedules => "schedules",
        }
    }

    fn jobs(self) -> u64 {
        match self {
            Self::Noop | Self::Locked | Self::Hot | Self::Drain => 50_000,
            Self::Latency => 500,
            Self::Exec => 4000,
            Self::Schedules => 10_000,
            Self::Lines => 100_000,
            Self::Enqueue | Self::Due | Self::Lock => 20_000,
            Self::Backlog => 1_000_000,
            Self::Idle => 0,
        }
    }

    fn concurrency(self) -> Option<usize> {
        match self {
            Self::Noop | Self::Locked | Self::Drain | Self::Backlog | Self::Due => Some(100),
            Self::Hot | Self::Latency => Some(10),
            Self::Exec => Some(8),
            Self::Enqueue | Self::Idle | Self::Lock | Self::Lines | Self::Schedules => None,
        }
    }
}

/// One run: what, where, how much.
pub struct Run {
    workload: Workload,
    store: String,
    namespace: String,
    /// Absent on the embedded store, which has no counters and no floor.
    server: Option<Server>,
    jobs: u64,
    /// 0 where the workload runs no worker.
    concurrency: usize,
    log: bool,
    args_bytes: usize,
    /// How many effects each job has.
    effects: u64,
    /// The server's parameters that the run changed, and what they were.
    changed: Vec<(&'static str, String)>,
}

/// Measures and prints.
///
/// # Errors
/// When the store cannot be used, the namespace is not empty, or jobs were lost.
pub async fn run(options: Options) -> Result<(), Failure> {
    let workload = options.workload;
    if workload != Workload::Lock && options.lock.any() {
        return Err(Failure::usage(
            "--kind, --tasks, --keys and --hold-ms are for the workload `lock` alone",
        ));
    }
    if workload == Workload::Lock && (options.concurrency.is_some() || options.no_attempts) {
        return Err(Failure::usage(
            "the workload `lock` runs no worker: give --tasks instead of --concurrency, and leave out --no-attempts",
        ));
    }
    if workload != Workload::Noop && options.effects > 0 {
        return Err(Failure::usage("--effects is for the workload `noop` alone"));
    }
    let namespace = options
        .namespace
        .unwrap_or_else(|| format!("bench-{}", linchpin::names::ProcessId::random()));
    // first through the library: it says what is wrong with a store, and what to do
    Client::builder(&options.store).namespace(&namespace).connect().await?;
    let server = match options.store.starts_with("memory:") {
        true => None,
        false => Some(Server::open(&options.store, [namespace.clone(), format!("{namespace}{SHALLOW}")]).await?),
    };
    let mut run = Run {
        workload,
        store: options.store,
        namespace,
        server,
        jobs: options.jobs.unwrap_or(workload.jobs()),
        concurrency: options.concurrency.map(|n| n as usize).or(workload.concurrency()).unwrap_or(0),
        log: !options.no_attempts,
        args_bytes: options.args_bytes as usize,
        effects: options.effects,
        changed: Vec::new(),
    };
    let figures = tokio::select! {
        measured = run.printed(options.reps, options.lock, options.json) => measured,
        _ = tokio::signal::ctrl_c() => Err(Failure::new("bench", "interrupted")),
    };
    run.tidy().await?;
    println!("{}", figures?);
    Ok(())
}

impl Run {
    /// The figures as they are printed.
    async fn printed(&mut self, reps: u64, lock: lock::LockOptions, json: bool) -> Result<String, Failure> {
        if self.workload == Workload::Lock {
            let figures = lock::measure(self, lock, reps).await?;
            return if json { figures.json() } else { Ok(figures.table()) };
        }
        let figures = self.measure(reps).await?;
        if json { figures.json() } else { Ok(figures.table()) }
    }

    async fn measure(&mut self, reps: u64) -> Result<Figures, Failure> {
        let mut runs = Vec::new();
        for _ in 0..reps {
            let figures = match self.workload {
                Workload::Noop | Workload::Locked | Workload::Hot => throughput::measure(self).await,
                Workload::Latency => latency::measure(self).await,
                Workload::Enqueue => enqueue::measure(self).await,
                Workload::Drain => drain::measure(self).await,
                Workload::Idle => idle::measure(self).await,
                Workload::Backlog => backlog::measure(self).await,
                Workload::Due => due::measure(self).await,
                Workload::Exec => exec::measure(self).await,
                Workload::Lines => lines::measure(self).await,
                Workload::Schedules => schedules::measure(self).await,
                Workload::Lock => Err(Failure::new("bench lock", "it has figures of its own")),
            };
            self.sweep().await?;
            runs.push(figures?);
        }
        Ok(Figures::median(runs))
    }

    /// What every workload's figures begin with.
    fn figures(&self, client: &Client) -> Figures {
        Figures {
            workload: self.workload.name(),
            store: client.store().describe(),
            jobs: self.jobs,
            concurrency: Some(self.concurrency).filter(|n| *n > 0),
            ..Figures::default()
        }
    }

    async fn client(&self) -> Result<Client, Failure> {
        Ok(Client::builder(&self.store).namespace(&self.namespace).connect().await?)
    }

    /// A client of the other namespace.
    async fn shallow_client(&self) -> Result<Client, Failure> {
        let namespace = format!("{}{SHALLOW}", self.namespace);
        Ok(Client::builder(&self.store).namespace(namespace).connect().await?)
    }

    /// A worker of the tasks that workloads run. It serves `queues`, or without any the tasks' own.
    fn worker(&self, client: &Client, progress: &Progress, queues: &[String]) -> Result<Worker, Failure> {
        Ok(self.builder(client, progress, queues).build()?)
    }

    fn builder(&self, client: &Client, progress: &Progress, queues: &[String]) -> WorkerBuilder {
        let mut worker = Worker::builder(client)
            .concurrency(self.concurrency.max(1))
            .attempts_log(self.log)
            .data(progress.clone())
            .data(self.shelves());
        for queue in queues {
            worker = worker.queue(queue);
        }
        worker
            .task::<tasks::noop>()
            .task::<tasks::locked>()
            .task::<tasks::effecting>()
            .task::<tasks::noted>()
            .task::<tasks::timed>()
    }

    fn shelves(&self) -> Shelves {
        Shelves::new(&self.namespace, self.effects)
    }

    async fn info(&mut self) -> Result<Option<Info>, Failure> {
        match &mut self.server {
            Some(server) => server.info().await.map(Some),
            None => Ok(None),
        }
    }

    /// Sets one of the server's parameters until the run ends.
    async fn configure(&mut self, name: &'static str, value: &str) -> Result<(), Failure> {
        if let Some(server) = &mut self.server {
            let was = server.configure(name, value).await?;
            self.changed.push((name, was));
        }
        Ok(())
    }

    /// Leaves the server as it was.
    async fn tidy(&mut self) -> Result<(), Failure> {
        if let Some(server) = &mut self.server {
            for (name, was) in self.changed.drain(..).rev() {
                server.configure(name, &was).await?;
            }
        }
        self.sweep().await
    }

    async fn sweep(&mut self) -> Result<(), Failure> {
        match &mut self.server {
            Some(server) => server.sweep().await,
            None => Ok(()),
        }
    }

    /// The floor of this shape, where there is a server.
    async fn floor(&mut self, shape: Shape) -> Result<Option<f64>, Failure> {
        let jobs = self.jobs;
        match &mut self.server {
            Some(server) => floor::jobs_per_s(server, jobs, shape).await.map(Some),
            None => Ok(None),
        }
    }

    /// The server, for workloads that only a server can show.
    fn need_server(&self) -> Result<Server, Failure> {
        let missing = || {
            Failure::new(
                format!("bench {}", self.workload.name()),
                "it needs a Redis store: give --store redis://...",
            )
        };
        self.server.clone().ok_or_else(missing)
    }
}
