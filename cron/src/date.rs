//! Facts of the civil calendar.

/// The days of a month.
pub(crate) fn month_len(year: u16, month: u16) -> u16 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(crate) fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// The day of the week, 0 for Sunday (Sakamoto's table of month offsets).
pub(crate) fn weekday(year: u16, month: u16, day: u16) -> u16 {
    const OFFSETS: [u16; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let year = if month < 3 { year - 1 } else { year };
    (year + year / 4 - year / 100 + year / 400 + OFFSETS[usize::from(month - 1) % 12] + day) % 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        assert_eq!(weekday(1970, 1, 1), 4);
        assert_eq!(weekday(2000, 2, 29), 2);
        assert_eq!(weekday(2026, 12, 1), 2);
        assert_eq!(weekday(2100, 12, 31), 5);
        assert_eq!((month_len(2000, 2), month_len(2100, 2), month_len(2028, 2)), (29, 28, 29));
    }
}
