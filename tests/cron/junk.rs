//! Whatever is written, it is read or refused: no panic, and what is read has ticks or an end.

use std::hint::black_box;
use std::time::{Duration, Instant};

use linchpin::schedule::{Cron, Zone};

use crate::{Dice, expressions, full, instant};

const CHARACTERS: &[u8] = b"0123456789***//,,--??LW##@ \t      abcdefghijlmnoprstuvyJANSUNMON=%.\n";

/// Some junk: characters at random, or a good line with some of them changed.
fn junk(dice: &mut Dice) -> String {
    let mut text: Vec<char> = match dice.below(3) {
        0 => Vec::new(),
        _ => expressions::random(dice).0.chars().collect(),
    };
    let character = |dice: &mut Dice| match dice.below(60) {
        0 => char::from_u32(dice.below(0x3000)).unwrap_or('\u{fffd}'),
        _ => char::from(CHARACTERS[dice.below(CHARACTERS.len() as u32) as usize]),
    };
    if text.is_empty() {
        let length = dice.below(48);
        return (0..length).map(|_| character(dice)).collect();
    }
    for _ in 0..dice.below(4) {
        let at = dice.below(text.len() as u32 + 1) as usize;
        match dice.below(3) {
            0 if at < text.len() => text[at] = character(dice),
            1 if at < text.len() => drop(text.remove(at)),
            _ => text.insert(at, character(dice)),
        }
    }
    text.into_iter().collect()
}

/// How long reading and the first tick take: the least of a few times, so that what else the machine does is left out.
fn time(line: &str, zone: Zone) -> Duration {
    let start = instant("2026-03-08T04:59:59Z");
    let timed = (0..3).map(|_| {
        let began = Instant::now();
        let _ = black_box(Cron::parse(line).map(|cron| cron.next_after(start, zone)));
        began.elapsed()
    });
    timed.min().unwrap_or_default()
}

#[test]
fn junk_is_read_or_refused_and_what_is_read_is_finite() {
    let count = if full() { 400_000 } else { 4_000 };
    let zone = Zone::parse("America/Havana").expect("a zone");
    let start = instant("2026-03-08T04:59:59Z");
    let mut read = 0;
    let mut longest = (Duration::ZERO, String::new());
    for seed in 0..count {
        let line = junk(&mut Dice(seed));
        let parsed = Cron::parse(&line);
        longest = longest.max((time(&line, zone), line.clone()));
        let cron = match parsed {
            Ok(cron) => cron,
            Err(error) => {
                assert!(!error.reason.is_empty() && !error.mend.is_empty(), "seed {seed}: {line:?}");
                assert!(
                    (1..=line.chars().count() + 1).contains(&error.column),
                    "seed {seed}: {line:?}: {error}"
                );
                continue;
            }
        };
        read += 1;
        let canonical = cron.to_string();
        let again = Cron::parse(&canonical).unwrap_or_else(|error| panic!("seed {seed}: {line:?} as {canonical:?}: {error}"));
        assert_eq!((&again, again.to_string()), (&cron, canonical), "seed {seed}: {line:?}");
        assert!(!cron.words().is_empty(), "seed {seed}: {line:?}");
        cron.warnings(start, zone);
        let mut after = start;
        for tick in cron.ticks(start, zone).take(3) {
            assert!(tick.at > after, "seed {seed}: {line:?}: {tick:?} after {after}");
            after = tick.at;
        }
    }
    println!(
        "{read} of {count} were read; reading and the first tick took {:?} at most: {}",
        longest.0, longest.1
    );
    assert!(
        read > count / 20,
        "only {read} of {count} were read: the junk is too wild to test what comes after reading"
    );
}
