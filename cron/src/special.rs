//! Items that mean a day by its month: `L`, `L-3`, `LW`, `15W`, `5L`, `5#2`.

use crate::error::{CronError, Piece};
use crate::item::value;
use crate::{Field, MonthDay, WeekDay};

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads `L`, `L-n`, `LW` and `nW`; `None` for everything else.
pub(crate) fn month_day(item: Piece<'_>) -> Result<Option<MonthDay>, CronError> {
    let upper = item.text.to_ascii_uppercase();
    if Field::Month.value_of(item.text).is_some() || Field::DayOfWeek.value_of(item.text).is_some() || !upper.contains(['L', 'W']) {
        return Ok(None);
    }
    if upper == "L" {
        return Ok(Some(MonthDay::Last { before: 0 }));
    }
    if upper == "LW" {
        return Ok(Some(MonthDay::LastWeekday));
    }
    if let Some(before) = upper.strip_prefix("L-").filter(|before| is_number(before)) {
        return match before.parse() {
            Ok(before @ 1..=30) => Ok(Some(MonthDay::Last { before })),
            _ => Err(item.error(
                format!("`{}` is before every month's first day", item.text),
                "write `L-1` to `L-30`",
            )),
        };
    }
    if let Some(day) = upper.strip_suffix('W').filter(|day| is_number(day)) {
        return match day.parse() {
            Ok(day @ 1..=31) => Ok(Some(MonthDay::Nearest(day))),
            _ => Err(item.error(format!("no month has a day {day}"), "write `1W` to `31W`")),
        };
    }
    if upper.strip_suffix('L').is_some_and(is_number) {
        return Err(item.error(
            format!("`{}` is the last such day of the week", item.text),
            "write it in the day of week field",
        ));
    }
    Err(item.error(
        format!("`{}` is no day of the month", item.text),
        "write `L`, `L-3`, `LW` or `15W` as items of their own, without ranges or steps",
    ))
}

/// Reads `5L` and `5#2`; `None` for everything else.
pub(crate) fn week_day(item: Piece<'_>) -> Result<Option<WeekDay>, CronError> {
    if let Some((day, nth)) = item.split('#') {
        let day = value(day)? % 7;
        return match nth.text.parse() {
            Ok(nth @ 1..=5) if item.text.ends_with(|last: char| last.is_ascii_digit()) => Ok(Some(WeekDay::Nth(day, nth))),
            _ => Err(nth.error(format!("`{}` is no count of weeks", nth.text), "write 1 to 5, or `5L` for the last")),
        };
    }
    if item.text.eq_ignore_ascii_case("L") {
        return Err(item.error(
            "`L` alone is no day of the week",
            "write `6` for Saturday, or `6L` for the last of the month",
        ));
    }
    match item.text.strip_suffix(['L', 'l']) {
        Some(day) if item.field.value_of(item.text).is_none() => {
            let day = value(item.part(0, day.len()))? % 7;
            Ok(Some(WeekDay::Last(day)))
        }
        _ => Ok(None),
    }
}
