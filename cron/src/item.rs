//! Fields and their items: values, ranges and steps.

use crate::error::{CronError, Piece};
use crate::nearest::nearest;
use crate::special::{is_number, month_day, week_day};
use crate::{Field, MonthDays, Values, WeekDays};

/// Reads a field without days that depend on the month.
pub(crate) fn values(piece: Piece<'_>) -> Result<Values, CronError> {
    let mut values = Values::none(piece.field);
    for item in items(piece)? {
        plain(item, &mut values)?;
    }
    note_star(piece, &mut values);
    Ok(values)
}

/// Reads the day-of-month field.
pub(crate) fn month_days(piece: Piece<'_>) -> Result<MonthDays, CronError> {
    let mut days = MonthDays::from(Values::none(piece.field));
    for item in items(piece)? {
        match month_day(item)? {
            Some(special) => days.special.push(special),
            None => plain(item, &mut days.plain)?,
        }
    }
    note_star(piece, &mut days.plain);
    days.special.sort_unstable();
    days.special.dedup();
    Ok(days)
}

/// Reads the day-of-week field.
pub(crate) fn week_days(piece: Piece<'_>) -> Result<WeekDays, CronError> {
    let mut days = WeekDays::from(Values::none(piece.field));
    for item in items(piece)? {
        match week_day(item)? {
            Some(special) => days.special.push(special),
            None => plain(item, &mut days.plain)?,
        }
    }
    note_star(piece, &mut days.plain);
    days.special.sort_unstable();
    days.special.dedup();
    Ok(days)
}

/// Splits a field at its commas.
fn items(piece: Piece<'_>) -> Result<Vec<Piece<'_>>, CronError> {
    let mut found = Vec::new();
    let mut from = 0;
    for text in piece.text.split(',') {
        let item = piece.part(from, from + text.len());
        if text.is_empty() {
            let kept: Vec<&str> = piece.text.split(',').filter(|text| !text.is_empty()).collect();
            let mend = match kept.is_empty() {
                true => "write `*` for every value".to_owned(),
                false => format!("write `{}`", kept.join(",")),
            };
            return Err(item.error("an item between commas is empty", mend));
        }
        if text.contains('?') && (text != "?" || piece.text != "?" || !piece.field.is_day()) {
            let mend = "write `*`, or leave it alone in a day field";
            return Err(item.error("`?` stands only alone, as the day of month or the day of week", mend));
        }
        found.push(item);
        from += text.len() + 1;
    }
    Ok(found)
}

fn note_star(piece: Piece<'_>, values: &mut Values) {
    if piece.text.starts_with(['*', '?']) {
        let first = piece.text.split(',').next().unwrap_or_default();
        values.note_star(first.strip_prefix("*/").and_then(|step| step.parse().ok()));
    }
}

/// Reads `*`, `a`, `a-b` and each with `/n`.
fn plain(item: Piece<'_>, into: &mut Values) -> Result<(), CronError> {
    let field = item.field;
    let (head, step) = match item.split('/') {
        Some((head, step)) => (head, Some(step)),
        None => (item, None),
    };
    if head.text.is_empty() {
        return Err(item.error("a step without a start", format!("write `*{}`", item.text)));
    }
    let stepped = match step {
        Some(step) => self::step(step)?,
        None => 1,
    };
    let (from, to) = match head.text {
        "*" | "?" => (field.min(), field.max()),
        text if text.starts_with('*') => {
            let rest = text.trim_start_matches('*');
            let mend = match is_number(rest) {
                true => format!("write `*/{rest}` for every {rest}, or `{rest}`"),
                false => "write `*` alone, or `*/n` for steps".to_owned(),
            };
            return Err(head.error(format!("`{text}` is no value: nothing but `/` follows a `*`"), mend));
        }
        _ => match head.split('-') {
            Some((from, to)) => range(head, from, to, stepped)?,
            None if step.is_none() => {
                let value = value(head)?;
                (value, value)
            }
            None => (value(head)? % sundays(field), field.max()),
        },
    };
    if stepped > 1 && stepped > to - from {
        return Err(too_long(item, stepped, from, to));
    }
    into.add(from, to, stepped);
    Ok(())
}

/// 7 for days of the week, so that both Sundays are one.
fn sundays(field: Field) -> u16 {
    if field == Field::DayOfWeek { 7 } else { u16::MAX }
}

fn step(step: Piece<'_>) -> Result<u16, CronError> {
    match step.text.parse::<u16>() {
        Ok(0) => Err(step.error("a step of 0 never moves", "write a step of 1 or more")),
        Ok(number) if is_number(step.text) => Ok(number),
        _ if step.text.is_empty() => Err(step.error("the step is missing", "write a number behind the `/`")),
        _ => Err(step.error(
            format!("`{}` is no step", step.text),
            "write one whole number behind the `/`, such as `*/5`",
        )),
    }
}

fn too_long(item: Piece<'_>, step: u16, from: u16, to: u16) -> CronError {
    let reason = format!("a step of {step} is longer than the span from {from} to {to}, so only {from} would match");
    let unit = match item.field {
        Field::Second => Some('s'),
        Field::Minute => Some('m'),
        Field::Hour => Some('h'),
        Field::DayOfMonth => Some('d'),
        _ => None,
    };
    let mend = match unit {
        Some(unit) if item.text.starts_with('*') => {
            format!("write `{from}`, or `every = \"{step}{unit}\"` in place of the line for steps that do not start anew")
        }
        _ => format!("write `{from}`"),
    };
    item.error(reason, mend)
}

/// Reads both ends of a range; the end `7` or `sun` is the Sunday after Saturday.
fn range(whole: Piece<'_>, from: Piece<'_>, to: Piece<'_>, step: u16) -> Result<(u16, u16), CronError> {
    let field = whole.field;
    for (end, which) in [(from, "start"), (to, "end")] {
        if end.text.is_empty() {
            return Err(whole.error(format!("the range has no {which}"), "write a range as `a-b`"));
        }
    }
    if to.text.contains('-') {
        return Err(whole.error("a range has two ends", "write a range as `a-b`, several as `a-b,c-d`"));
    }
    let (first, mut last) = (value(from)?, value(to)?);
    if field == Field::DayOfWeek && last == 0 && first > 0 {
        last = 7;
    }
    if first > last {
        return Err(whole.error(
            format!("the range `{}` runs backwards", whole.text),
            format!("write `{}`", around(field, from.text, to.text, first, last, step)),
        ));
    }
    Ok((first, last))
}

/// A range that runs backwards, as one that runs over the end of the field.
fn around(field: Field, from: &str, to: &str, first: u16, last: u16, step: u16) -> String {
    let (min, max) = (field.min(), field.max());
    if field == Field::Year {
        return format!("{to}-{from}");
    }
    if step > 1 {
        let size = max - min + 1;
        let values = (first..=last + size).step_by(usize::from(step));
        let values: Vec<String> = values.map(|value| ((value - min) % size + min).to_string()).collect();
        return values.join(",");
    }
    let named = from.bytes().all(|byte| byte.is_ascii_alphabetic());
    let text = |value: u16| match field.names().get(usize::from(value - min)) {
        Some(name) if named => name[..3].to_ascii_lowercase(),
        _ => value.to_string(),
    };
    let upper = if first >= max { text(max) } else { format!("{from}-{}", text(max)) };
    let lower = if last == min {
        to.to_owned()
    } else {
        format!("{}-{to}", text(min))
    };
    if first > max {
        format!("{}-{to}", text(min))
    } else {
        format!("{upper},{lower}")
    }
}

/// Reads a number or a name.
pub(crate) fn value(piece: Piece<'_>) -> Result<u16, CronError> {
    let Piece { field, text, .. } = piece;
    if is_number(text) {
        let within = |value: &u16| (field.min()..=field.max_written()).contains(value);
        return match text.parse::<u16>().ok().filter(within) {
            Some(value) => Ok(value),
            None => {
                let mend = match (field, text) {
                    (Field::Hour, "24") => "write `0` for midnight".to_owned(),
                    (Field::Second | Field::Minute, "60") => "write `0` for the full one".to_owned(),
                    _ => format!("allowed are {}", field.allowed()),
                };
                Err(piece.error(format!("{text} is outside of the field"), mend))
            }
        };
    }
    if let Some(value) = field.value_of(text) {
        return Ok(value);
    }
    Err(stranger(piece))
}

/// Says why a text is no value of its field.
fn stranger(piece: Piece<'_>) -> CronError {
    let Piece { field, text, .. } = piece;
    for other in [Field::Month, Field::DayOfWeek] {
        if other != field && other.value_of(text).is_some() {
            return piece.error(format!("`{text}` is a {other}"), format!("write it in the {other} field"));
        }
    }
    let upper = text.to_ascii_uppercase();
    if upper == "H" || upper.starts_with("H(") {
        return piece.error(
            "`H` (a time by hash) is not of this dialect",
            format!("allowed are {}", field.allowed()),
        );
    }
    if text.contains('#') && field != Field::DayOfWeek {
        return piece.error("`#` counts days of the week", "write it in the day of week field, such as `5#2`");
    }
    if field != Field::DayOfMonth && (upper == "LW" || upper.strip_suffix('W').is_some_and(is_number)) {
        return piece.error(format!("`{text}` is a day of the month"), "write it in the day of month field");
    }
    let names = field.names();
    let shorts: Vec<&str> = names.iter().map(|name| &name[..3]).collect();
    match nearest(text, names.iter().copied().chain(shorts), 1).first() {
        Some(name) => piece.error(format!("`{text}` is no {field}"), format!("did you mean `{name}`?")),
        None => piece.error(format!("`{text}` is no {field}"), format!("allowed are {}", field.allowed())),
    }
}
