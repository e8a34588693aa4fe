//! Single facts: seconds, passes, the ends of time, and the warning of a gap.

use chrono::{DateTime, Utc};
use linchpin::schedule::{Cron, End, Pass, Zone};

use crate::instant;

fn cron(line: &str) -> Cron {
    Cron::parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

fn zone(name: &str) -> Zone {
    Zone::parse(name).expect(name)
}

fn ticks(line: &str, zone_name: &str, after: &str, count: usize) -> Vec<String> {
    let ticks = cron(line).ticks(instant(after), zone(zone_name)).take(count);
    ticks.map(|tick| tick.at.format("%FT%TZ").to_string()).collect()
}

#[test]
fn seconds_go_through_an_overlap_twice_as_an_interval_and_once_as_fixed() {
    let (berlin, after) = ("Europe/Berlin", "2026-10-25T00:59:50Z");
    let found = ticks("30 59 2 * * *", berlin, after, 2);
    assert_eq!(found, ["2026-10-26T01:59:30Z", "2026-10-27T01:59:30Z"], "the first pass is over");
    let found = ticks("*/30 59 2 * * *", berlin, after, 3);
    assert_eq!(found, ["2026-10-25T01:59:00Z", "2026-10-25T01:59:30Z", "2026-10-26T01:59:00Z"]);
}

#[test]
fn a_list_of_times_in_a_gap_fires_once_at_its_end() {
    let found = ticks("0,15,30,45 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2);
    assert_eq!(found, ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]);
    // The time at the gap's end is one with those in it.
    let found = ticks("0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2);
    assert_eq!(found, ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]);
}

#[test]
fn a_day_that_never_was_fires_at_its_end() {
    let found = ticks("30 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", 3);
    assert_eq!(found, ["2011-12-30T10:00:00Z", "2011-12-30T22:30:00Z", "2011-12-31T22:30:00Z"]);
}

#[test]
fn ticks_say_what_the_clock_does() {
    let passes = |line: &str, after: &str| -> Vec<_> {
        let found = cron(line).ticks(instant(after), zone("Europe/Berlin")).take(3);
        found.map(|tick| (tick.nominal.format("%H:%M").to_string(), tick.pass)).collect()
    };
    let (gap, first, second) = (Some(Pass::AfterGap), Some(Pass::First), Some(Pass::Second));
    let found = passes("30 2 * * *", "2026-03-28T12:00:00Z");
    assert_eq!(found, [("02:30".into(), gap), ("02:30".into(), None), ("02:30".into(), None)]);
    let found = passes("30 2 * * *", "2026-10-24T12:00:00Z");
    assert_eq!(found, [("02:30".into(), first), ("02:30".into(), None), ("02:30".into(), None)]);
    let found = passes("30 * * * *", "2026-10-25T00:00:00Z");
    assert_eq!(found, [("02:30".into(), first), ("02:30".into(), second), ("03:30".into(), None)]);
}

#[test]
fn schedules_end_with_the_year_2100_and_begin_with_1970() {
    let daily = cron("0 0 * * *");
    for name in ["UTC", "Pacific/Kiritimati", "Pacific/Niue"] {
        let last = daily.ticks(instant("2100-12-30T00:00:00Z"), zone(name)).last().expect("a tick");
        assert_eq!(last.nominal.to_string(), "2100-12-31 00:00:00", "{name}");
        assert_eq!(daily.next_after(last.at, zone(name)), Err(End), "{name}");
        let first = daily.next_after(DateTime::<Utc>::MIN_UTC, zone(name)).expect("a tick");
        assert_eq!(first.nominal.to_string(), "1970-01-01 00:00:00", "{name}");
        assert_eq!(cron("* * * * * *").next_after(DateTime::<Utc>::MAX_UTC, zone(name)), Err(End));
    }
    assert!(End.to_string().contains("2100"));
    assert_eq!(
        cron("0 0 0 1 1 ? 2020").next_after(instant("2026-01-01T00:00:00Z"), Zone::UTC),
        Err(End)
    );
}

#[test]
fn a_rare_interval_is_found_years_ahead() {
    let found = ticks("* * 29 2 */6", "America/New_York", "2026-01-01T00:00:00Z", 2);
    // 29 February on a Sunday or a Saturday: `*/6` is 0 and 6.
    assert_eq!(found, ["2032-02-29T05:00:00Z", "2032-02-29T05:01:00Z"]);
}

#[test]
fn a_time_in_a_gap_is_warned_of() {
    let warned = |line: &str, name: &str| -> Vec<String> {
        let found = cron(line).warnings(instant("2026-06-01T00:00:00Z"), zone(name));
        found.into_iter().map(|warning| warning.to_string()).collect()
    };
    assert_eq!(
        warned("30 2 * * *", "Europe/Berlin"),
        ["hour: 02:30 does not exist on 2027-03-28 in Europe/Berlin: it fires at 03:00 instead"]
    );
    assert_eq!(
        warned("*/30 2 * * *", "Europe/Berlin"),
        ["hour: 02:00 does not exist on 2027-03-28 in Europe/Berlin: an interval skips it"]
    );
    for (line, name) in [
        ("30 2 * * *", "UTC"),
        ("30 3 * * *", "Europe/Berlin"),
        ("*/30 * * * *", "Europe/Berlin"),
        ("30 2 1 7 *", "Europe/Berlin"),
    ] {
        assert!(warned(line, name).is_empty(), "{line} in {name}: {:?}", warned(line, name));
    }
}

#[test]
fn an_unknown_zone_names_the_nearest() {
    let message = |name: &str| Zone::parse(name).expect_err(name).to_string();
    assert!(message("Europe/Berln").contains("`Europe/Berlin`"), "{}", message("Europe/Berln"));
    assert!(message("europe/berlin").contains("`Europe/Berlin`"));
    assert!(message("New York").contains("`America/New_York`"));
    assert!(message("+02:00").contains("fixed offset"));
    assert!(message("UTC+2").contains("fixed offset"));
    assert!(message("").contains("IANA"));
}

#[cfg(feature = "macros")]
#[test]
fn a_literal_is_checked_while_compiling() {
    assert_eq!(linchpin::cron!("30 2 * * mon-fri"), cron("30 2 * * 1-5"));
}

#[test]
fn sunday_is_0_and_7_and_has_two_names() {
    let of = |line| ticks(line, "UTC", "2026-11-30T00:00:00Z", 3);
    let sundays = of("0 6 * * 0");
    assert!(sundays[0].starts_with("2026-12-06"), "{sundays:?}");
    for same in ["0 6 * * 7", "0 6 * * sun", "0 6 * * Sunday", "0 6 * * 7-7"] {
        assert_eq!(of(same), sundays, "{same}");
    }
    assert!(of("0 6 * * 1")[0].starts_with("2026-11-30"), "Monday is 1");
}

#[test]
fn a_date_that_never_comes_is_refused_and_does_not_loop() {
    for never in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 1 1 * 1969"] {
        assert!(Cron::parse(never).is_err(), "{never}");
    }
    let leap = ticks("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 3);
    assert!(leap.is_empty(), "2100 has none: {leap:?}");
}

#[test]
fn a_zone_is_its_rules_and_no_offset() {
    let at_three = |after| ticks("0 3 * * *", "Europe/Berlin", after, 1);
    assert!(
        at_three("2026-01-10T12:00:00Z")[0].contains("02:00"),
        "{:?}",
        at_three("2026-01-10T12:00:00Z")
    );
    assert!(
        at_three("2026-07-10T12:00:00Z")[0].contains("01:00"),
        "{:?}",
        at_three("2026-07-10T12:00:00Z")
    );
}
