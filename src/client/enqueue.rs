//! Sending jobs: one with its options, or many in batches.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use crate::client::Client;
use crate::client::request::{Common, Request};
use crate::error::Error;
use crate::limits::{ENQUEUE_BATCH_MAX, ENQUEUE_BATCH_MAX_BYTES, ENQUEUE_WEIGHT};
use crate::names::{JobId, UniqueKey};
use crate::store::new_job::{Accepted, Due, NewJob, Priority};

/// What became of an enqueued job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Enqueued {
    /// It was accepted under this id.
    New(JobId),
    /// This job holds its unique key with the same task and arguments: nothing was added.
    Existing(JobId),
}

impl Enqueued {
    /// The job's id, new or existing.
    pub fn id(self) -> JobId {
        match self {
            Self::New(id) | Self::Existing(id) => id,
        }
    }

    /// Whether it was accepted now.
    pub fn is_new(self) -> bool {
        matches!(self, Self::New(_))
    }
}

/// A job about to be enqueued: set its options, then await it.
#[must_use = "nothing is enqueued until this is awaited"]
#[derive(Debug)]
pub struct Enqueue {
    client: Client,
    request: Request,
}

impl Enqueue {
    pub(super) fn new(client: Client, request: Request) -> Self {
        Self { client, request }
    }

    pub(super) fn into_request(self) -> Request {
        self.request
    }

    /// Runs it no sooner than after this long. The last of `delay` and `at` counts.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.request.options.due = Some(Due::After(delay));
        self
    }

    /// Runs it no sooner than at this instant; at once when it has passed.
    pub fn at(mut self, at: SystemTime) -> Self {
        self.request.options.due = Some(if at > SystemTime::UNIX_EPOCH { Due::At(at) } else { Due::Now });
        self
    }

    /// Sets its priority within the queue. Default: the task's.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.request.options.priority = Some(priority);
        self
    }

    /// Sends it to this queue. Default: the task's.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.request.options.queue = Some(queue.into());
        self
    }

    /// Gives it an identity of your own: while a job holds it, the same job again is [`Enqueued::Existing`], another one
    /// [`Error::Conflict`]. Default: the task's template, if it has one.
    pub fn unique(mut self, key: impl Into<String>) -> Self {
        self.request.options.unique = Some(key.into());
        self
    }

    /// Holds the unique key for this long whatever happens to the job, instead of for the job's life.
    pub fn unique_for(mut self, kept_for: Duration) -> Self {
        self.request.options.unique_for = Some(kept_for);
        self
    }

    /// Allows this many charged retries. Default: the task's.
    pub fn retries(mut self, retries: u32) -> Self {
        self.request.options.retries = Some(retries);
        self
    }

    /// Stops an attempt of it after this long. Default: the task's.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.request.options.timeout = Some(timeout);
        self
    }

    /// Buries it as expired when no attempt has started this long after it was accepted. Default: the task's, or never.
    pub fn expires_in(mut self, expires_in: Duration) -> Self {
        self.request.options.expires_in = Some(expires_in);
        self
    }
}

impl IntoFuture for Enqueue {
    type Output = Result<Enqueued, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let job = self.request.check(&mut Common::default())?;
            let sent = Sent::of(&job);
            let accepted = send(&self.client, vec![job]).await?;
            sent.answer(accepted.into_iter().next())
        })
    }
}

/// What is needed of a sent job to read the store's answer.
struct Sent {
    id: JobId,
    unique: Option<UniqueKey>,
}

impl Sent {
    fn of(job: &NewJob) -> Self {
        Self {
            id: job.id,
            unique: job.unique.as_ref().map(|unique| unique.key.clone()),
        }
    }

    fn answer(self, accepted: Option<Accepted>) -> Result<Enqueued, Error> {
        match (accepted, self.unique) {
            (Some(Accepted::New), _) => Ok(Enqueued::New(self.id)),
            (Some(Accepted::Existing(holder)), _) => Ok(Enqueued::Existing(holder)),
            (Some(Accepted::Conflict(holder)), Some(key)) => Err(Error::Conflict { key, holder }),
            (answer, _) => Err(Error::Internal {
                what: format!("enqueue {}: the store answered {answer:?}", self.id),
            }),
        }
    }
}

async fn send(client: &Client, jobs: Vec<NewJob>) -> Result<Vec<Accepted>, Error> {
    client.store().enqueue(&client.inner.process, jobs).await
}

/// Enqueues in batches, preparing the next while one is under way; answers for each in order.
pub(super) async fn many(client: &Client, mut requests: impl Iterator<Item = Request>) -> Result<Vec<Result<Enqueued, Error>>, Error> {
    let mut answers = Vec::with_capacity(requests.size_hint().0);
    let mut sent_any = false;
    let mut next = Batch::fill(&mut requests);
    while !next.slots.is_empty() {
        let Batch { slots, jobs } = next;
        if jobs.is_empty() {
            answers.extend(slots.into_iter().map(|slot| slot.and_then(|sent| sent.answer(None))));
            next = Batch::fill(&mut requests);
            continue;
        }
        let mut sending = std::pin::pin!(send(client, jobs));
        let early = futures::poll!(&mut sending);
        next = Batch::fill(&mut requests);
        let answer = match early {
            Poll::Ready(answer) => answer,
            Poll::Pending => sending.await,
        };
        match answer {
            Ok(accepted) => {
                sent_any = true;
                let mut accepted = accepted.into_iter();
                answers.extend(slots.into_iter().map(|slot| slot.and_then(|sent| sent.answer(accepted.next()))));
            }
            Err(error) if !sent_any => return Err(error),
            Err(error) => {
                answers.extend(slots.into_iter().map(|slot| slot.and_then(|sent| Err(share(&error, sent.id)))));
                answers.extend(next.slots.into_iter().map(|slot| slot.and_then(|_| Err(not_sent()))));
                answers.extend(requests.map(|_| Err(not_sent())));
                return Ok(answers);
            }
        }
    }
    Ok(answers)
}

/// The jobs of one round trip, and a slot for each job taken from the caller: invalid ones are answered already.
struct Batch {
    slots: Vec<Result<Sent, Error>>,
    jobs: Vec<NewJob>,
}

impl Batch {
    fn fill(requests: &mut impl Iterator<Item = Request>) -> Self {
        let (mut slots, mut jobs, mut bytes, mut weight) = (Vec::new(), Vec::new(), 0, 0);
        let mut common = Common::default();
        while slots.len() < ENQUEUE_BATCH_MAX && weight < ENQUEUE_BATCH_MAX && bytes < ENQUEUE_BATCH_MAX_BYTES {
            let Some(request) = requests.next() else { break };
            slots.push(request.check(&mut common).map(|job| {
                let sent = Sent::of(&job);
                bytes += job.body.args.len();
                weight += if job.is_plain() { 1 } else { ENQUEUE_WEIGHT };
                jobs.push(job);
                sent
            }));
        }
        Self { slots, jobs }
    }
}

/// One job's part of what befell its batch.
fn share(error: &Error, id: JobId) -> Error {
    match error {
        Error::Unknown { action, .. } => Error::Unknown {
            action: action.clone(),
            ids: vec![id],
        },
        Error::Refused {
            action,
            code,
            advice,
            transient,
        } => Error::Refused {
            action: action.clone(),
            code: code.clone(),
            advice: advice.clone(),
            transient: *transient,
        },
        Error::Unreachable { action, source } => Error::Unreachable {
            action: action.clone(),
            source: source.as_ref().map(|source| source.to_string().into()),
        },
        Error::Internal { what } => Error::Internal { what: what.clone() },
        other => Error::Internal { what: other.to_string() },
    }
}

fn not_sent() -> Error {
    Error::Unreachable {
        action: "enqueue: not sent after an earlier batch had failed".into(),
        source: None,
    }
}
