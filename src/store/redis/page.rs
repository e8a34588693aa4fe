//! Lists of jobs in pages: a script looks at a piece of a walk, and pieces are read until the page is full.

use redis::Value;

use super::RedisStore;
use super::arguments::Arguments;
use super::script::Name;
use super::view::{dead_for, number, read_tries, state_of};
use super::wire::Reader;
use crate::error::Error;
use crate::names::{JobId, TaskName};
use crate::store::page::{Cursor, JobFilter, JobPage, JobRow, Walk, check_limit};

/// Jobs that one script looks at.
const PIECE: u64 = 100;
/// Pieces read for one page: with a filter that takes few jobs a page comes back short rather than late.
const PIECES_MAX: usize = 100;
/// Bodies that one script reads for their first words: together at most 1 MiB.
const BODIES_AT_ONCE: usize = 16;
/// Fields of a job in a piece.
const FIELDS: usize = 8;

impl RedisStore {
    pub(super) async fn run_jobs(&self, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Result<JobPage, Error> {
        check_limit(limit)?;
        let walk = filter.walk();
        let position = Cursor::position(after, &walk)?;
        // a page that ended within a piece: the piece is read again, without what was shown of it
        let (mut position, mut skip) = match position.split_once('.') {
            Some((piece, shown)) => (piece.to_owned(), shown.parse().unwrap_or(usize::MAX)),
            None => (position, 0),
        };
        let mut page = JobPage {
            jobs: Vec::new(),
            next: None,
        };
        for _ in 0..PIECES_MAX {
            let mut piece = self.piece(&walk, &position).await?;
            self.name_tasks(&mut piece.rows).await?;
            for (at, (row, _)) in piece.rows.iter().enumerate().skip(skip) {
                if page.jobs.len() == limit {
                    page.next = Some(Cursor::new(&walk, format_args!("{position}.{at}")));
                    return Ok(page);
                }
                page.jobs.extend(Some(row).filter(|row| filter.takes(row)).cloned());
            }
            page.next = piece.next.as_ref().map(|next| Cursor::new(&walk, next));
            match piece.next {
                Some(next) if page.jobs.len() < limit => (position, skip) = (next, 0),
                _ => return Ok(page),
            }
        }
        Ok(page)
    }

    async fn piece(&self, walk: &Walk, position: &str) -> Result<Piece, Error> {
        let mut a = Arguments::default();
        a.push(walk.letter().to_string()).push(position).int(PIECE);
        a.push(match walk {
            Walk::Queue(queue) => queue.as_str(),
            _ => "",
        });
        let value = self.patiently(Name::Page, &a, "list jobs").await?;
        Piece::read(value)
    }

    /// Reads the tasks of those whose bodies stand apart.
    async fn name_tasks(&self, rows: &mut [(JobRow, Apart)]) -> Result<(), Error> {
        let mut apart: Vec<&mut JobRow> = rows.iter_mut().filter(|(_, apart)| apart.0).map(|(row, _)| row).collect();
        for some in apart.chunks_mut(BODIES_AT_ONCE) {
            let mut a = Arguments::default();
            for row in some.iter() {
                a.push(row.id.encode());
            }
            let value = self.patiently(Name::TaskNames, &a, "list jobs").await?;
            let names: Vec<String> = redis::from_redis_value(value).map_err(|e| Error::Internal {
                what: format!("list jobs: {e}"),
            })?;
            for (row, name) in some.iter_mut().zip(names) {
                row.task = TaskName::new(name).ok();
            }
        }
        Ok(())
    }
}

struct Piece {
    next: Option<String>,
    rows: Vec<(JobRow, Apart)>,
}

/// Whether a job's body stands apart, so that its task is not known yet.
struct Apart(bool);

impl Piece {
    fn read(value: Value) -> Result<Self, Error> {
        let fields: Vec<Vec<u8>> = redis::from_redis_value(value).map_err(|e| Error::Internal {
            what: format!("list jobs: {e}"),
        })?;
        let [next, now, fields @ ..] = fields.as_slice() else {
            return Err(Error::Internal {
                what: "list jobs: the script answered nothing".into(),
            });
        };
        let mut reader = Reader::default();
        let now_ms = number(now);
        let rows = fields.chunks_exact(FIELDS).map(|fields| row(&mut reader, fields, now_ms));
        Ok(Self {
            next: (!next.is_empty()).then(|| String::from_utf8_lossy(next).into_owned()),
            rows: rows.collect::<Result<_, _>>()?,
        })
    }
}

fn row(reader: &mut Reader, fields: &[Vec<u8>], now_ms: u64) -> Result<(JobRow, Apart), Error> {
    let [id, header, task, owner, place, tries, cancel, instant] = fields else {
        return Err(Error::Internal {
            what: format!("list jobs: a job of {} fields", fields.len()),
        });
    };
    let id = JobId::decode(id).ok_or_else(|| Error::Internal {
        what: format!("list jobs: {:?} is no job's id", String::from_utf8_lossy(id)),
    })?;
    let header = reader.header(header).ok();
    let task = std::str::from_utf8(task).ok().and_then(|task| TaskName::new(task).ok());
    let (tries, errors) = read_tries(tries, now_ms);
    let apart = Apart(header.as_ref().is_some_and(|read| read.apart));
    let row = JobRow {
        id,
        state: state_of(id, [owner, place, cancel, instant], now_ms)?,
        dead_for: dead_for(place, instant, now_ms),
        task: header.as_ref().and(task),
        queue: header.map(|read| read.header.queue),
        charged: tries.charged,
        suspect: tries.suspect,
        last_error: errors.into_iter().next_back(),
    };
    Ok((row, apart))
}
