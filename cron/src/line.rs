//! A line as a whole: its fields, shorthands, and what does not belong into it.

use crate::error::{CronError, Piece};
use crate::nearest::nearest;
use crate::{Expression, Field, LINE_MAX, Values, item, possible};

/// Names for whole lines.
const SHORTHANDS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// Reads a line.
pub(crate) fn read(line: &str) -> Result<Expression, CronError> {
    let whole = Piece {
        field: Field::Line,
        text: line,
        column: 1,
    };
    if line.len() > LINE_MAX {
        let mend = format!("write at most {LINE_MAX}, with ranges and steps");
        return Err(whole.error(format!("the line has {} characters", line.len()), mend));
    }
    check_characters(whole)?;
    let words = words(whole);
    let Some(first) = words.first() else {
        return Err(whole.error(
            "the line is empty",
            "write 5 fields: minute, hour, day of month, month, day of week",
        ));
    };
    if first.text.starts_with('@') {
        return shorthand(&words);
    }
    if let Some(setting) = words.iter().find(|word| word.text.contains('=')) {
        return Err(match setting.text.to_ascii_uppercase().contains("TZ=") {
            true => setting.error(
                "a zone does not stand in the line",
                "give it beside the line, as `tz = \"Europe/Berlin\"` or `--tz Europe/Berlin`",
            ),
            false => setting.error(format!("`{}` is a setting, no schedule", setting.text), "leave it out"),
        });
    }
    if first.text.starts_with('#') {
        return Err(first.error("the line is a comment", "leave the `#` out"));
    }
    if let Some(foreign) = foreign(&words) {
        return Err(foreign);
    }
    fields(whole, &words)
}

/// Only printable ASCII and tabs; anything else is most likely a pasted look-alike.
fn check_characters(line: Piece<'_>) -> Result<(), CronError> {
    let odd = |c: &char| !(c.is_ascii_graphic() || matches!(c, ' ' | '\t'));
    let body = line.text.trim_end_matches(['\n', '\r']);
    let Some((at, found)) = body.chars().enumerate().find(|(_, c)| odd(c)) else {
        return Ok(());
    };
    let place = Piece {
        column: line.column + at,
        ..line
    };
    Err(match found {
        '\n' | '\r' => place.error("a schedule is one line", "give each line by itself"),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => place.error("this dash is not the one of a range", "write `-`"),
        '\u{2217}' | '\u{00d7}' | '\u{22c6}' | '\u{ff0a}' => place.error("this star is not the one of a field", "write `*`"),
        '\u{00a0}' | '\u{2000}'..='\u{200b}' | '\u{3000}' => place.error("this space does not separate fields", "write a plain space"),
        other => place.error(
            format!("character {other:?} is not of a schedule"),
            "write digits, letters and `* , - / ? #`",
        ),
    })
}

/// The parts between blanks.
fn words(line: Piece<'_>) -> Vec<Piece<'_>> {
    let blank = [' ', '\t', '\n', '\r'];
    let mut found = Vec::new();
    let mut from = 0;
    for text in line.text.split(blank) {
        if !text.is_empty() {
            found.push(line.part(from, from + text.len()));
        }
        from += text.len() + 1;
    }
    found
}

/// Reads `@daily` and its like.
fn shorthand(words: &[Piece<'_>]) -> Result<Expression, CronError> {
    let name = words[0];
    let lower = name.text.to_ascii_lowercase();
    if let Some((_, fields)) = SHORTHANDS.iter().find(|(name, _)| *name == lower) {
        return match words.get(1) {
            None => read(fields),
            Some(more) => Err(more.error(format!("nothing follows `{lower}`"), format!("write `{lower}` alone"))),
        };
    }
    Err(match lower.as_str() {
        "@reboot" => name.error(
            "`@reboot` is no time: a deploy or a restart fires nothing",
            "enqueue the job when the process starts",
        ),
        "@every" => name.error(
            "`@every` does not stand in the line",
            format!(
                "write `every = \"{}\"` in place of the line",
                words.get(1).map_or("15m", |period| period.text)
            ),
        ),
        _ => {
            let names = SHORTHANDS.map(|(name, _)| name);
            let mend = match nearest(&lower, names, 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("allowed are {}", names.join(", ")),
            };
            name.error(format!("`{}` is no shorthand", name.text), mend)
        }
    })
}

/// A sixth word that is a user, a command, a comment or a zone.
fn foreign(words: &[Piece<'_>]) -> Option<CronError> {
    let sixth = words.get(5)?;
    let letters: String = sixth.text.chars().take_while(char::is_ascii_alphabetic).collect();
    let known = Field::DayOfWeek.value_of(&letters).is_some() || letters.len() < 3;
    let names = || Field::DayOfWeek.names().iter().copied();
    let command = match sixth.text.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => !known && (letters != sixth.text || nearest(&letters, names(), 1).is_empty()),
        Some(first) => !(first.is_ascii_digit() || matches!(first, '*' | '?' | ',' | '-')) && sixth.text.len() > 1 || first == '#',
        None => false,
    };
    let five = words[..5].iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    if !command || read(&five).is_err() {
        return None;
    }
    let reason = format!("`{}` is no field: it looks like a command, a user, a zone or a comment", sixth.text);
    let mend = format!("write only `{five}`; a zone stands beside the line, a command in its task");
    let line = Piece {
        field: Field::Line,
        ..*sixth
    };
    Some(line.error(reason, mend))
}

/// Reads 5, 6 or 7 fields.
fn fields(whole: Piece<'_>, words: &[Piece<'_>]) -> Result<Expression, CronError> {
    let (second, rest, year) = match words {
        [rest @ .., year] if rest.len() == 6 => (Some(rest[0]), &rest[1..], Some(*year)),
        [second, rest @ ..] if rest.len() == 5 => (Some(*second), rest, None),
        rest if rest.len() == 5 => (None, rest, None),
        _ => {
            let count = words.len();
            let reason = format!("the line has {count} field{}", if count == 1 { "" } else { "s" });
            let mend = "write 5 (minute, hour, day of month, month, day of week), 6 (a second first) or 7 (a year last)";
            let column = words.get(7).or(words.last()).map_or(1, |word| word.column);
            return Err(Piece { column, ..whole }.error(reason, mend));
        }
    };
    let of = |field: Field, piece: Piece<'_>| item::values(Piece { field, ..piece });
    let place = |at: usize, field: Field| Piece { field, ..rest[at] };
    let expression = Expression {
        second: match second {
            Some(second) => of(Field::Second, second)?,
            None => Values::only(Field::Second, 0),
        },
        minute: of(Field::Minute, rest[0])?,
        hour: of(Field::Hour, rest[1])?,
        day_of_month: item::month_days(place(2, Field::DayOfMonth))?,
        month: of(Field::Month, rest[3])?,
        day_of_week: item::week_days(place(4, Field::DayOfWeek))?,
        year: match year {
            Some(year) => of(Field::Year, year)?,
            None => Values::every(Field::Year),
        },
    };
    possible::check(&expression, place(2, Field::DayOfMonth))?;
    Ok(expression)
}
