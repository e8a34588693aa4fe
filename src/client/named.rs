//! Enqueueing by a task's name: for producers that do not have its code.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::client::{Client, Enqueue, Request};
use crate::error::{Error, Invalid};
use crate::manifest::Manifest;
use crate::names::TaskName;

/// The tasks that workers of a namespace have told of, by name, as they were when it was read.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    known: BTreeMap<String, Manifest>,
    /// Those whose description a later release wrote.
    unreadable: Vec<String>,
}

impl Tasks {
    /// The task of this name.
    pub fn get(&self, name: &str) -> Option<&Manifest> {
        self.known.get(name)
    }

    /// The tasks in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Manifest)> {
        self.known.iter().map(|(name, manifest)| (name.as_str(), manifest))
    }

    /// These, and of `others` those that these do not have.
    pub fn or(mut self, others: Self) -> Self {
        for (name, manifest) in others.known {
            if !self.unreadable.contains(&name) {
                self.known.entry(name).or_insert(manifest);
            }
        }
        self
    }

    /// The task of this name, or an error that names the nearest.
    pub(super) fn find(&self, name: &str) -> Result<&Manifest, Error> {
        if let Some(manifest) = self.known.get(name) {
            return Ok(manifest);
        }
        let near = |known: &&String| strsim::damerau_levenshtein(name, known) <= known.len().max(name.len()) / 2;
        let nearest = self
            .known
            .keys()
            .filter(near)
            .min_by_key(|known| strsim::damerau_levenshtein(name, known));
        let allowed = match nearest {
            _ if self.unreadable.iter().any(|unreadable| unreadable == name) => {
                "a task that this release can read: a later one wrote its description, enqueue with that".to_owned()
            }
            Some(nearest) => format!("a task that a worker of this namespace has told of; the nearest is `{nearest}`"),
            None if self.known.is_empty() && self.unreadable.is_empty() => {
                "a task that a worker of this namespace has told of: none has worked here yet, start one first".to_owned()
            }
            None => {
                let all = self.known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                format!("a task that a worker of this namespace has told of: {all}")
            }
        };
        Err(Invalid::new("task", name, allowed).into())
    }
}

impl FromIterator<(String, Manifest)> for Tasks {
    fn from_iter<I: IntoIterator<Item = (String, Manifest)>>(tasks: I) -> Self {
        Self {
            known: tasks.into_iter().collect(),
            unreadable: Vec::new(),
        }
    }
}

impl Client {
    /// The tasks that workers of this namespace have told of: what a job of them looks like, for producers without their code.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    ///
    /// # Redis
    /// One round trip, one HGETALL of as many rows as there are tasks.
    pub async fn tasks(&self) -> Result<Tasks, Error> {
        let lines = self.store().tasks().await?;
        let mut tasks = Tasks::default();
        for (name, line) in lines {
            match serde_json::from_str(&line) {
                Ok(manifest) => drop(tasks.known.insert(name, manifest)),
                Err(_) => tasks.unreadable.push(name),
            }
        }
        Ok(tasks)
    }

    /// Prepares a job of a task by its name: lock, unique key, queue and limits are the task's, by what its workers have told. Set its
    /// options and await it, as with [`Client::enqueue`].
    ///
    /// # Errors
    /// [`Error::Invalid`]: a task nobody has told of, or arguments that are missing, unknown or of another kind, each named.
    pub fn enqueue_named(&self, tasks: &Tasks, task: &str, args: &Map<String, Value>) -> Result<Enqueue, Error> {
        let manifest = tasks.find(task)?;
        Ok(Enqueue::new(self.clone(), Request::named(task, manifest, args)?))
    }

    /// Prepares a job of a task that nobody has told of yet: with every option at its default and without a lock. A worker that knows
    /// the task gives the job back under the task's locks, uncharged, before it runs.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `task` cannot be a task's name.
    pub fn enqueue_unchecked(&self, task: &str, args: &Map<String, Value>) -> Result<Enqueue, Error> {
        TaskName::new(task)?;
        Ok(Enqueue::new(self.clone(), Request::unchecked(task, args)))
    }
}
