//! What a line says but people rarely mean.

use std::fmt;

use crate::date::month_len;
use crate::field::MONTHS;
use crate::{Expression, Field, Values};

/// Something a line says that people rarely mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The field it is about.
    pub field: Field,
    /// What will happen, and what to write if it is not meant.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.text)
    }
}

impl Expression {
    /// What people rarely mean, as far as the line alone shows it.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        found.extend(every_one_of(&self.minute, &self.hour));
        found.extend(every_one_of(&self.second, &self.minute));
        for field in [
            Field::Second,
            Field::Minute,
            Field::Hour,
            Field::DayOfMonth,
            Field::Month,
            Field::DayOfWeek,
        ] {
            found.extend(self.values(field).and_then(uneven_step));
        }
        found.extend(self.missing_days());
        if self.either_day() {
            found.push(Warning {
                field: Field::DayOfWeek,
                text:
                    "a day counts when either the day of month or the day of week matches; write `*` in one to choose by the other, or `5#2` for the second Friday"
                        .to_owned(),
            });
        }
        found
    }

    /// Days 29 to 31 in months that lack them.
    fn missing_days(&self) -> Option<Warning> {
        let days = &self.day_of_month.plain;
        if days.starts_with_star() || days.is_full() {
            return None;
        }
        let day = days.iter().find(|day| *day > 28)?;
        let short = |longest: fn(u16) -> u16| self.month.iter().filter(move |month| day > longest(*month));
        let never: Vec<&str> = short(|month| month_len(2000, month))
            .map(|month| MONTHS[usize::from(month - 1)])
            .collect();
        let text = match never.as_slice() {
            [] if self.month.contains(2) && day == 29 => "day 29 comes in February of leap years only".to_owned(),
            [] => return None,
            names => format!("day {day} does not come in {}", names.join(", ")),
        };
        Some(Warning {
            field: Field::DayOfMonth,
            text: format!("{text}; write `L` for the last day of each month"),
        })
    }
}

/// `* 0 * * *`: every minute of an hour that was chosen.
fn every_one_of(inner: &Values, outer: &Values) -> Option<Warning> {
    let every = inner.starts_with_star() && inner.is_full();
    let chosen = !outer.starts_with_star() && !outer.is_full();
    let (field, outer) = (inner.field(), outer.field());
    (every && chosen).then(|| Warning {
        field,
        text: format!("`*` runs {} times in each chosen {outer}; write `0` to run once", inner.len()),
    })
}

/// `*/7` minutes: 56, then 0.
fn uneven_step(values: &Values) -> Option<Warning> {
    let field = values.field();
    let step = values.step()?;
    let size = field.max() - field.min() + 1;
    if field != Field::DayOfMonth && size.is_multiple_of(step) {
        return None;
    }
    let last = values.iter().next_back()?;
    let first = field.min();
    let text = match field {
        Field::DayOfMonth => format!("`*/{step}` starts anew at day 1 of each month, so the steps differ there"),
        _ => format!(
            "`*/{step}` does not divide {size}: from {last} to {first} the step is {}, not {step}",
            size - last + first
        ),
    };
    Some(Warning { field, text })
}
