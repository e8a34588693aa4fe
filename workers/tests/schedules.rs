//! `linchpin schedules`, and `[[schedules]]` of three workers with one configuration.

#[allow(dead_code)]
mod shop;

use shop::{Shop, linchpin, text, until};

const TASKS: &str = r#"
[tasks.report]
exec = ["/bin/sh", "-c", "echo $1 >> DIR/reports", "sh", "{shop}"]
args = { shop = "string" }
env = ["PATH"]

[[schedules]]
name = "nightly"
cron = "30 2 * * mon-fri"
tz = "Europe/Berlin"
task = "report"
args = { shop = "north" }

[[schedules]]
name = "pulse"
every = "1s"
task = "report"
args = { shop = "south" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_of_a_configuration_tick_and_are_changed_from_the_command_line() {
    let shop = Shop::open(TASKS).await;
    let store = shop.server.url();
    let run = |words: &[&str]| {
        let output = linchpin(&[&["schedules"], words, &["--store", &store]].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    until("two ticks", async || {
        std::fs::read_to_string(shop.path("reports")).is_ok_and(|text| text.lines().count() >= 2)
    })
    .await;
    let (code, list, _) = run(&["list"]);
    assert!(
        code == Some(0) && list.contains("nightly") && list.contains("30 2 * * mon-fri Europe/Berlin"),
        "{list}"
    );
    let (_, shown, _) = run(&["show", "pulse"]);
    assert!(shown.contains("schedule pulse: ticking") && shown.contains("fired"), "{shown}");
    let (_, next, _) = run(&["next", "nightly", "-n", "3", "--json"]);
    let next: serde_json::Value = serde_json::from_str(&next).expect("JSON");
    assert_eq!(next.as_array().map(Vec::len), Some(3));
    assert!(
        next[0]["local"].as_str().is_some_and(|local| local.contains("T02:30:00+0")),
        "{next}"
    );

    let (code, first, _) = run(&["run", "nightly", "--key", "today"]);
    assert_eq!(code, Some(0));
    let (code, again, _) = run(&["run", "nightly", "--key", "today"]);
    assert!(code == Some(0) && again.starts_with(first.trim()), "{first} {again}");
    until("the run by hand", async || {
        std::fs::read_to_string(shop.path("reports")).is_ok_and(|text| text.lines().any(|line| line == "north"))
    })
    .await;

    assert_eq!(run(&["pause", "pulse"]), (Some(0), "schedule pulse paused\n".into(), String::new()));
    let (_, list, _) = run(&["list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!((&list[1]["name"], &list[1]["state"]), (&"pulse".into(), &"paused".into()));
    assert_eq!(run(&["resume", "pulse"]).0, Some(0));
    let (code, filled, error) = run(&["backfill", "nightly", "2026-03-27T00:00:00Z", "2026-03-31T00:00:00Z"]);
    assert!(code == Some(0) && filled.lines().count() == 3, "{filled}{error}");
    assert_eq!(
        run(&["backfill", "nightly", "2026-03-31T00:00:00Z", "2026-03-27T00:00:00Z"]).0,
        Some(2)
    );
    assert_eq!(run(&["delete", "pulse"]).0, Some(0));
    let (code, _, error) = run(&["delete", "pulse"]);
    assert!(code == Some(1) && error.contains("linchpin schedules list"), "{error}");
}

#[test]
fn a_schedule_of_a_task_that_is_not_there_or_takes_others_is_refused_at_the_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("config.toml");
    let head = "[store]\nurl = \"memory://\"\n[tasks.report]\nexec = [\"/bin/true\"]\nargs = { shop = \"string\" }\n[[schedules]]\nname = \"n\"\nevery = \"1h\"\n";
    for (rest, said) in [
        ("task = \"reprot\"\n", "the nearest is `report`"),
        ("task = \"report\"\n", "\"shop\": it is missing"),
        ("task = \"report\"\nargs = { shop = 5 }\n", "a number is no string"),
    ] {
        std::fs::write(&path, format!("{head}{rest}")).expect("a file");
        let output = linchpin(&["work", "--config", path.to_str().expect("a path")]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said) && error.contains("(schedule `n`)"), "{error}");
    }
}
