//! Whether a line's date ever comes.

use std::collections::BTreeSet;

use crate::date::{is_leap, month_len, weekday};
use crate::error::{CronError, Piece};
use crate::field::MONTHS;
use crate::{Expression, Field};

/// Refuses a date that never comes. There are only fourteen kinds of years, so at most that many are gone through.
pub(crate) fn check(expression: &Expression, days: Piece<'_>) -> Result<(), CronError> {
    let mut seen = BTreeSet::new();
    for year in expression.year.iter() {
        if seen.insert((is_leap(year), weekday(year, 1, 1))) && comes(expression, year) {
            return Ok(());
        }
    }
    let plain = &expression.day_of_month.plain;
    let longest = |month: u16| month_len(2000, month);
    let months: Vec<u16> = expression.month.iter().collect();
    let beyond = plain.iter().next().filter(|day| months.iter().all(|month| *day > longest(*month)));
    Err(match beyond {
        Some(day) if expression.day_of_month.special.is_empty() => {
            let names: Vec<&str> = months.iter().map(|month| MONTHS[usize::from(*month - 1)]).collect();
            let what = if days.text == day.to_string() {
                "write"
            } else {
                "choose earlier days, or"
            };
            days.error(
                format!("day {day} never comes in {}", names.join(", ")),
                format!("{what} `L` for the last day of the month"),
            )
        }
        _ => {
            let field = if plain.is_full() { Field::DayOfWeek } else { Field::DayOfMonth };
            let mend = "choose days that the named months and years have";
            Piece { field, ..days }.error("no date from 1970 to 2100 matches", mend)
        }
    })
}

fn comes(expression: &Expression, year: u16) -> bool {
    let mut days = expression
        .month
        .iter()
        .flat_map(|month| (1..=month_len(year, month)).map(move |day| (month, day)));
    days.any(|(month, day)| expression.day_matches(year, month, day))
}
