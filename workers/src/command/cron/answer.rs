//! What is answered: words, fields, ticks and warnings, or the mistake.

use linchpin::schedule::{Cron, CronError, Kind, Pass, Tick, Zone};
use serde::Serialize;

use super::question::Question;
use crate::output::table;

/// A line explained.
#[derive(Debug)]
pub struct Explained {
    expr: String,
    cron: Cron,
    zone: Zone,
    ticks: Vec<Tick>,
    /// There are no more ticks than these.
    end: bool,
    warnings: Vec<String>,
}

/// A line explained, for programs.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    expr: &'a str,
    tz: &'static str,
    kind: &'static str,
    words: String,
    next: Vec<Next>,
    end: bool,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct Next {
    local: String,
    utc: String,
}

/// What is wrong with a question.
#[derive(Debug, Serialize)]
pub struct Mistake {
    pub field: &'static str,
    pub column: usize,
    pub reason: String,
    pub mend: String,
}

/// A mistake, for programs.
#[derive(Debug, Serialize)]
pub struct Wrong<'a> {
    error: &'a Mistake,
}

/// Explains a line, with its next `count` ticks.
///
/// # Errors
/// The first mistake in line, zone or instant.
pub fn explain(question: &Question<'_>, count: u16) -> Result<Explained, Mistake> {
    let cron = question.cron()?;
    let (zone, from) = (question.zone()?, question.instant()?);
    let count = usize::from(count);
    let ticks: Vec<Tick> = cron.ticks(from, zone).take(count).collect();
    let warnings = cron.warnings(from, zone).iter().map(ToString::to_string).collect();
    Ok(Explained {
        expr: question.expr.trim().to_owned(),
        end: ticks.len() < count,
        cron,
        zone,
        ticks,
        warnings,
    })
}

impl Explained {
    pub fn shown(&self) -> Shown<'_> {
        let next = self.ticks.iter().map(|tick| Next {
            local: self.local(tick),
            utc: utc(tick),
        });
        Shown {
            expr: &self.expr,
            tz: self.zone.name(),
            kind: self.cron.kind().name(),
            words: self.cron.words(),
            next: next.collect(),
            end: self.end,
            warnings: &self.warnings,
        }
    }

    pub fn text(&self) -> String {
        let mut parts = vec![format!(
            "{} in {}\n{}: {}",
            self.cron.words(),
            self.zone,
            self.cron.kind().name(),
            match self.cron.kind() {
                Kind::Fixed => "each time once a day, also where the clock skips or repeats it",
                Kind::Interval => "by the time that passes, whatever the clock does",
            }
        )];
        let line = self.cron.expression();
        let fields = line
            .fields()
            .into_iter()
            .map(|field| vec![field.to_string(), line.field_text(field)]);
        parts.push(table(&["FIELD", "VALUES"], fields, ""));
        let ticks = self.ticks.iter().map(|tick| vec![self.local(tick), utc(tick), clock(tick)]);
        parts.push(table(&["LOCAL", "UTC", "CLOCK"], ticks, "no tick after that"));
        if self.end && !self.ticks.is_empty() {
            parts.push("no further tick up to the end of 2100".to_owned());
        }
        if !self.warnings.is_empty() {
            let warnings = self.warnings.iter().map(|warning| format!("warning: {warning}"));
            parts.push(warnings.collect::<Vec<_>>().join("\n"));
        }
        parts.join("\n\n")
    }

    fn local(&self, tick: &Tick) -> String {
        self.zone.show(tick.at).to_rfc3339()
    }
}

fn utc(tick: &Tick) -> String {
    tick.at.format("%FT%TZ").to_string()
}

/// What the clock does there.
fn clock(tick: &Tick) -> String {
    match tick.pass {
        None => String::new(),
        Some(Pass::AfterGap) => format!("{} is skipped", tick.nominal.format("%H:%M:%S")),
        Some(pass) => pass.name().to_owned(),
    }
}

impl Mistake {
    pub fn shown(&self) -> Wrong<'_> {
        Wrong { error: self }
    }

    /// The line with a mark under the mistake.
    pub fn text(&self, question: &Question<'_>) -> String {
        let said = format!("linchpin: {}, column {}: {}: {}", self.field, self.column, self.reason, self.mend);
        match self.field {
            "tz" | "from" => said,
            _ => format!("{}\n{}^\n{said}", question.expr.replace('\t', " "), " ".repeat(self.column - 1)),
        }
    }
}

impl From<CronError> for Mistake {
    fn from(error: CronError) -> Self {
        Self {
            field: error.field.name(),
            column: error.column,
            reason: error.reason,
            mend: error.mend,
        }
    }
}
