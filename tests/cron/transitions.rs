//! Around every change of the clock of forty zones, the library and the simulator agree.

use chrono::{DateTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use linchpin::schedule::{Cron, Zone};

use crate::{Dice, expressions, full, instant};

/// Half an hour, midnight, a day, two hours, a month in winter: everything that clocks have done.
const ZONES: [&str; 40] = [
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Cairo",
    "Antarctica/Troll",
    "America/Havana",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "Africa/Johannesburg",
    "America/Asuncion",
    "America/Caracas",
    "America/Chicago",
    "America/Goose_Bay",
    "America/Los_Angeles",
    "America/Mexico_City",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Scoresbysund",
    "America/St_Johns",
    "Antarctica/Casey",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Jerusalem",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Adelaide",
    "Australia/Sydney",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/London",
    "Europe/Moscow",
    "Pacific/Chatham",
    "Pacific/Easter",
    "Pacific/Kiritimati",
    "Pacific/Kwajalein",
];

/// Starts lie this far around a change.
const AROUND_HOURS: u32 = 66;

/// Half of them lie this near.
const NEAR_HOURS: u32 = 3;

/// The simulator watches this long; a later tick only has to be later.
const WATCHED: TimeDelta = TimeDelta::hours(72);

/// Full minutes at which a zone's clock jumps.
fn changes(zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let offset = |at: DateTime<Utc>| zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc();
    let mut found = Vec::new();
    let mut day = from;
    while day < to {
        let next = day + TimeDelta::hours(12);
        if offset(day) != offset(next) {
            let minutes = (0..=720).map(|minute| day + TimeDelta::minutes(minute));
            found.extend(
                minutes
                    .take_while(|at| offset(*at) == offset(day))
                    .last()
                    .map(|at| at + TimeDelta::minutes(1)),
            );
        }
        day = next;
    }
    found
}

fn check(zone: Tz, change: DateTime<Utc>, seed: u64) -> Result<(), String> {
    let mut dice = Dice(seed);
    let (text, line) = expressions::random(&mut dice);
    let cron = Cron::parse(&text).map_err(|error| format!("{text:?} is refused: {error}"))?;
    let hours = if dice.below(2) == 0 { NEAR_HOURS } else { AROUND_HOURS };
    let minutes = i64::from(dice.within(0, 2 * hours * 60)) - i64::from(hours * 60);
    let start = change + TimeDelta::minutes(minutes);
    let end = start + WATCHED;
    let expected = line.next(zone, start, end);
    let found = cron.next_after(start, Zone::parse(zone.name()).expect("a zone")).ok();
    // Until shortly before the next minute the answer is the same.
    let later = start + TimeDelta::milliseconds(59_999);
    let again = cron.next_after(later, Zone::parse(zone.name()).expect("a zone")).ok();
    let agrees = match expected {
        Some(expected) => found.is_some_and(|tick| tick.at == expected),
        None => found.is_none_or(|tick| tick.at > end),
    };
    match agrees && found == again {
        true => Ok(()),
        false => Err(format!(
            "seed {seed}: {text:?} in {zone} after {start}: the simulator says {expected:?}, the library {found:?} and {again:?}"
        )),
    }
}

#[test]
fn the_library_agrees_with_a_simulator_around_every_change() {
    let (from, to, checks_wanted) = match full() {
        true => ("1970-01-05T00:00:00Z", "2100-12-20T00:00:00Z", 80_000),
        false => ("2009-01-01T00:00:00Z", "2028-01-01T00:00:00Z", 2_000),
    };
    let mut changed = Vec::new();
    for name in ZONES {
        let zone: Tz = name.parse().expect(name);
        let found = changes(zone, instant(from), instant(to));
        changed.extend(found.into_iter().map(|change| (zone, change)));
    }
    let each = checks_wanted / changed.len() + 1;
    let mut wrong = Vec::new();
    let mut checks = 0;
    for (number, (zone, change)) in changed.iter().enumerate() {
        for round in 0..each {
            checks += 1;
            wrong.extend(check(*zone, *change, (number * 1_000 + round) as u64).err());
        }
    }
    println!("{checks} checks around {} changes of {} zones", changed.len(), ZONES.len());
    assert!(checks >= checks_wanted, "{checks} checks");
    let shown: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {checks} differ:\n{}", wrong.len(), shown.join("\n"));
}
