//! `linchpin cron explain`: words, ticks and mistakes, without a store.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn explain(words: &[&str]) -> Output {
    linchpin(words, "")
}

fn linchpin(words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_linchpin"))
        .args(["cron", "explain"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("standard input");
    stdin.write_all(input.as_bytes()).expect("the binary reads");
    drop(stdin);
    child.wait_with_output().expect("the binary ends")
}

fn json_lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn a_line_is_explained_in_json() {
    let output = explain(&[
        "30 2 * * *",
        "--tz",
        "America/New_York",
        "-n",
        "2",
        "--from",
        "2026-03-07T12:00:00Z",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let expected = json!({
        "expr": "30 2 * * *",
        "tz": "America/New_York",
        "kind": "fixed",
        "words": "at 02:30 every day",
        "next": [
            { "local": "2026-03-08T03:00:00-04:00", "utc": "2026-03-08T07:00:00Z" },
            { "local": "2026-03-09T02:30:00-04:00", "utc": "2026-03-09T06:30:00Z" },
        ],
        "end": false,
        "warnings": ["hour: 02:30 does not exist on 2026-03-08 in America/New_York: it fires at 03:00 instead"],
    });
    assert_eq!(json_lines(&output), [expected]);
}

#[test]
fn a_line_is_explained_to_people() {
    let output = explain(&["30 1 * * *", "--tz", "America/New_York", "-n", "1", "--from", "2026-11-01 04:00"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "at 01:30 every day in America/New_York",
        "fixed",
        "day of month",
        "2026-11-01T05:30:00Z",
        "first pass",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = explain(&["30 2 * * *", "--tz", "Europe/Berlin", "-n", "1", "--from", "2026-03-29"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("02:30:00 is skipped") && text.contains("warning: hour"), "{text}");
}

#[test]
fn the_end_is_said() {
    let words = ["0 0 1 1 *", "--from", "2099-06-01T00:00:00Z"];
    let output = explain(&[&words[..], &["--json"]].concat());
    let found = json_lines(&output);
    assert_eq!(
        (&found[0]["end"], found[0]["next"].as_array().map(Vec::len)),
        (&json!(true), Some(1))
    );
    let output = explain(&words);
    assert!(String::from_utf8_lossy(&output.stdout).contains("no further tick"));
}

#[test]
fn a_wrong_line_is_exit_code_1_with_its_mistake() {
    let output = explain(&["0 22-4 * * *", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = json!({ "error": {
        "field": "hour",
        "column": 3,
        "reason": "the range `22-4` runs backwards",
        "mend": "write `22-23,0-4`",
    }});
    assert_eq!(json_lines(&output), [expected]);
    let output = explain(&["0 22-4 * * *"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("0 22-4 * * *\n  ^\n"), "{error}");
    let output = explain(&["-5 * * * *", "--json"]);
    assert_eq!(json_lines(&output)[0]["error"]["field"], "minute");
}

#[test]
fn a_wrong_zone_or_instant_is_a_mistake_too_and_a_wrong_count_is_usage() {
    let output = explain(&["0 3 * * *", "--tz", "Europe/Berln", "--json"]);
    let error = &json_lines(&output)[0]["error"];
    assert_eq!((output.status.code(), &error["field"]), (Some(1), &json!("tz")));
    assert!(error["mend"].as_str().is_some_and(|mend| mend.contains("Europe/Berlin")), "{error}");
    let output = explain(&["0 3 * * *", "--from", "yesterday", "--json"]);
    assert_eq!(
        (output.status.code(), &json_lines(&output)[0]["error"]["field"]),
        (Some(1), &json!("from"))
    );
    for count in ["0", "1001", "many"] {
        assert_eq!(explain(&["0 3 * * *", "-n", count]).status.code(), Some(2), "{count}");
    }
}

#[test]
fn lines_of_standard_input_are_answered_one_by_one() {
    let long = "1,".repeat(4_000);
    let input = format!("*/5 * * * *\tUTC\t2026-01-01 00:00\n*5 * * * *\n\n{long}\n0 0 * * 0\t\t2026-01-01T00:00:00+00:00\r\n@daily");
    let output = linchpin(&["-", "-n", "1", "--tz", "Europe/Berlin"], &input);
    assert_eq!(output.status.code(), Some(1), "one line is wrong");
    let found = json_lines(&output);
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(found[0]["next"][0]["utc"], "2026-01-01T00:05:00Z");
    assert_eq!(found[1]["error"]["mend"], "write `*/5` for every 5, or `5`");
    assert_eq!(found[2]["error"]["reason"], "the line is empty");
    assert_eq!(found[3]["error"]["field"], "line");
    assert_eq!(
        (&found[4]["tz"], &found[4]["next"][0]["utc"]),
        (&json!("Europe/Berlin"), &json!("2026-01-03T23:00:00Z"))
    );
    assert_eq!(found[5]["words"], "at 00:00 every day");
    assert_eq!(linchpin(&["-"], "@daily\n").status.code(), Some(0));
}
