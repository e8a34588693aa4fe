//! Renewing and surrendering on Redis, and how idempotent scripts are resent.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use redis::Value;

use super::RedisStore;
use super::arguments::Arguments;
use super::connection::{Fault, Pause};
use super::log;
use super::progress::progress_text;
use super::script::Name;
use super::settles::{SettleShape, push_settles};
use super::wire::{lock_spec, millis};
use crate::clock::LeaseInstant;
use crate::error::Error;
use crate::limits::{ATTEMPTS_KEPT, grace, lock_ttl};
use crate::store::lease::{Renewal, RenewalAnswer, Renewed};
use crate::store::settle::{Settle, SettleAnswer};

/// Attempts named in one renewal script: keeps it under 5 ms.
const SCRIPT_RENEW_MAX: usize = 400;
/// How long acquire and release are tried while the outcome is unknown or the store away.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

impl RedisStore {
    pub(super) async fn run_renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewalAnswer>, Error> {
        let mut answers = Vec::with_capacity(renewals.len());
        let mut rest = renewals.as_slice();
        while !rest.is_empty() {
            let mut attempts = 0;
            let fits = |r: &&Renewal| {
                attempts += r.attempts.len();
                attempts <= SCRIPT_RENEW_MAX
            };
            let n = rest.iter().take_while(fits).count().max(1);
            answers.extend(self.renew_batch(&rest[..n]).await?);
            rest = &rest[n..];
        }
        Ok(answers)
    }

    async fn renew_batch(&self, renewals: &[Renewal]) -> Result<Vec<RenewalAnswer>, Error> {
        let mut a = Arguments::default();
        a.int(renewals.len() as u64);
        for renewal in renewals {
            a.push(renewal.token.as_str())
                .int(millis(renewal.lease + grace(renewal.lease)))
                .int(millis(lock_ttl(renewal.lease)));
            a.int(renewal.attempts.len() as u64);
            for attempt in &renewal.attempts {
                let mut nested = String::new();
                for (key, token) in &attempt.nested {
                    let _ = writeln!(nested, "{token}={}", key.wire());
                }
                let progress = attempt.progress.as_ref().map(progress_text).unwrap_or_default();
                a.push(attempt.id.encode())
                    .push(lock_spec(&attempt.locks))
                    .push(nested)
                    .push(progress);
            }
        }
        let mut sent_at = LeaseInstant::now();
        let action = || self.action("renew");
        // a third of the shortest lease: the next renewal has to get its chance before the deadline
        let patience = renewals.iter().map(|r| r.lease / 3).min().unwrap_or(Duration::from_secs(1));
        let script = self.scripts.script(Name::Renew);
        let running = self.watchdog.run(script, self.keys.prefix(), &a, || sent_at = LeaseInstant::now());
        let value = match tokio::time::timeout(patience, running).await {
            Ok(result) => result.map_err(|fault| fault.into_error(action()))?,
            Err(_) => {
                self.watchdog.reset().await;
                return Err(Error::Unknown {
                    action: action(),
                    ids: Vec::new(),
                });
            }
        };
        let Value::BulkString(letters) = value else {
            return Err(Error::Internal {
                what: "the reply of the renew script is malformed".into(),
            });
        };
        let mut letters = letters.into_iter();
        let mut answer = |renewal: &Renewal| {
            let attempts = renewal.attempts.iter().map(|_| match letters.next() {
                Some(b'R') => Renewed::Renewed,
                Some(b'C') => Renewed::Cancelled,
                _ => Renewed::Lost,
            });
            RenewalAnswer {
                sent_at,
                attempts: attempts.collect(),
            }
        };
        Ok(renewals.iter().map(&mut answer).collect())
    }

    pub(super) async fn run_surrender(&self, settle: Settle) -> Result<SettleAnswer, Error> {
        let settles = [settle];
        let shape = SettleShape::of(&settles);
        let mut a = Arguments::default();
        let code = if shape.codes.is_empty() { "d" } else { shape.codes.as_str() };
        a.push(log::pack(&settles))
            .int(ATTEMPTS_KEPT)
            .push(code)
            .push(&shape.runs)
            .push(shape.locks.word());
        a.push(&shape.nested).push(&shape.uniques).push(&shape.kept);
        push_settles(&mut a, &settles, shape.locks);
        let running = self
            .watchdog
            .run(self.scripts.script(Name::Surrender), self.keys.prefix(), &a, || ());
        match running.await.map_err(|fault| fault.into_error(self.action("surrender")))? {
            Value::Int(1) => Ok(SettleAnswer::Accepted),
            _ => Ok(SettleAnswer::Lost),
        }
    }

    /// Runs an idempotent script until it is answered, for at most five seconds.
    pub(super) async fn patiently(&self, name: Name, arguments: &Arguments, what: &str) -> Result<Value, Error> {
        let begun = Instant::now();
        let mut pause = Pause::new();
        let mut sent = false;
        loop {
            match self
                .commands
                .run(self.scripts.script(name), self.keys.prefix(), arguments, || ())
                .await
            {
                Ok(value) => return Ok(value),
                Err(fault) => {
                    sent |= matches!(fault, Fault::Unknown(_));
                    let passing = matches!(fault, Fault::Unknown(_) | Fault::Unsent(_) | Fault::Later { .. });
                    if !passing || begun.elapsed() > LOCK_PATIENCE {
                        let action = self.action(what);
                        return Err(if sent && passing {
                            Error::Unknown { action, ids: Vec::new() }
                        } else {
                            fault.into_error(action)
                        });
                    }
                }
            }
            pause.wait().await;
        }
    }
}
