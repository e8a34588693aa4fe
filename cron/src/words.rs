//! A line in words.

use crate::field::{MONTHS, WEEKDAYS};
use crate::{Expression, Field, MonthDay, Values, WeekDay};

/// Up to so many times of day are listed one by one.
const TIMES_LISTED: usize = 6;

const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

impl Expression {
    /// Says in words when it fires.
    ///
    /// ```
    /// let line: linchpin_cron::Expression = "30 4 1,15 * 5".parse().expect("a schedule");
    /// assert_eq!(line.words(), "at 04:30 on days 1 and 15 of the month or on Friday");
    /// ```
    pub fn words(&self) -> String {
        let (mut text, times) = match self.times() {
            Some(times) => (format!("at {}", join(times)), true),
            None => (self.steps(), false),
        };
        let days = self.days();
        let daily = days.is_empty() && self.month.is_full() && self.year.is_full();
        if daily && times {
            text.push_str(" every day");
        }
        text.push_str(&days);
        if !self.month.is_full() {
            text.push_str(&format!(
                " in {}",
                join(runs(&self.month, |month| MONTHS[usize::from(month - 1)].to_owned()))
            ));
        }
        if !self.year.is_full() {
            text.push_str(&format!(" in {}", join(runs(&self.year, |year| year.to_string()))));
        }
        text
    }

    /// The times of day, when they are few.
    fn times(&self) -> Option<Vec<String>> {
        let stars = [&self.second, &self.minute, &self.hour]
            .iter()
            .any(|field| field.starts_with_star());
        let count = self.second.len() * self.minute.len() * self.hour.len();
        if stars || count > TIMES_LISTED {
            return None;
        }
        let second = self.second.single()?;
        let show = |hour: u16, minute: u16| match second {
            0 => format!("{hour:02}:{minute:02}"),
            _ => format!("{hour:02}:{minute:02}:{second:02}"),
        };
        let times = self
            .hour
            .iter()
            .flat_map(|hour| self.minute.iter().map(move |minute| show(hour, minute)));
        Some(times.collect())
    }

    /// `every 5 minutes of hours 9 to 17`: the smallest unit that moves, then what contains it.
    fn steps(&self) -> String {
        let mut units = vec![&self.second, &self.minute, &self.hour];
        if !self.second.starts_with_star() && self.second.single() == Some(0) {
            units.remove(0);
            let even = self.hour.starts_with_star() && (self.hour.is_full() || even_step(&self.hour).is_some());
            if !self.minute.starts_with_star() && self.minute.single() == Some(0) && even {
                units.remove(0);
            }
        }
        let (lead, around) = (units[0], &units[1..]);
        let name = lead.field().name();
        let (mut text, at) = match even_step(lead) {
            _ if lead.is_full() => (format!("every {name}"), false),
            Some(step) => (format!("every {step} {name}s"), false),
            None => (format!("at {name}{} {}", plural(lead), numbers(lead)), true),
        };
        let chosen = around.iter().rposition(|unit| !unit.is_full()).map_or(0, |last| last + 1);
        for unit in &around[..chosen] {
            let name = unit.field().name();
            text.push_str(&match even_step(unit) {
                _ if unit.is_full() => format!(" of every {name}"),
                Some(step) => format!(" of every {} {name}", nth(step)),
                None => format!(" of {name}{} {}", plural(unit), numbers(unit)),
            });
        }
        if let (true, 0, Some(unit)) = (at, chosen, around.first()) {
            text.push_str(&format!(" of every {}", unit.field().name()));
        }
        text
    }

    /// ` on day 13 of the month or on Friday`; nothing for every day.
    fn days(&self) -> String {
        let (by_month, by_week) = (&self.day_of_month, &self.day_of_week);
        let month = (!by_month.plain.is_full()).then(|| format!("on {} of the month", self.month_days()));
        let week = (!by_week.plain.is_full()).then(|| self.week_days());
        match (month, week) {
            (Some(month), Some(week)) if self.either_day() => format!(" {month} or on {week}"),
            (Some(month), Some(week)) => format!(" {month} when it is {week}"),
            (Some(_), None) | (None, Some(_)) if self.either_day() => String::new(),
            (Some(month), None) => format!(" {month}"),
            (None, Some(week)) => format!(" on {week}"),
            (None, None) => String::new(),
        }
    }

    fn month_days(&self) -> String {
        let days = &self.day_of_month;
        let mut parts = match days.plain.step() {
            Some(step) => vec![format!("every {} day from day 1", nth(step))],
            None if days.plain.is_empty() => Vec::new(),
            None => vec![format!("day{} {}", plural(&days.plain), numbers(&days.plain))],
        };
        parts.extend(days.special.iter().map(|special| match special {
            MonthDay::Last { before: 0 } => "the last day".to_owned(),
            MonthDay::Last { before } => format!("the {} day before the last", nth(*before)),
            MonthDay::LastWeekday => "the last weekday".to_owned(),
            MonthDay::Nearest(day) => format!("the weekday nearest to day {day}"),
        }));
        join(parts)
    }

    fn week_days(&self) -> String {
        let days = &self.day_of_week;
        let name = |day: u16| WEEKDAYS[usize::from(day)].to_owned();
        // A week that is read from Monday on: `5-7` is Friday to Sunday.
        let mut plain = Values::none(Field::Hour);
        for day in days.plain.iter() {
            let from_monday = if day == 0 { 7 } else { day };
            plain.add(from_monday, from_monday, 1);
        }
        let mut parts = runs(&plain, |day| name(day % 7));
        parts.extend(days.special.iter().map(|special| match special {
            WeekDay::Last(day) => format!("the last {} of the month", name(*day)),
            WeekDay::Nth(day, nth) => format!("the {} {} of the month", ORDINALS[usize::from(*nth - 1)], name(*day)),
        }));
        join(parts)
    }
}

/// The step of `*/n` where it goes on evenly over the end of the field.
fn even_step(values: &Values) -> Option<u16> {
    let size = values.field().max() - values.field().min() + 1;
    values.step().filter(|step| size.is_multiple_of(*step))
}

fn plural(values: &Values) -> &'static str {
    if values.len() == 1 { "" } else { "s" }
}

fn numbers(values: &Values) -> String {
    join(runs(values, |value| value.to_string()))
}

/// Three or more neighbours as `a to b`.
fn runs(values: &Values, show: impl Fn(u16) -> String) -> Vec<String> {
    let runs = values.runs().into_iter().flat_map(|(first, last)| match last - first {
        0 => vec![show(first)],
        1 => vec![show(first), show(last)],
        _ => vec![format!("{} to {}", show(first), show(last))],
    });
    runs.collect()
}

/// `a, b and c`.
fn join(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn nth(number: u16) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
