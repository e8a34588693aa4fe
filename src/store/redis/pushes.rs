//! The push connection: one subscription to the process's own channel, for ever.

use futures::StreamExt;
use tokio::sync::mpsc;

use super::connection::{Address, Fault, Pause};
use super::wire::death_of;
use crate::names::{JobId, LockKey, OwnerToken};
use crate::store::view::{Ended, Push};

/// Pushes waiting for their process; more are dropped with a word, and the process asks again.
const WAITING_MAX: usize = 1024;

pub(super) async fn subscribe(address: Address, channel: String) -> Result<mpsc::Receiver<Push>, Fault> {
    let first = address.subscribe(&channel).await?;
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    tokio::spawn(serve(address, channel, first, sender));
    Ok(receiver)
}

async fn serve(address: Address, channel: String, first: redis::aio::PubSub, sender: mpsc::Sender<Push>) {
    let mut pubsub = first;
    loop {
        let mut messages = pubsub.on_message();
        loop {
            tokio::select! {
                () = sender.closed() => return,
                message = messages.next() => {
                    let Some(message) = message else { break };
                    if let Some(push) = read(message.get_payload_bytes())
                        && sender.try_send(push).is_err()
                    {
                        tracing::warn!("push dropped, the process is too slow");
                    }
                }
            }
        }
        drop(messages);
        let mut pause = Pause::new();
        pubsub = loop {
            tokio::select! {
                () = sender.closed() => return,
                again = address.subscribe(&channel) => match again {
                    Ok(pubsub) => break pubsub,
                    Err(fault) => tracing::debug!(?fault, "push connection not restored yet"),
                }
            }
            pause.wait().await;
        };
        if sender.send(Push::Resubscribed).await.is_err() {
            return;
        }
    }
}

/// `c<id>` asks an attempt to stop; `e<id>d` done, `e<id>x` deleted, `e<id>b<letter>` dead; `o<token>` offers a lock, `b<token>|<key>` one was
/// broken.
fn read(message: &[u8]) -> Option<Push> {
    let (kind, rest) = message.split_first()?;
    if matches!(kind, b'o' | b'b') {
        let text = std::str::from_utf8(rest).ok()?;
        return match text.split_once('|') {
            None => Some(Push::Offered(OwnerToken::from_text(text))),
            Some((token, key)) => Some(Push::Broken(LockKey::from_wire(key)?, OwnerToken::from_text(token))),
        };
    }
    let id = JobId::decode(rest.get(..JobId::LEN)?)?;
    match (kind, rest.get(JobId::LEN)) {
        (b'c', _) => Some(Push::Cancel(id)),
        (b'e', Some(b'd')) => Some(Push::Ended(id, Ended::Done)),
        (b'e', Some(b'x')) => Some(Push::Ended(id, Ended::Deleted)),
        (b'e', Some(b'b')) => Some(Push::Ended(id, Ended::Dead(death_of(rest.get(JobId::LEN + 1).copied())))),
        _ => None,
    }
}
