//! Each row of `vectors.tsv`: a line, a zone, an instant, and the three ticks after it.

use linchpin::schedule::{Cron, Zone};

use crate::instant;

const VECTORS: &str = include_str!("vectors.tsv");

/// `2026-01-01 00:00` in UTC.
fn minute(text: &str) -> chrono::DateTime<chrono::Utc> {
    instant(&format!("{}:00Z", text.trim().replace(' ', "T")))
}

#[test]
fn every_vector_holds() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for row in VECTORS.lines().skip(1).filter(|row| !row.is_empty()) {
        rows += 1;
        let columns: Vec<&str> = row.split('\t').collect();
        let [id, line, zone, start, expected, ..] = columns[..] else {
            panic!("{row:?}: five columns and a note")
        };
        let zone = Zone::parse(zone).expect(row);
        let found = match Cron::parse(line) {
            Err(_) => "rejected".to_owned(),
            Ok(cron) => {
                let mut after = minute(start);
                let mut ticks = Vec::new();
                while ticks.len() < 3 {
                    match cron.next_after(after, zone) {
                        Ok(tick) => {
                            let at = tick.at.format("%Y-%m-%d %H:%M:%S").to_string();
                            ticks.push(at.strip_suffix(":00").unwrap_or(&at).to_owned());
                            after = tick.at;
                        }
                        Err(_) => {
                            ticks.push("end".to_owned());
                            break;
                        }
                    }
                }
                ticks.join(" | ")
            }
        };
        if found != expected {
            wrong.push(format!("{id} {line:?} in {zone}: expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(rows, 33, "rows of vectors.tsv");
}
