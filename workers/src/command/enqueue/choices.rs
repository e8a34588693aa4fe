//! What a job may set beyond its task's options: on the command line for all, in a line for that one.

use std::time::{Duration, SystemTime};

use clap::Args;
use linchpin::client::Enqueue;
use linchpin::names::QueueName;
use linchpin::store::new_job::Priority;
use serde::{Deserialize, Deserializer};

use crate::failure::Failure;

/// The options of one job.
#[derive(Args, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Choices {
    /// Runs it no sooner than after this long, such as 30s or 2h.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, conflicts_with = "at")]
    #[serde(deserialize_with = "duration")]
    delay: Option<Duration>,
    /// Runs it no sooner than at this instant, such as 2030-01-31T09:30:00Z.
    #[arg(long, value_name = "INSTANT", value_parser = humantime::parse_rfc3339_weak)]
    #[serde(deserialize_with = "instant")]
    at: Option<SystemTime>,
    /// The queue in place of the task's.
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "queue")]
    queue: Option<QueueName>,
    /// The job's own identity: while a job holds it, the same job again changes nothing, and another is refused.
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
    /// Holds the unique key for this long whatever becomes of the job, instead of for its life.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[serde(deserialize_with = "duration")]
    unique_for: Option<Duration>,
    /// The priority within the queue, in place of the task's.
    #[arg(long, value_name = "high|normal|low", value_parser = priority)]
    #[serde(deserialize_with = "ranked")]
    priority: Option<Priority>,
    /// Charged retries, in place of the task's.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Stops an attempt after this long, in place of the task's limit.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[serde(deserialize_with = "duration")]
    timeout: Option<Duration>,
    /// Buries the job as expired when no attempt has started after this long.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[serde(deserialize_with = "duration")]
    expires_in: Option<Duration>,
}

impl Choices {
    /// What clap and serde do not see.
    ///
    /// # Errors
    /// Usage.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match (self.delay, self.at) {
            (Some(_), Some(_)) => Err(Failure::usage("`delay` and `at` are both set: keep one of the two")),
            _ => Ok(()),
        }
    }

    pub(super) fn is_unique(&self) -> bool {
        self.unique.is_some()
    }

    /// Sets them, over what is set already.
    pub(super) fn apply(&self, mut job: Enqueue) -> Enqueue {
        if let Some(delay) = self.delay {
            job = job.delay(delay);
        }
        if let Some(at) = self.at {
            job = job.at(at);
        }
        if let Some(queue) = &self.queue {
            job = job.queue(queue.as_str());
        }
        if let Some(key) = &self.unique {
            job = job.unique(key);
        }
        if let Some(kept) = self.unique_for {
            job = job.unique_for(kept);
        }
        if let Some(priority) = self.priority {
            job = job.priority(priority);
        }
        if let Some(retries) = self.retries {
            job = job.retries(retries);
        }
        if let Some(timeout) = self.timeout {
            job = job.timeout(timeout);
        }
        if let Some(expires_in) = self.expires_in {
            job = job.expires_in(expires_in);
        }
        job
    }
}

fn priority(word: &str) -> Result<Priority, String> {
    match word {
        "high" => Ok(Priority::High),
        "normal" => Ok(Priority::Normal),
        "low" => Ok(Priority::Low),
        _ => Err(format!("{word:?} is no priority: it is high, normal or low")),
    }
}

fn read<'de, D: Deserializer<'de>, T, E: std::fmt::Display>(
    from: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text)
        .map(Some)
        .map_err(|error| serde::de::Error::custom(format!("{text:?}: {error}")))
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    read(from, humantime::parse_duration)
}

fn instant<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SystemTime>, D::Error> {
    read(from, humantime::parse_rfc3339_weak)
}

fn queue<'de, D: Deserializer<'de>>(from: D) -> Result<Option<QueueName>, D::Error> {
    read(from, str::parse::<QueueName>)
}

fn ranked<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Priority>, D::Error> {
    read(from, priority)
}
