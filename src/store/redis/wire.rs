//! The stored job: `header \n task|retries=n|timeout=ms \n arguments`, and how replies name things. docs/protocol.md has the format.

use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, NaiveDateTime};

use crate::limits::{BODY_INLINE_MAX_BYTES, LOCK_KEYS_MAX};
use crate::names::{JobId, LockKey, QueueName, ScheduleName, TaskName, UniqueKey};
use crate::store::new_job::{Body, Header, NewJob, OnBusy, Priority, TickOf};
use crate::store::settle::Death;
use crate::store::turn::{Envelope, Undecodable};

/// Stands for the instant of expiry, which the server puts in. No wire form contains it: `%` is always followed by two digits there.
const EXPIRY: &str = "%~";

/// [`write_locks`] as text.
pub(super) fn lock_spec(locks: &[LockKey]) -> String {
    let mut spec = Vec::new();
    write_locks(&mut spec, locks);
    String::from_utf8_lossy(&spec).into_owned()
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(1 << 52)
}

fn write_header(out: &mut Vec<u8>, header: &Header, apart: bool) {
    // by hand: formatting was half of what a producer spends on a job in bulk
    out.extend_from_slice(b"1|");
    out.extend_from_slice(header.queue.as_str().as_bytes());
    out.extend_from_slice(&[b'|', header.priority.digit() as u8, b'|']);
    write_locks(out, &header.locks);
    out.push(b'|');
    match header.on_busy {
        OnBusy::Wait => out.push(b'w'),
        OnBusy::Skip => out.push(b's'),
        OnBusy::Fail => out.push(b'f'),
        OnBusy::Snooze(delay) => {
            out.push(b'z');
            write_number(out, millis(delay));
        }
    }
    out.push(b'|');
    if let Some(wait) = header.wait_timeout {
        write_number(out, millis(wait));
    }
    out.push(b'|');
    if let Some(key) = &header.unique {
        out.extend_from_slice(key.wire().as_bytes());
    }
    out.push(b'|');
    write_number(out, header.crash_limit.into());
    out.push(b'|');
    if header.expires_in.is_some() {
        out.extend_from_slice(EXPIRY.as_bytes());
    }
    out.push(b'|');
    if apart {
        out.push(b'1');
    }
    out.push(b'\n');
}

fn write_number(out: &mut Vec<u8>, number: u64) {
    match u8::try_from(number) {
        Ok(digit @ 0..10) => out.push(b'0' + digit),
        _ => out.extend_from_slice(number.to_string().as_bytes()),
    }
}

/// Keys joined by `,`, as they stand in headers and entries.
pub(super) fn write_locks(out: &mut Vec<u8>, locks: &[LockKey]) {
    for (i, key) in locks.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key.wire().as_bytes());
    }
}

fn write_body(out: &mut Vec<u8>, body: &Body) {
    out.extend_from_slice(body.task.as_str().as_bytes());
    if let Some(retries) = body.retries {
        out.extend_from_slice(b"|retries=");
        write_number(out, retries.into());
    }
    if let Some(timeout) = body.timeout {
        out.extend_from_slice(b"|timeout=");
        write_number(out, millis(timeout));
    }
    if let Some(least) = body.lock_at_least {
        out.extend_from_slice(b"|lock_at_least=");
        write_number(out, millis(least));
    }
    if let Some(tick) = &body.tick {
        let nominal = tick.nominal.format(NOMINAL);
        out.extend_from_slice(format!("|tick={};{};{nominal};{}", tick.at.timestamp(), tick.missed, tick.schedule).as_bytes());
    }
    out.push(b'\n');
    out.extend_from_slice(&body.args);
}

/// Writes a job: the value of `jobs` to `value`; answers its body when that stands apart.
pub(super) fn write_job(value: &mut Vec<u8>, job: &NewJob) -> Option<Vec<u8>> {
    // how long the body is: the task line's options are at most 60 bytes, what a schedule adds 170
    let scheduled = job.body.tick.is_some() || job.body.lock_at_least.is_some();
    let options = if scheduled { 240 } else { 60 };
    let about = job.body.args.len() + job.body.task.as_str().len() + options;
    if about <= BODY_INLINE_MAX_BYTES {
        write_header(value, &job.header, false);
        write_body(value, &job.body);
        write_salt(value, job);
        return None;
    }
    let mut body = Vec::with_capacity(about);
    write_body(&mut body, &job.body);
    let apart = body.len() > BODY_INLINE_MAX_BYTES;
    write_header(value, &job.header, apart);
    if apart {
        return Some(body);
    }
    value.extend_from_slice(&body);
    write_salt(value, job);
    None
}

/// The server's Lua finds each string by a hash of at most 32 of its bytes, always the last too. Jobs that differ in a number alone share a
/// few hundred hashes; the last digit of the id, behind the arguments, spreads them.
fn write_salt(value: &mut Vec<u8>, job: &NewJob) {
    if job.body.args.ends_with(b"}") {
        value.push(job.id.encode()[JobId::LEN - 1]);
    }
}

/// The arguments without what [`write_salt`] put behind them.
fn without_salt(args: &[u8]) -> &[u8] {
    match args {
        [args @ .., digit] if args.ends_with(b"}") && JobId::is_digit(*digit) => args,
        args => args,
    }
}

/// What was read of a job: its envelope, when it expires, and whether its body stands apart.
pub(super) struct ReadHeader<'a> {
    pub(super) header: Header,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) apart: bool,
    pub(super) rest: &'a [u8],
}

fn undecodable(reason: impl Into<String>) -> Undecodable {
    Undecodable { reason: reason.into() }
}

/// Remembers the queue of the last header read, so that a batch of one queue allocates it once.
#[derive(Default)]
pub(super) struct Reader {
    queue: Option<QueueName>,
    task: Option<TaskName>,
}

impl Reader {
    fn queue(&mut self, text: &str) -> Option<QueueName> {
        if let Some(queue) = self.queue.as_ref().filter(|q| q.as_str() == text) {
            return Some(queue.clone());
        }
        let queue = QueueName::new(text).ok()?;
        self.queue = Some(queue.clone());
        Some(queue)
    }

    fn task(&mut self, text: &str) -> Option<TaskName> {
        if let Some(task) = self.task.as_ref().filter(|t| t.as_str() == text) {
            return Some(task.clone());
        }
        let task = TaskName::new(text).ok()?;
        self.task = Some(task.clone());
        Some(task)
    }

    pub(super) fn header<'a>(&mut self, value: &'a [u8]) -> Result<ReadHeader<'a>, Undecodable> {
        let end = value
            .iter()
            .position(|b| *b == b'\n')
            .ok_or_else(|| undecodable("no header line"))?;
        let line = std::str::from_utf8(&value[..end]).map_err(|_| undecodable("the header is not UTF-8"))?;
        let mut fields = line.split('|');
        let mut field = |name: &str| fields.next().ok_or_else(|| undecodable(format!("the header lacks its {name}")));
        let version = field("version")?;
        if version != "1" {
            return Err(undecodable(format!("envelope version {version:?}; this release reads version 1")));
        }
        let bad = |what: &str, text: &str| undecodable(format!("{what} {text:?} in the header"));
        let text = field("queue")?;
        let queue = self.queue(text).ok_or_else(|| bad("queue", text))?;
        let text = field("priority")?;
        let priority = text
            .as_bytes()
            .first()
            .copied()
            .and_then(Priority::from_digit)
            .ok_or_else(|| bad("priority", text))?;
        let text = field("locks")?;
        let locks: Option<Vec<LockKey>> = text.split(',').filter(|k| !k.is_empty()).map(LockKey::from_wire).collect();
        let locks = locks.filter(|l| l.len() <= LOCK_KEYS_MAX).ok_or_else(|| bad("locks", text))?;
        let text = field("on_busy")?;
        let on_busy = match text.as_bytes().first() {
            Some(b'w') => OnBusy::Wait,
            Some(b's') => OnBusy::Skip,
            Some(b'f') => OnBusy::Fail,
            Some(b'z') => OnBusy::Snooze(Duration::from_millis(text[1..].parse().map_err(|_| bad("on_busy", text))?)),
            _ => return Err(bad("on_busy", text)),
        };
        let wait_timeout = optional_ms(field("wait_timeout")?)?;
        let text = field("unique key")?;
        let unique = if text.is_empty() {
            None
        } else {
            Some(UniqueKey::from_wire(text).ok_or_else(|| bad("unique key", text))?)
        };
        let text = field("crash limit")?;
        let crash_limit = text.parse().map_err(|_| bad("crash limit", text))?;
        let expires_at_ms = optional_ms(field("expiry")?)?.map(millis);
        let apart = field("place of the body")? == "1";
        let header = Header {
            queue,
            priority,
            locks,
            on_busy,
            wait_timeout,
            unique,
            crash_limit,
            expires_in: None,
        };
        Ok(ReadHeader {
            header,
            expires_at_ms,
            apart,
            rest: &value[end + 1..],
        })
    }

    pub(super) fn body(&mut self, body: &[u8]) -> Result<Body, Undecodable> {
        let end = body.iter().position(|b| *b == b'\n').ok_or_else(|| undecodable("no task line"))?;
        let line = std::str::from_utf8(&body[..end]).map_err(|_| undecodable("the task line is not UTF-8"))?;
        let mut fields = line.split('|');
        let name = fields.next().unwrap_or_default();
        let task = self.task(name).ok_or_else(|| undecodable(format!("task name {name:?}")))?;
        let (mut retries, mut timeout, mut lock_at_least, mut tick) = (None, None, None, None);
        for field in fields {
            match field.split_once('=') {
                Some(("retries", n)) => retries = Some(n.parse().map_err(|_| undecodable(format!("retries {n:?}")))?),
                Some(("timeout", ms)) => timeout = optional_ms(ms)?,
                Some(("lock_at_least", ms)) => lock_at_least = optional_ms(ms)?,
                Some(("tick", of)) => tick = Some(tick_of(of).ok_or_else(|| undecodable(format!("tick {of:?}")))?),
                _ => return Err(undecodable(format!("{field:?} in the task line"))),
            }
        }
        Ok(Body {
            task,
            retries,
            timeout,
            lock_at_least,
            tick,
            args: Bytes::copy_from_slice(without_salt(&body[end + 1..])),
        })
    }

    pub(super) fn envelope(&mut self, value: &[u8], apart: Option<&[u8]>) -> Result<(Envelope, Option<u64>), Undecodable> {
        let read = self.header(value)?;
        let body = match (read.apart, apart) {
            (true, Some(body)) => self.body(body)?,
            (true, None) => return Err(undecodable("its body, which stands apart, is missing")),
            (false, _) => self.body(read.rest)?,
        };
        Ok((Envelope { header: read.header, body }, read.expires_at_ms))
    }
}

/// How a wall-clock time is written.
const NOMINAL: &str = "%Y-%m-%dT%H:%M:%S";

/// `seconds since 1970;missed;wall-clock time;schedule`.
fn tick_of(text: &str) -> Option<TickOf> {
    let mut parts = text.split(';');
    let (at, missed, nominal, schedule) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(TickOf {
        schedule: ScheduleName::new(schedule).ok()?,
        at: DateTime::from_timestamp(at.parse().ok()?, 0)?,
        nominal: NaiveDateTime::parse_from_str(nominal, NOMINAL).ok()?,
        missed: missed.parse().ok()?,
    })
}

fn optional_ms(text: &str) -> Result<Option<Duration>, Undecodable> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse()
        .map(|ms| Some(Duration::from_millis(ms)))
        .map_err(|_| undecodable(format!("{text:?} is no number of milliseconds")))
}

/// Letters of deaths in places and messages.
pub(super) fn death_letter(death: Death) -> char {
    match death {
        Death::Exhausted => 'e',
        Death::Discarded => 'i',
        Death::Cancelled => 'c',
        Death::Expired => 'x',
        Death::Crashed => 'k',
        Death::Unfit => 'u',
    }
}

pub(super) fn death_of(letter: Option<u8>) -> Death {
    match letter {
        Some(b'e') => Death::Exhausted,
        Some(b'i') => Death::Discarded,
        Some(b'c') => Death::Cancelled,
        Some(b'x') => Death::Expired,
        Some(b'k') => Death::Crashed,
        _ => Death::Unfit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::new_job::Due;

    fn job(args: usize) -> NewJob {
        NewJob {
            id: JobId::random(),
            header: Header {
                queue: QueueName::new("stock").expect("name"),
                priority: Priority::Low,
                locks: vec![LockKey::new("a|b,c").expect("key"), LockKey::new("d~").expect("key")],
                on_busy: OnBusy::Snooze(Duration::from_millis(1500)),
                wait_timeout: Some(Duration::from_secs(9)),
                unique: Some(UniqueKey::new("order:%1").expect("key")),
                crash_limit: 3,
                expires_in: None,
            },
            body: Body {
                task: TaskName::new("decrement").expect("name"),
                retries: Some(2),
                timeout: Some(Duration::from_secs(30)),
                lock_at_least: None,
                tick: None,
                args: Bytes::from(vec![b'x'; args]),
            },
            due: Due::Now,
            unique: None,
        }
    }

    #[test]
    fn a_job_reads_back_inline_and_apart() {
        for args in [10, 4040, 4090, 5000] {
            let job = job(args);
            let mut value = Vec::new();
            let apart = write_job(&mut value, &job);
            assert_eq!(apart.is_some(), args + "decrement|retries=2|timeout=30000\n".len() > 4096);
            let (envelope, expiry) = Reader::default().envelope(&value, apart.as_deref()).expect("reads");
            assert_eq!((envelope.header, envelope.body, expiry), (job.header, job.body, None));
        }
    }

    #[test]
    fn what_stands_behind_the_arguments_is_a_digit_of_the_id_and_no_part_of_them() {
        let mut job = job(1);
        job.body.args = Bytes::from_static(b"{\"n\":1}");
        let mut value = Vec::new();
        assert_eq!(write_job(&mut value, &job), None);
        assert_eq!(value.last(), job.id.to_string().as_bytes().last());
        for value in [&value[..], &value[..value.len() - 1]] {
            let (envelope, _) = Reader::default().envelope(value, None).expect("reads");
            assert_eq!(envelope.body.args, job.body.args);
        }
    }

    #[test]
    fn garbage_is_an_error_with_a_reason() {
        for garbage in [
            &b""[..],
            b"\n",
            b"2|q|1\n",
            b"1|q|9|||\n",
            b"1|q|1|%zz|w|||3||\nt\n{}",
            b"\xff\n",
            b"1|q|1||w|||3||\n",
            b"1|q|1||w|||3||\nt x\n{}",
        ] {
            assert!(Reader::default().envelope(garbage, None).is_err(), "{garbage:?}");
        }
    }
}
