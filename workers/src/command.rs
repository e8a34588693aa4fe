//! The commands, one a file: each has its `Options` and a `run` that says [`Answer`] or [`Failure`].

mod queues;

use clap::Subcommand;
use linchpin::TaskList;

use crate::bench;
use crate::failure::{Answer, Failure};

/// What can be done.
#[derive(Subcommand)]
pub enum Command {
    /// Pauses and resumes queues.
    Queues(queues::Options),
    /// Measures a store and this build against the store's own floor.
    Bench(bench::Options),
    /// The enqueueing process of `bench latency`; its orders come on standard input.
    #[command(hide = true, name = "bench-producer")]
    BenchProducer,
}

impl Command {
    /// Does it. `tasks` are those compiled into the binary.
    pub async fn run(self, tasks: TaskList) -> Result<Answer, Failure> {
        let _ = tasks;
        match self {
            Self::Queues(options) => queues::run(options).await,
            Self::Bench(options) => bench::run(options).await.map(|()| Answer::Yes),
            Self::BenchProducer => bench::produce().await.map(|()| Answer::Yes),
        }
    }
}
