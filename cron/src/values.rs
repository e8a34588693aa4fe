//! The values a field selects, and how they were written where that matters.

use std::collections::BTreeSet;

use crate::Field;

/// What a field selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    field: Field,
    set: BTreeSet<u16>,
    /// It starts with `*` or `?`.
    star: bool,
    /// The step of a first item that is `*/n`.
    lead: Option<u16>,
}

impl Values {
    pub(crate) fn none(field: Field) -> Self {
        Self {
            field,
            set: BTreeSet::new(),
            star: false,
            lead: None,
        }
    }

    /// As `*` selects.
    pub(crate) fn every(field: Field) -> Self {
        Self {
            set: (field.min()..=field.max()).collect(),
            star: true,
            ..Self::none(field)
        }
    }

    pub(crate) fn only(field: Field, value: u16) -> Self {
        Self {
            set: [value].into(),
            ..Self::none(field)
        }
    }

    /// Adds `from`, `from + step` and so on up to `to`; both names of Sunday are one.
    pub(crate) fn add(&mut self, from: u16, to: u16, step: u16) {
        let week = self.field == Field::DayOfWeek;
        let values = (from..=to).step_by(usize::from(step.max(1)));
        self.set.extend(values.map(|value| if week { value % 7 } else { value }));
    }

    /// Notes that the first item starts with `*` or `?`, and its step.
    pub(crate) fn note_star(&mut self, step: Option<u16>) {
        self.star = true;
        self.lead = step.filter(|step| *step > 1 && !self.is_full());
    }

    /// The field.
    pub fn field(&self) -> Field {
        self.field
    }

    /// The values in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u16> + '_ {
        self.set.iter().copied()
    }

    /// Whether it selects this value.
    pub fn contains(&self, value: u16) -> bool {
        self.set.contains(&value)
    }

    /// How many values it selects.
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether it selects none, as `L` alone does.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Whether it selects every value of the field, however written.
    pub fn is_full(&self) -> bool {
        self.set.len() == usize::from(self.field.max() - self.field.min()) + 1
    }

    /// Whether it starts with `*` or `?`.
    pub fn starts_with_star(&self) -> bool {
        self.star
    }

    /// The step of a field that is `*/n` and nothing else.
    pub fn step(&self) -> Option<u16> {
        self.lead.filter(|_| self.beside_lead().set.is_empty())
    }

    /// The step of a first item that is `*/n`.
    pub(crate) fn lead(&self) -> Option<u16> {
        self.lead
    }

    /// The values that a first item `*/n` does not give.
    pub(crate) fn beside_lead(&self) -> Values {
        let mut led = Self::none(self.field);
        if let Some(step) = self.lead {
            led.add(self.field.min(), self.field.max(), step);
        }
        let set = self.set.difference(&led.set).copied().collect();
        Self {
            set,
            ..Self::none(self.field)
        }
    }

    /// The only value.
    pub(crate) fn single(&self) -> Option<u16> {
        self.set.first().copied().filter(|_| self.set.len() == 1)
    }

    /// Neighbours together: first and last of each run.
    pub(crate) fn runs(&self) -> Vec<(u16, u16)> {
        let mut runs: Vec<(u16, u16)> = Vec::new();
        for value in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == value => *last = value,
                _ => runs.push((value, value)),
            }
        }
        runs
    }
}
