//! What is asked: a line, its zone and the instant to look from.

use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use linchpin::schedule::{Cron, CronError, Zone};

use super::answer::Mistake;

/// Ways to write an instant without an offset: it is in UTC.
const FORMS: [&str; 4] = ["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];

/// What is asked, as it was written.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub expr: &'a str,
    pub tz: &'a str,
    pub from: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// Reads `EXPR<TAB>TZ<TAB>FROM`; what is missing or empty is as given beside.
    pub fn of_line(line: &'a str, tz: &'a str, from: Option<&'a str>) -> Self {
        let mut parts = line.splitn(3, '\t');
        let expr = parts.next().unwrap_or_default();
        let mut given = || parts.next().map(str::trim).filter(|part| !part.is_empty());
        Self {
            expr,
            tz: given().unwrap_or(tz),
            from: given().or(from),
        }
    }

    pub fn cron(&self) -> Result<Cron, CronError> {
        Cron::parse(self.expr)
    }

    pub fn zone(&self) -> Result<Zone, Mistake> {
        Zone::parse(self.tz).map_err(|invalid| {
            let (reason, mend) = invalid.allowed.split_once(": ").unwrap_or(("no such zone", &invalid.allowed));
            Mistake {
                field: "tz",
                column: 1,
                reason: format!("zone `{}`: {reason}", invalid.value),
                mend: mend.to_owned(),
            }
        })
    }

    pub fn instant(&self) -> Result<DateTime<Utc>, Mistake> {
        let Some(text) = self.from else {
            return Ok(SystemTime::now().into());
        };
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Ok(instant.to_utc());
        }
        let naive = FORMS.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
        let midnight = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
        naive.or_else(midnight).map(|naive| naive.and_utc()).ok_or_else(|| Mistake {
            field: "from",
            column: 1,
            reason: format!("`{text}` is no instant"),
            mend: "write it as 2026-03-08T00:00:00Z, or with an offset; without one it is in UTC".to_owned(),
        })
    }
}
