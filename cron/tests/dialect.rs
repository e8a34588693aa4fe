//! The dialect: what is read, what is refused and how the refusal helps.

use linchpin_cron::{CronError, Expression, Field, Kind};

fn read(line: &str) -> Expression {
    Expression::parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

fn refused(line: &str) -> CronError {
    match Expression::parse(line) {
        Ok(read) => panic!("{line:?} was read as {read}"),
        Err(error) => error,
    }
}

#[test]
fn lines_that_mean_the_same_have_one_canonical_form() {
    let same = [
        ("0 0 * * sun", "0 0 * * 0"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("  0\t0 * *  Sunday \n", "0 0 * * 0"),
        ("0 0 0 * * 0", "0 0 * * 0"),
        ("0 0 0 ? * 0 *", "0 0 * * 0"),
        ("@weekly", "0 0 * * 0"),
        ("@Hourly", "0 * * * *"),
        ("@annually", "0 0 1 1 *"),
        ("0 0 * * fri-sun", "0 0 * * 0,5,6"),
        ("0 0 * * 0-7", "0 0 * * 0-6"),
        ("0 0 1 January-mar,7 *", "0 0 1 1-3,7 *"),
        ("05,04,03,9 */1 * * *", "3-5,9 * * * *"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("10-30/10 * * * *", "10,20,30 * * * *"),
        ("*/15,7 * * * *", "*/15,7 * * * *"),
        ("*/7 * * * *", "*/7 * * * *"),
        ("0-59 0 * * *", "0-59 0 * * *"),
        ("0 0 l,15,lw,l-3,1w * *", "0 0 15,L,L-3,LW,1W * *"),
        ("0 0 * * friL,mon#2,0#5", "0 0 * * 5L,0#5,1#2"),
        ("30 0 0 1 1 ? 2027-2029", "30 0 0 1 1 * 2027-2029"),
        ("0 0 * * 7/2", "0 0 * * 0,2,4,6"),
        ("* * * * * *", "* * * * * *"),
        ("* * * * * * *", "* * * * * *"),
    ];
    for (line, canonical) in same {
        let first = read(line);
        assert_eq!(first.to_string(), canonical, "{line:?}");
        assert_eq!(read(canonical), first, "{canonical:?}");
    }
}

#[test]
fn a_refusal_names_field_column_and_mend() {
    let refusals = [
        ("0 22-4 * * *", Field::Hour, 3, "write `22-23,0-4`"),
        ("0 23-4 * * *", Field::Hour, 3, "write `23,0-4`"),
        ("0 5-0 * * *", Field::Hour, 3, "write `5-23,0`"),
        ("0 22-4/3 * * *", Field::Hour, 3, "write `22,1,4`"),
        ("0 0 1 nov-feb *", Field::Month, 7, "write `nov-dec,jan-feb`"),
        ("0 0 * * sat-mon", Field::DayOfWeek, 9, "write `sat,sun-mon`"),
        ("0 0 * * 7-2", Field::DayOfWeek, 9, "write `0-2`"),
        ("0 0 0 1 1 ? 2030-2027", Field::Year, 13, "write `2027-2030`"),
        ("1,,2 * * * *", Field::Minute, 3, "write `1,2`"),
        (", * * * *", Field::Minute, 1, "write `*` for every value"),
        ("*5 * * * *", Field::Minute, 1, "write `*/5` for every 5, or `5`"),
        ("/5 * * * *", Field::Minute, 1, "write `*/5`"),
        ("*/0 * * * *", Field::Minute, 3, "write a step of 1 or more"),
        ("*/ * * * *", Field::Minute, 3, "write a number behind the `/`"),
        (
            "*/5/2 * * * *",
            Field::Minute,
            3,
            "write one whole number behind the `/`, such as `*/5`",
        ),
        ("50/15 * * * *", Field::Minute, 1, "write `50`"),
        ("60 * * * *", Field::Minute, 1, "write `0` for the full one"),
        ("0 24 * * *", Field::Hour, 3, "write `0` for midnight"),
        ("0 0 0 * *", Field::DayOfMonth, 5, "allowed are 1 to 31, L, L-n, LW or nW"),
        ("0 0 * 13 *", Field::Month, 7, "allowed are 1 to 12 or jan to dec"),
        ("0 0 * mon *", Field::Month, 7, "write it in the day of week field"),
        ("0 0 * * tues", Field::DayOfWeek, 9, "did you mean `Tue`?"),
        ("0 0 * * 5#6", Field::DayOfWeek, 11, "write 1 to 5, or `5L` for the last"),
        (
            "0 0 * * L",
            Field::DayOfWeek,
            9,
            "write `6` for Saturday, or `6L` for the last of the month",
        ),
        ("0 0 5L * *", Field::DayOfMonth, 5, "write it in the day of week field"),
        ("0 0 * * 15W", Field::DayOfWeek, 9, "write it in the day of month field"),
        ("0 0 L-31 * *", Field::DayOfMonth, 5, "write `L-1` to `L-30`"),
        ("? * * * *", Field::Minute, 1, "write `*`, or leave it alone in a day field"),
        ("0 0 ?/2 * *", Field::DayOfMonth, 5, "write `*`, or leave it alone in a day field"),
        ("0 0 30 2 *", Field::DayOfMonth, 5, "write `L` for the last day of the month"),
        ("0 0 31 4,6,9,11 *", Field::DayOfMonth, 5, "write `L` for the last day of the month"),
        (
            "0 0 0 29 2 ? 2025-2027",
            Field::DayOfMonth,
            7,
            "choose days that the named months and years have",
        ),
        (
            "0 3 * * * /usr/bin/backup --all",
            Field::Line,
            11,
            "write only `0 3 * * *`; a zone stands beside the line, a command in its task",
        ),
        (
            "0 3 * * * root backup",
            Field::Line,
            11,
            "write only `0 3 * * *`; a zone stands beside the line, a command in its task",
        ),
        (
            "0 3 * * * Europe/Berlin",
            Field::Line,
            11,
            "write only `0 3 * * *`; a zone stands beside the line, a command in its task",
        ),
        (
            "CRON_TZ=UTC 0 3 * * *",
            Field::Line,
            1,
            "give it beside the line, as `tz = \"Europe/Berlin\"` or `--tz Europe/Berlin`",
        ),
        ("@reboot", Field::Line, 1, "enqueue the job when the process starts"),
        ("@every 5m", Field::Line, 1, "write `every = \"5m\"` in place of the line"),
        ("@dayly", Field::Line, 1, "did you mean `@daily`?"),
        ("@daily x", Field::Line, 8, "write `@daily` alone"),
        (
            "0 0 * *",
            Field::Line,
            7,
            "write 5 (minute, hour, day of month, month, day of week), 6 (a second first) or 7 (a year last)",
        ),
        ("", Field::Line, 1, "write 5 fields: minute, hour, day of month, month, day of week"),
        ("0 9–17 * * *", Field::Line, 4, "write `-`"),
        ("0 0 * * *\n0 1 * * *", Field::Line, 10, "give each line by itself"),
    ];
    for (line, field, column, mend) in refusals {
        let error = refused(line);
        assert_eq!(
            (error.field, error.column, error.mend.as_str()),
            (field, column, mend),
            "{line:?}: {error}"
        );
        assert!(!error.reason.is_empty(), "{line:?}");
    }
}

#[test]
fn a_step_over_the_span_offers_an_interval() {
    let error = refused("*/90 * * * *");
    assert!(error.mend.contains("every = \"90m\""), "{error}");
    assert!(error.reason.contains("longer than the span from 0 to 59"), "{error}");
    for line in [
        "*/60 * * * *",
        "0 */24 * * *",
        "0 0 */31 * *",
        "0 0 1 */12 *",
        "0 0 * * */7",
        "10-20/11 * * * *",
    ] {
        assert!(refused(line).reason.contains("longer than the span"), "{line}");
    }
    for line in [
        "*/59 * * * *",
        "0 */23 * * *",
        "0 0 */30 * *",
        "0 0 1 */11 *",
        "0 0 * * */6",
        "10-20/10 * * * *",
        "5-5/1 * * * *",
    ] {
        read(line);
    }
}

#[test]
fn a_too_long_line_is_refused() {
    let long = vec!["1"; 600].join(",");
    let error = refused(&format!("{long} * * * *"));
    assert_eq!(error.field, Field::Line);
    assert!(error.mend.contains("1024"), "{error}");
}

#[test]
fn a_star_in_front_of_second_minute_or_hour_makes_an_interval() {
    for line in [
        "*/5 0 * * *",
        "0 * * * *",
        "0 */2 * * *",
        "* 0 0 * * *",
        "@hourly",
        "*/30,5 1 * * *",
    ] {
        assert_eq!(read(line).kind(), Kind::Interval, "{line}");
    }
    for line in ["0 0 * * *", "0-59 0-23 * * *", "5/5 1 * * *", "@daily", "0,30 1,2 * * *"] {
        assert_eq!(read(line).kind(), Kind::Fixed, "{line}");
    }
}

#[test]
fn words_say_when() {
    let words = [
        ("*/5 * * * *", "every 5 minutes"),
        ("* * * * *", "every minute"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("* * * * * *", "every second"),
        ("0 * * * *", "every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("15 */2 * * *", "at minute 15 of every 2nd hour"),
        ("5 * * * *", "at minute 5 of every hour"),
        ("* 0 * * *", "every minute of hour 0"),
        ("*/15 9-17 * * 1-5", "every 15 minutes of hours 9 to 17 on Monday to Friday"),
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("30 * * * * *", "at second 30 of every minute"),
        ("0 8-18 * * *", "at minute 0 of hours 8 to 18"),
        ("0 3 * * *", "at 03:00 every day"),
        ("15 30 3 * * *", "at 03:30:15 every day"),
        ("0,30 2,14 * * *", "at 02:00, 02:30, 14:00 and 14:30 every day"),
        ("0 0 * * 0", "at 00:00 on Sunday"),
        ("0 0 * * 5-7", "at 00:00 on Friday to Sunday"),
        ("0 0 1 1 *", "at 00:00 on day 1 of the month in January"),
        (
            "0 0 L,15W * *",
            "at 00:00 on the last day and the weekday nearest to day 15 of the month",
        ),
        (
            "0 0 L-3,LW 6-8 *",
            "at 00:00 on the 3rd day before the last and the last weekday of the month in June to August",
        ),
        (
            "0 0 * * 5#2,1L",
            "at 00:00 on the last Monday of the month and the second Friday of the month",
        ),
        ("0 0 */2 * 1", "at 00:00 on every 2nd day from day 1 of the month when it is Monday"),
        ("0 0 13 * 5", "at 00:00 on day 13 of the month or on Friday"),
        ("0 0 1-31 * 5", "at 00:00 every day"),
        ("0 0 0 1 6 ? 2027,2029", "at 00:00 on day 1 of the month in June in 2027 and 2029"),
    ];
    for (line, expected) in words {
        assert_eq!(read(line).words(), expected, "{line}");
    }
}

#[test]
fn warnings_say_what_people_rarely_mean() {
    let warned = [
        ("* 0 * * *", Field::Minute, "runs 60 times in each chosen hour"),
        ("* 5 * * * *", Field::Second, "runs 60 times in each chosen minute"),
        ("*/7 * * * *", Field::Minute, "from 56 to 0 the step is 4, not 7"),
        ("0 */5 * * *", Field::Hour, "from 20 to 0 the step is 4, not 5"),
        ("0 0 */2 * *", Field::DayOfMonth, "starts anew at day 1"),
        ("0 0 * * */2", Field::DayOfWeek, "from 6 to 0 the step is 1, not 2"),
        (
            "0 0 31 * *",
            Field::DayOfMonth,
            "day 31 does not come in February, April, June, September, November",
        ),
        ("0 0 29 * *", Field::DayOfMonth, "leap years only"),
        ("0 0 13 * 5", Field::DayOfWeek, "either"),
    ];
    for (line, field, text) in warned {
        let warnings = read(line).warnings();
        let found = warnings.iter().any(|warning| warning.field == field && warning.text.contains(text));
        assert!(found, "{line}: {warnings:?}");
    }
    for line in [
        "*/5 * * * *",
        "0 3 * * *",
        "0 */2 * * 1-5",
        "* * * * *",
        "* 9-17 1 1 *",
        "0 0 31 1,3 *",
        "0 0 L * *",
        "0 0 1-31 * *",
    ] {
        let expected = usize::from(line.starts_with("* 9"));
        assert_eq!(read(line).warnings().len(), expected, "{line}: {:?}", read(line).warnings());
    }
}
