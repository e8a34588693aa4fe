//! Following the attempts log: a blocking read on a connection of its own, for ever.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Value};
use tokio::sync::mpsc;

use super::connection::{ANSWER_TIMEOUT, Address, Fault, Pause, classify};
use super::log::entries;
use crate::store::view::AttemptEntry;

/// How long one read blocks. A server that says nothing for longer than this and an answer's time is gone.
const BLOCK: Duration = Duration::from_secs(10);
/// Entries of the stream that one read takes, and entries that a follower may leave unread.
const READ_MAX: usize = 100;

pub(super) async fn follow(address: Address, key: String, after: Option<u64>) -> Result<mpsc::Receiver<AttemptEntry>, Fault> {
    let mut connection = address.connect(None).await?;
    let after = match after {
        Some(after) => after,
        None => last(&mut connection, &key).await?,
    };
    let (sender, receiver) = mpsc::channel(READ_MAX);
    tokio::spawn(serve(address, key, connection, after, sender));
    Ok(receiver)
}

async fn serve(address: Address, key: String, mut connection: MultiplexedConnection, mut after: u64, sender: mpsc::Sender<AttemptEntry>) {
    loop {
        let lost = loop {
            let read = tokio::select! {
                () = sender.closed() => return,
                read = read(&mut connection, &key, after) => read,
            };
            match read {
                Ok(value) => {
                    for entry in newer(value, after) {
                        after = entry.number;
                        if sender.send(entry).await.is_err() {
                            return;
                        }
                    }
                }
                Err(fault) => break fault,
            }
        };
        tracing::debug!(fault = ?lost, "the attempts log is not readable, trying again");
        let mut pause = Pause::new();
        connection = loop {
            tokio::select! {
                () = sender.closed() => return,
                () = pause.wait() => {}
            }
            let Ok(mut connection) = address.connect(None).await else {
                continue;
            };
            match last(&mut connection, &key).await {
                Ok(last) => {
                    // the data were lost meanwhile, and its numbers begin anew
                    if last < after {
                        after = 0;
                    }
                    break connection;
                }
                Err(fault) => tracing::debug!(?fault, "the attempts log is not readable yet"),
            }
        };
    }
}

/// Blocks until there is something after number `after`, or for a while.
async fn read(connection: &mut MultiplexedConnection, key: &str, after: u64) -> Result<Value, Fault> {
    let mut command = Cmd::new();
    command.arg("XREAD").arg("COUNT").arg(READ_MAX);
    command.arg("BLOCK").arg(BLOCK.as_millis() as u64).arg("STREAMS").arg(key);
    // an entry's id is the number of its last attempt: one that holds `after` in its middle comes whole
    command.arg(after);
    send(connection, &command, BLOCK + ANSWER_TIMEOUT).await
}

/// The number of the log's last attempt.
async fn last(connection: &mut MultiplexedConnection, key: &str) -> Result<u64, Fault> {
    let mut command = Cmd::new();
    command.arg("XREVRANGE").arg(key).arg("+").arg("-").arg("COUNT").arg(1);
    let value = send(connection, &command, ANSWER_TIMEOUT).await?;
    let last = match &value {
        Value::Array(rows) => rows.first().and_then(|row| match row {
            Value::Array(row) => row.first(),
            _ => None,
        }),
        _ => None,
    };
    let id: Option<String> = last.and_then(|id| redis::from_redis_value(id.clone()).ok());
    Ok(id.and_then(|id| id.split('-').next()?.parse().ok()).unwrap_or(0))
}

async fn send(connection: &mut MultiplexedConnection, command: &Cmd, patience: Duration) -> Result<Value, Fault> {
    match tokio::time::timeout(patience, connection.send_packed_command(command)).await {
        Ok(Ok(Value::ServerError(error))) => Err(classify(&error.into())),
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(classify(&error)),
        Err(_) => Err(Fault::Unsent("the server says nothing".into())),
    }
}

/// What an `XREAD` reply holds after number `after`; nothing when the read ended by its time.
fn newer(reply: Value, after: u64) -> Vec<AttemptEntry> {
    let rows = match reply {
        Value::Array(mut streams) if !streams.is_empty() => match streams.swap_remove(0) {
            Value::Array(mut stream) if stream.len() == 2 => stream.swap_remove(1),
            _ => Value::Nil,
        },
        _ => Value::Nil,
    };
    entries(rows).into_iter().filter(|entry| entry.number > after).collect()
}
