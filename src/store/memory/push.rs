//! Pushes: what processes are told without asking.

use std::collections::HashMap;

use tokio::sync::mpsc;

use crate::names::{OwnerToken, ProcessId};
use crate::store::view::Push;

/// Pushes that a process may leave unread; further ones are dropped, and it is told so as after a lost connection.
const UNREAD_MAX: usize = 1024;

#[derive(Default)]
pub(super) struct Pushes(HashMap<ProcessId, Vec<Subscriber>>);

struct Subscriber {
    sender: mpsc::Sender<Push>,
    missed: bool,
}

impl Pushes {
    pub fn subscribe(&mut self, process: &ProcessId) -> mpsc::Receiver<Push> {
        let (sender, receiver) = mpsc::channel(UNREAD_MAX);
        self.0.retain(|_, subscribers| {
            subscribers.retain(|subscriber| !subscriber.sender.is_closed());
            !subscribers.is_empty()
        });
        self.0
            .entry(process.clone())
            .or_default()
            .push(Subscriber { sender, missed: false });
        receiver
    }

    pub fn send(&mut self, process: &ProcessId, push: Push) {
        for subscriber in self.0.get_mut(process).into_iter().flatten() {
            if subscriber.missed {
                subscriber.missed = subscriber.sender.try_send(Push::Resubscribed).is_err();
            }
            subscriber.missed |= subscriber.sender.try_send(push.clone()).is_err();
        }
    }

    /// Whether somebody hears what this process is told.
    pub fn is_heard(&self, process: &ProcessId) -> bool {
        let mut subscribers = self.0.get(process).into_iter().flatten();
        subscribers.any(|subscriber| !subscriber.sender.is_closed())
    }

    /// Sends to the process whose claim or acquisition `token` names.
    pub fn send_to_owner(&mut self, token: &OwnerToken, push: Push) {
        let worker = token.as_str().split('.').next().unwrap_or_default();
        let process = self.0.keys().find(|process| process.as_str() == worker).cloned();
        if let Some(process) = process {
            self.send(&process, push);
        }
    }
}
