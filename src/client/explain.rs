//! Why a job is not running: reasons, of what stands around it.

use std::fmt;
use std::time::Duration;

use crate::names::{LockKey, OwnerToken, ProcessId, QueueName, TaskName};
use crate::store::circumstances::{Circumstances, Holder, LockView, WorkerView};
use crate::store::settle::Death;
use crate::store::turn::Envelope;
use crate::store::view::{JobView, State};

/// A job and the reasons why it is where it is: first its state's own, then what else stands in its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The job.
    pub job: JobView,
    /// The reasons; never none.
    pub reasons: Vec<Reason>,
}

/// One reason why a job is where it is. As text it is a sentence without its first capital and full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// An attempt of it runs.
    Active {
        /// The claim.
        token: OwnerToken,
        /// The worker that claimed it.
        worker: ProcessId,
        /// The worker's labels, where it is known.
        labels: Vec<(String, String)>,
        /// Since about when.
        since: Duration,
        /// Until the claim lapses unless it is renewed.
        lease_left: Duration,
        /// Somebody asked for it to stop.
        cancel_requested: bool,
    },
    /// It waits for a lock.
    Parked {
        /// The lock.
        behind: LockKey,
        /// Who holds it; none where it is free and the next look hands it over.
        holder: Option<Holder>,
        /// Since when.
        waited: Duration,
        /// Waiters before it.
        ahead: Option<u64>,
        /// Until it gives up waiting, where it does.
        gives_up_in: Option<Duration>,
    },
    /// It is due later.
    Scheduled {
        /// Zero when it is due and not promoted yet.
        due_in: Duration,
    },
    /// It failed before, and is due again later.
    Retry {
        /// The retry's number; the first attempt is none.
        number: u32,
        /// Zero when it is due and not promoted yet.
        due_in: Duration,
        /// Why the last attempt failed.
        last_error: Option<String>,
    },
    /// It is in its queue.
    Ready {
        /// Entries before it, of higher priorities too; none when it is far from the head.
        ahead: Option<u64>,
    },
    /// It is in its queue because it has the turn for a lock.
    Turn {
        /// The lock.
        key: LockKey,
    },
    /// It is dead.
    Dead {
        /// What kind of death.
        death: Death,
        /// Why.
        reason: String,
        /// Since when.
        dead_for: Duration,
    },
    /// Its queue is paused.
    Paused {
        /// The queue.
        queue: QueueName,
    },
    /// No worker is alive.
    NoWorkers,
    /// No live worker serves its queue.
    NotServed {
        /// The queue.
        queue: QueueName,
        /// The queues that live workers do serve.
        served: Vec<QueueName>,
    },
    /// None of the live workers of its queue knows its task.
    UnknownTask {
        /// The task.
        task: TaskName,
        /// The queue.
        queue: QueueName,
        /// Live workers of the queue.
        workers: u64,
    },
    /// All slots of the workers of its queue were taken when they spoke last.
    Busy {
        /// Their slots.
        slots: u64,
    },
    /// Workers took it and gave it back, because they do not know its task or cannot decode its arguments.
    Mismatched {
        /// How often.
        times: u32,
        /// Since when.
        since: Duration,
    },
    /// Its last attempt ended with its worker: a worker runs one such job at a time.
    Suspect {
        /// Workers that it ended as a suspect already.
        strikes: u32,
        /// How many bury it.
        crash_limit: u32,
    },
    /// The stored job cannot be read.
    Unreadable {
        /// Why.
        why: String,
    },
}

impl Explanation {
    pub(crate) fn of(around: Circumstances, workers: &[WorkerView]) -> Self {
        let mut reasons = vec![of_state(&around, workers)];
        match &around.job.envelope {
            Ok(envelope) => reasons.extend(obstacles(&around, envelope, workers)),
            Err(undecodable) => reasons.push(Reason::Unreadable {
                why: undecodable.reason.clone(),
            }),
        }
        Self { job: around.job, reasons }
    }
}

fn of_state(around: &Circumstances, workers: &[WorkerView]) -> Reason {
    let job = &around.job;
    match &job.state {
        State::Active { token, cancel_requested } => {
            let worker = token.process();
            let known = workers.iter().find(|known| known.worker == worker);
            Reason::Active {
                token: token.clone(),
                labels: known.map(|known| known.labels.clone()).unwrap_or_default(),
                worker,
                since: around.active_for.unwrap_or_default(),
                lease_left: around.lease_left.unwrap_or_default(),
                cancel_requested: *cancel_requested,
            }
        }
        State::Parked { behind, waited } => Reason::Parked {
            behind: behind.clone(),
            holder: around.lock.as_ref().and_then(|lock| lock.holder.clone()),
            waited: *waited,
            ahead: around.ahead,
            gives_up_in: around.gives_up_in,
        },
        State::Scheduled { due_in } => match job.tries.charged {
            0 => Reason::Scheduled { due_in: *due_in },
            number => Reason::Retry {
                number,
                due_in: *due_in,
                last_error: job.errors.last().cloned(),
            },
        },
        State::Ready => match &around.lock {
            Some(LockView { key, .. }) => Reason::Turn { key: key.clone() },
            None => Reason::Ready { ahead: around.ahead },
        },
        State::Dead { death, reason } => Reason::Dead {
            death: *death,
            reason: reason.clone(),
            dead_for: around.dead_for.unwrap_or_default(),
        },
    }
}

/// What stands in the way of a job that is to run.
fn obstacles(around: &Circumstances, envelope: &Envelope, workers: &[WorkerView]) -> Vec<Reason> {
    let (job, header) = (&around.job, &envelope.header);
    if matches!(job.state, State::Active { .. } | State::Dead { .. }) {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    if around.paused {
        reasons.push(Reason::Paused {
            queue: header.queue.clone(),
        });
    }
    reasons.extend(of_workers(job, envelope, workers));
    if job.tries.mismatches > 0 {
        reasons.push(Reason::Mismatched {
            times: job.tries.mismatches,
            since: job.tries.mismatched_for,
        });
    }
    if job.tries.suspect {
        reasons.push(Reason::Suspect {
            strikes: job.tries.strikes,
            crash_limit: header.crash_limit,
        });
    }
    reasons
}

fn of_workers(job: &JobView, envelope: &Envelope, workers: &[WorkerView]) -> Option<Reason> {
    let (queue, task) = (&envelope.header.queue, &envelope.body.task);
    let live: Vec<&WorkerView> = workers.iter().filter(|worker| worker.is_live()).collect();
    if live.is_empty() {
        return Some(Reason::NoWorkers);
    }
    let serving: Vec<&WorkerView> = live.iter().copied().filter(|worker| worker.queues.contains(queue)).collect();
    if serving.is_empty() {
        let mut served: Vec<QueueName> = live.iter().flat_map(|worker| worker.queues.iter().cloned()).collect();
        served.sort();
        served.dedup();
        return Some(Reason::NotServed {
            queue: queue.clone(),
            served,
        });
    }
    let able: Vec<&WorkerView> = serving.iter().copied().filter(|worker| worker.tasks.contains(task)).collect();
    if able.is_empty() {
        return Some(Reason::UnknownTask {
            task: task.clone(),
            queue: queue.clone(),
            workers: serving.len() as u64,
        });
    }
    let full = able.iter().all(|worker| worker.running >= worker.concurrency);
    (full && job.state == State::Ready).then(|| Reason::Busy {
        slots: able.iter().map(|worker| worker.concurrency as u64).sum(),
    })
}

impl Reason {
    /// The reason in a word, for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Active { .. } => "active",
            Self::Parked { .. } => "parked",
            Self::Scheduled { .. } => "scheduled",
            Self::Retry { .. } => "retry",
            Self::Ready { .. } => "ready",
            Self::Turn { .. } => "turn",
            Self::Dead { .. } => "dead",
            Self::Paused { .. } => "paused",
            Self::NoWorkers => "no_workers",
            Self::NotServed { .. } => "not_served",
            Self::UnknownTask { .. } => "unknown_task",
            Self::Busy { .. } => "busy",
            Self::Mismatched { .. } => "mismatched",
            Self::Suspect { .. } => "suspect",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active {
                token,
                worker,
                labels,
                since,
                lease_left,
                cancel_requested,
            } => {
                write!(f, "an attempt has run on worker {worker}")?;
                for (i, (name, value)) in labels.iter().enumerate() {
                    write!(f, "{}{name} {value}", if i == 0 { " (" } else { ", " })?;
                }
                let close = if labels.is_empty() { "" } else { ")" };
                write!(f, "{close} for {} under claim {token}", Span(*since))?;
                match lease_left.is_zero() {
                    true => f.write_str("; its lease has passed, the next look takes it back")?,
                    false => write!(f, "; its lease lasts {} more unless it is renewed", Span(*lease_left))?,
                }
                f.write_str(if *cancel_requested { "; it was asked to stop" } else { "" })
            }
            Self::Parked {
                behind,
                holder,
                waited,
                ahead,
                gives_up_in,
            } => {
                write!(f, "parked for {} behind lock `{behind}`", Span(*waited))?;
                match holder {
                    None => f.write_str(", which is free: the next look hands it over")?,
                    Some(holder) => {
                        f.write_str(", held ")?;
                        if let Some(job) = holder.job {
                            write!(f, "by job {job} ")?;
                        }
                        write!(f, "under {} of worker {}", holder.token, holder.token.process())?;
                        write!(f, " for {}", Span(holder.held_for))?;
                    }
                }
                match ahead {
                    Some(0) => f.write_str("; it is next")?,
                    Some(1) => f.write_str("; 1 waits before it")?,
                    Some(n) => write!(f, "; {n} wait before it")?,
                    None => {}
                }
                match gives_up_in {
                    Some(left) => write!(f, "; it gives up in {}", Span(*left)),
                    None => Ok(()),
                }
            }
            Self::Scheduled { due_in } => due(f, "due", *due_in),
            Self::Retry {
                number,
                due_in,
                last_error,
            } => {
                due(f, &format!("retry {number} is due"), *due_in)?;
                match last_error {
                    Some(error) => write!(f, "; the last attempt failed: {error}"),
                    None => Ok(()),
                }
            }
            Self::Ready { ahead: Some(0) } => f.write_str("ready, at the head of its queue"),
            Self::Ready { ahead: Some(1) } => f.write_str("ready, with 1 entry before it in its queue"),
            Self::Ready { ahead: Some(n) } => write!(f, "ready, with {n} entries before it in its queue"),
            Self::Ready { ahead: None } => f.write_str("ready, far from the head of its queue"),
            Self::Turn { key } => write!(f, "ready: it has the turn for lock `{key}`"),
            Self::Dead { death, reason, dead_for } => {
                write!(f, "dead for {}: {}", Span(*dead_for), death.as_str())?;
                match reason.is_empty() || reason == death.as_str() {
                    true => Ok(()),
                    false => write!(f, ": {reason}"),
                }
            }
            Self::Paused { queue } => write!(f, "queue `{queue}` is paused"),
            Self::NoWorkers => f.write_str("no worker is alive"),
            Self::NotServed { queue, served } => {
                let served: Vec<&str> = served.iter().map(QueueName::as_str).collect();
                write!(f, "no live worker serves queue `{queue}` (served: {})", served.join(", "))
            }
            Self::UnknownTask { task, queue, workers } => {
                write!(f, "none of the {workers} live workers of queue `{queue}` knows task `{task}`")
            }
            Self::Busy { slots } => write!(f, "all {slots} slots of the workers of its queue are taken"),
            Self::Mismatched { times, since } => write!(
                f,
                "workers gave it back {times} times in {}: they do not know its task or cannot decode its arguments",
                Span(*since)
            ),
            Self::Suspect { strikes, crash_limit } => write!(
                f,
                "suspect: its last attempt ended with its worker, so a worker runs it only as its one suspect ({strikes} of {crash_limit} strikes)"
            ),
            Self::Unreadable { why } => write!(f, "the stored job cannot be read: {why}"),
        }
    }
}

fn due(f: &mut fmt::Formatter<'_>, what: &str, due_in: Duration) -> fmt::Result {
    match due_in.is_zero() {
        true => write!(f, "{what} now, the next look promotes it"),
        false => write!(f, "{what} in {}", Span(due_in)),
    }
}

/// A duration for people, in its two largest units.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        let secs = self.0.as_secs();
        match secs {
            0 => write!(f, "{ms} ms"),
            1..60 => write!(f, "{secs} s"),
            60..3600 => write!(f, "{} min {} s", secs / 60, secs % 60),
            3600..86_400 => write!(f, "{} h {} min", secs / 3600, secs / 60 % 60),
            _ => write!(f, "{} d {} h", secs / 86_400, secs / 3600 % 24),
        }
    }
}
