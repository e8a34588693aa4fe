//! Workers and what they tell of their tasks.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use redis::Cmd;

use super::RedisStore;
use super::arguments::Arguments;
use super::circumstances::{read_fields, too_short};
use super::script::Name;
use super::view::number;
use crate::error::Error;
use crate::limits::{LANE_KEPT, WORKERS_LISTED_MAX};
use crate::names::{ProcessId, QueueName, TaskName};
use crate::store::circumstances::WorkerView;
use crate::store::view::{Beat, Replaced, WorkerCard};

/// Version of the layout of keys and formats.
const LAYOUT: u32 = 1;

/// Who works, and what may not be worked at.
pub(super) struct Crew {
    pub(super) workers: Vec<WorkerView>,
    pub(super) paused: Vec<QueueName>,
}

impl RedisStore {
    pub(super) async fn run_register(&self, card: &WorkerCard) -> Result<Vec<Replaced>, Error> {
        let mut a = Arguments::default();
        a.int(LAYOUT.into());
        for (task, line) in &card.tasks {
            a.push(task).push(line);
        }
        let what = "register a worker";
        let mut said = read_fields(self.patiently(Name::Register, &a, what).await?, what)?
            .into_iter()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let found: u32 = said.next().and_then(|version| version.parse().ok()).unwrap_or(LAYOUT);
        if found > LAYOUT {
            return Err(Error::Refused {
                action: self.action(what),
                code: "layout".into(),
                advice: format!("the namespace has layout {found}, this release knows layout {LAYOUT}: use the newer release"),
                transient: false,
            });
        }
        let mut replaced = Vec::new();
        while let (Some(task), Some(line)) = (said.next(), said.next()) {
            replaced.push(Replaced { task, line });
        }
        self.run_heartbeat(card).await.map(|_| replaced)
    }

    pub(super) async fn run_heartbeat(&self, card: &WorkerCard) -> Result<Beat, Error> {
        let mut a = Arguments::default();
        a.push(card.worker.as_str()).push(card_json(card)).push("0");
        for (task, _) in &card.tasks {
            a.push(task);
        }
        self.heartbeat_script(a).await
    }

    pub(super) async fn run_deregister(&self, worker: &ProcessId) -> Result<(), Error> {
        let mut a = Arguments::default();
        a.push(worker.as_str()).push("").push("1");
        self.heartbeat_script(a).await.map(|_| ())
    }

    async fn heartbeat_script(&self, a: Arguments) -> Result<Beat, Error> {
        let value = self.patiently(Name::Heartbeat, &a, "heartbeat").await?;
        let (workers, there, schedules): (usize, u8, u64) = redis::from_redis_value(value).map_err(|e| Error::Internal {
            what: format!("heartbeat: {e}"),
        })?;
        Ok(Beat {
            workers,
            registered: there == 1,
            schedules,
        })
    }

    pub(super) async fn run_workers(&self) -> Result<Crew, Error> {
        let mut a = Arguments::default();
        a.int(WORKERS_LISTED_MAX as u64).int(LANE_KEPT.as_millis() as u64);
        let fields = read_fields(self.patiently(Name::Workers, &a, "list workers").await?, "list workers")?;
        let [now, paused, rows @ ..] = fields.as_slice() else {
            return Err(too_short());
        };
        let paused = String::from_utf8_lossy(paused);
        Ok(Crew {
            workers: rows.chunks_exact(3).map(|row| worker_view(row, number(now))).collect(),
            paused: paused.split(',').filter_map(|queue| QueueName::new(queue).ok()).collect(),
        })
    }

    /// A row of which something is no text is somebody else's: it is left out.
    pub(super) async fn run_tasks(&self) -> Result<Vec<(String, String)>, Error> {
        let mut command = Cmd::new();
        command.arg("HGETALL").arg(self.keys.tasks());
        let what = format!("list tasks, from key `{}`", self.keys.tasks());
        let rows: BTreeMap<Vec<u8>, Vec<u8>> = redis::from_redis_value(self.read(&command, &what).await?).map_err(|e| Error::Internal {
            what: format!("{what}: {e}"),
        })?;
        let text = |bytes| String::from_utf8(bytes).ok();
        Ok(rows
            .into_iter()
            .filter_map(|(task, line)| Some((text(task)?, text(line)?)))
            .collect())
    }
}

fn card_json(card: &WorkerCard) -> String {
    serde_json::json!({
        "labels": card.labels.iter().cloned().collect::<HashMap<_, _>>(),
        "queues": card.queues.iter().map(QueueName::as_str).collect::<Vec<_>>(),
        "concurrency": card.concurrency,
        "running": card.running,
        "tasks": card.task_names().iter().map(TaskName::as_str).collect::<Vec<_>>(),
    })
    .to_string()
}

/// A card as `card_json` writes it.
#[derive(serde::Deserialize, Default)]
struct Card {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    queues: Vec<String>,
    #[serde(default)]
    tasks: Vec<String>,
    #[serde(default)]
    concurrency: usize,
    #[serde(default)]
    running: usize,
}

/// `worker, ms when it spoke, card`.
fn worker_view(row: &[Vec<u8>], now_ms: u64) -> WorkerView {
    let card: Card = serde_json::from_slice(&row[2]).unwrap_or_default();
    WorkerView {
        worker: ProcessId::from_text(&String::from_utf8_lossy(&row[0])),
        labels: card.labels.into_iter().collect(),
        queues: card.queues.iter().filter_map(|queue| QueueName::new(queue).ok()).collect(),
        tasks: card.tasks.iter().filter_map(|task| TaskName::new(task).ok()).collect(),
        concurrency: card.concurrency,
        running: card.running,
        silent_for: Duration::from_millis(now_ms.saturating_sub(number(&row[1]))),
    }
}
