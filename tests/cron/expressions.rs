//! Random lines: the text for the library, the meaning for the simulator.

use std::collections::BTreeSet;

use crate::Dice;
use crate::simulator::{Field, Line};

/// A field in one of the ways people write it.
fn field(dice: &mut Dice, from: u32, to: u32, often: u32) -> (String, Field) {
    let value = |dice: &mut Dice| {
        if dice.below(3) == 0 {
            dice.within(from, to)
        } else {
            dice.within(from, often)
        }
    };
    let mut set: BTreeSet<u32> = (from..=to).collect();
    match dice.below(10) {
        0 | 1 => ("*".to_owned(), Field { star: true, set }),
        2 => {
            let step = dice.within(1, to - from);
            set.retain(|value| (value - from).is_multiple_of(step));
            (format!("*/{step}"), Field { star: true, set })
        }
        3 => {
            let (a, b) = (value(dice), value(dice));
            let (first, last) = (a.min(b), a.max(b));
            set.retain(|value| (first..=last).contains(value));
            (format!("{first}-{last}"), Field { star: false, set })
        }
        4 => {
            let first = value(dice).min(to - 1);
            let step = dice.within(1, to - first);
            set.retain(|value| *value >= first && (value - first) % step == 0);
            (format!("{first}/{step}"), Field { star: false, set })
        }
        5 | 6 => {
            let listed = [value(dice), value(dice), value(dice)];
            let text = listed.map(|value| value.to_string()).join(",");
            let set = listed.into();
            (text, Field { star: false, set })
        }
        _ => {
            let only = value(dice);
            let set = [only].into();
            (only.to_string(), Field { star: false, set })
        }
    }
}

/// A random line that is read; dates that never come are left out.
pub fn random(dice: &mut Dice) -> (String, Line) {
    let (minute_text, minute) = field(dice, 0, 59, 59);
    let (hour_text, hour) = field(dice, 0, 23, 4);
    let free = |from, to| {
        (
            "*".to_owned(),
            Field {
                star: true,
                set: (from..=to).collect(),
            },
        )
    };
    let (mut month_days, mut month, mut week_days) = (free(1, 31), free(1, 12), free(0, 6));
    let (mut last_day, mut nth) = (false, None);
    if dice.below(3) == 0 {
        month_days = field(dice, 1, 31, 28);
        if !month_days.1.star && dice.below(4) == 0 {
            month_days.0.push_str(",L");
            last_day = true;
        }
    }
    // Days that some months lack go with every month: a date that never comes is refused.
    let lacking = month_days.1.set.iter().all(|day| *day > 28);
    if dice.below(6) == 0 && !lacking {
        month = field(dice, 1, 12, 12);
    }
    if dice.below(3) == 0 {
        week_days = field(dice, 0, 6, 6);
        if !week_days.1.star && dice.below(4) == 0 {
            let (day, count) = (dice.below(7), dice.below(5));
            let text = if count == 0 {
                format!(",{day}L")
            } else {
                format!(",{day}#{count}")
            };
            week_days.0.push_str(&text);
            nth = Some((day, count));
        }
    }
    let text = format!("{minute_text} {hour_text} {} {} {}", month_days.0, month.0, week_days.0);
    let line = Line {
        minute,
        hour,
        day_of_month: month_days.1,
        month: month.1,
        day_of_week: week_days.1,
        last_day,
        nth,
    };
    (text, line)
}
