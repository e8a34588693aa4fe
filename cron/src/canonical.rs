//! The one way to write a schedule: lines that mean the same are the same text.

use std::fmt;

use crate::{Expression, Field, MonthDay, Values, WeekDay};

impl Expression {
    /// A field in its canonical form: `0-4,9`, `*/15`, `L`.
    pub fn field_text(&self, field: Field) -> String {
        let Some(values) = self.values(field) else {
            return self.to_string();
        };
        let mut items = items(values);
        match field {
            Field::DayOfMonth => items.extend(self.day_of_month.special.iter().map(MonthDay::to_string)),
            Field::DayOfWeek => items.extend(self.day_of_week.special.iter().map(WeekDay::to_string)),
            _ => {}
        }
        items.join(",")
    }

    /// The fields that the canonical line has: seconds and years only where they choose.
    pub fn fields(&self) -> Vec<Field> {
        let years = !self.year.is_full() || !self.year.starts_with_star();
        let seconds = years || self.second.starts_with_star() || self.second.single() != Some(0);
        let shown = |field: &Field| match field {
            Field::Second => seconds,
            Field::Year => years,
            _ => true,
        };
        Field::ALL.into_iter().filter(shown).collect()
    }
}

impl fmt::Display for Expression {
    /// Writes the canonical line: numbers for names, 0 for Sunday, values in order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<String> = self.fields().into_iter().map(|field| self.field_text(field)).collect();
        f.write_str(&fields.join(" "))
    }
}

fn items(values: &Values) -> Vec<String> {
    if values.starts_with_star() && values.is_full() {
        return vec!["*".to_owned()];
    }
    let lead = values.lead().map(|step| format!("*/{step}"));
    let rest = values
        .beside_lead()
        .runs()
        .into_iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![first.to_string()],
            1 => vec![first.to_string(), last.to_string()],
            _ => vec![format!("{first}-{last}")],
        });
    lead.into_iter().chain(rest).collect()
}

impl fmt::Display for MonthDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MonthDay::Last { before: 0 } => f.write_str("L"),
            MonthDay::Last { before } => write!(f, "L-{before}"),
            MonthDay::LastWeekday => f.write_str("LW"),
            MonthDay::Nearest(day) => write!(f, "{day}W"),
        }
    }
}

impl fmt::Display for WeekDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeekDay::Last(day) => write!(f, "{day}L"),
            WeekDay::Nth(day, nth) => write!(f, "{day}#{nth}"),
        }
    }
}
