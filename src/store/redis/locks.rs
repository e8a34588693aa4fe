//! Locks as operators see them.

use std::collections::BTreeSet;

use redis::{Cmd, Value};

use super::RedisStore;
use super::arguments::Arguments;
use super::circumstances::lock_view;
use super::script::Name;
use super::view::number;
use crate::error::Error;
use crate::limits::PAGE_MAX;
use crate::names::{JobId, LockKey, OwnerToken};
use crate::store::circumstances::{LockLine, LockPage, WaiterView};

/// Locks that one script reads.
const PIECE: usize = 100;

impl RedisStore {
    pub(super) async fn run_locks(&self, after: Option<&LockKey>, limit: usize) -> Result<LockPage, Error> {
        let mut command = Cmd::new();
        command.arg("ZRANGE").arg(self.keys.lock_checks()).arg(0).arg(-1);
        let waited: Vec<String> = redis::from_redis_value(self.read(&command, "list locks").await?).map_err(malformed)?;
        let held = self.scan(&self.keys.locks()).await?;
        let held = held.iter().filter_map(|key| self.keys.lock_of(key));
        let keys = held.chain(waited.iter().map(String::as_str)).filter_map(LockKey::from_wire);
        let mut keys: Vec<LockKey> = keys
            .filter(|key| after.is_none_or(|after| key > after))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let more = keys.len() > limit;
        keys.truncate(limit);
        let mut page = LockPage {
            next: keys.last().filter(|_| more).cloned(),
            ..LockPage::default()
        };
        for piece in keys.chunks(PIECE) {
            page.locks.extend(self.lines(piece, 0).await?.into_iter().map(|line| line.lock));
        }
        Ok(page)
    }

    pub(super) async fn run_lock(&self, key: &LockKey) -> Result<Option<LockLine>, Error> {
        let lines = self.lines(std::slice::from_ref(key), PAGE_MAX).await?;
        Ok(lines.into_iter().next())
    }

    /// The locks of these keys that somebody holds or waits for, with so many waiters of each.
    async fn lines(&self, keys: &[LockKey], waiters: usize) -> Result<Vec<LockLine>, Error> {
        let mut a = Arguments::default();
        a.int(waiters as u64);
        for key in keys {
            a.push(key.wire().as_bytes());
        }
        let Value::Array(rows) = self.patiently(Name::Locks, &a, "read locks").await? else {
            return Err(Error::Internal {
                what: "the locks script answered no list".into(),
            });
        };
        let mut rows = rows.into_iter();
        let now: Vec<u8> = redis::from_redis_value(rows.next().unwrap_or(Value::Nil)).map_err(malformed)?;
        let mut lines = Vec::with_capacity(keys.len());
        for row in rows {
            let row: Vec<Vec<u8>> = redis::from_redis_value(row).map_err(malformed)?;
            lines.extend(line(&row, number(&now)));
        }
        Ok(lines)
    }
}

/// `next, waiters..., nothing, the lock's row`; `None` when nobody holds it or waits for it.
fn line(row: &[Vec<u8>], now_ms: u64) -> Option<LockLine> {
    let (next, rest) = row.split_first()?;
    let end = rest.iter().position(Vec::is_empty)?;
    let lock = lock_view(&rest[end + 1..], now_ms)?;
    let line = LockLine {
        next: match waiter(next) {
            Some(WaiterView::Job(id)) => Some(id),
            _ => None,
        },
        waiters: rest[..end].iter().filter_map(|entry| waiter(entry)).collect(),
        lock,
    };
    (line.lock.holder.is_some() || line.lock.waiters > 0 || line.next.is_some()).then_some(line)
}

/// A waiter as it stands in `parked`.
fn waiter(entry: &[u8]) -> Option<WaiterView> {
    let text = std::str::from_utf8(entry).ok()?;
    match text.strip_prefix('c') {
        Some(token) => Some(WaiterView::Client(OwnerToken::from_text(token))),
        None => {
            let (_queue, id) = text.split_once('|')?;
            JobId::decode(id.as_bytes().get(..JobId::LEN)?).map(WaiterView::Job)
        }
    }
}

fn malformed(error: impl std::fmt::Display) -> Error {
    Error::Internal {
        what: format!("read locks: {error}"),
    }
}
