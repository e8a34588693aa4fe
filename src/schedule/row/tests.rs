//! The policies, tick by tick.

use super::*;
use crate::schedule::Schedule;

const MINUTE: i64 = 60;
/// A whole minute.
const START: i64 = 1_800_000_000;

fn me() -> ProcessId {
    ProcessId::random()
}

fn name() -> ScheduleName {
    ScheduleName::new("s").expect("a name")
}

/// A schedule of every minute that was first seen at [`START`].
fn row(set: impl FnOnce(Schedule) -> Schedule) -> Row {
    let schedule = Schedule::every("s", "1m").task("t", serde_json::Map::new());
    let (_, definition) = set(schedule).check().expect("right");
    Row::first(definition, false, 1, ms(START))
}

fn ms(second: i64) -> u64 {
    second as u64 * 1000
}

fn plan(row: &Row, at: i64, lives: bool) -> Plan {
    row.plan(&name(), ms(at), lives, &me())
}

fn step(row: &Row, at: i64, lives: bool) -> Change {
    match plan(row, at, lives) {
        Plan::Step(change) => *change,
        wait => panic!("{wait:?}"),
    }
}

fn fired(change: &Change) -> Vec<(i64, u64)> {
    change.fire.iter().map(|due| ((due.at - START) / MINUTE, due.missed)).collect()
}

#[test]
fn nothing_is_done_before_the_first_tick_after_it_was_seen() {
    let row = row(|schedule| schedule);
    assert_eq!(plan(&row, START, false), Plan::Wait(Some(ms(START + MINUTE))));
    assert_eq!(plan(&row, START + 59, false), Plan::Wait(Some(ms(START + MINUTE))));
    let change = step(&row, START + MINUTE, false);
    assert_eq!(fired(&change), [(1, 0)]);
    assert_eq!((change.from, change.before), (ms(START + MINUTE), Some(ms(START + 2 * MINUTE))));
    assert_eq!((change.row.next, change.previous_lives), (Some(START + 2 * MINUTE), Some(false)));
}

#[test]
fn of_missed_ticks_one_fires_and_learns_how_many_there_were() {
    let change = step(&row(|schedule| schedule), START + 5 * MINUTE + 10, false);
    assert_eq!(fired(&change), [(5, 4)]);
    assert_eq!((change.row.counts.misfire, change.row.next), (4, Some(START + 6 * MINUTE)));
}

#[test]
fn a_schedule_that_skips_missed_ticks_still_fires_one_that_is_hardly_late() {
    let skip = row(|schedule| schedule.missed(Missed::Skip));
    assert_eq!(fired(&step(&skip, START + 5 * MINUTE + 10, false)), [(5, 4)]);
    let hourly = Schedule::every("s", "1h").task("t", serde_json::Map::new()).missed(Missed::Skip);
    let hourly = Row::first(hourly.check().expect("right").1, false, 1, ms(START));
    let tick = hourly.next.expect("a tick");
    let change = step(&hourly, tick + 61, false);
    assert_eq!((change.fire.len(), change.row.counts.misfire), (0, 1));
    assert_eq!(step(&hourly, tick + 60, false).fire.len(), 1);
}

#[test]
fn all_missed_ticks_fire_up_to_the_limit_and_the_oldest_are_dropped() {
    let all = row(|schedule| schedule.missed(Missed::FireAll { limit: 3 }).overlap(Overlap::Allow));
    let change = step(&all, START + 5 * MINUTE, false);
    assert_eq!(fired(&change), [(3, 2), (4, 0), (5, 0)]);
    assert_eq!(change.row.counts.dropped, 2);
    assert_eq!(change.previous_lives, None, "nobody asks");
}

#[test]
fn ticks_outside_the_window_are_skipped_whatever_the_policy_says() {
    let window = Duration::from_secs(120);
    let all = row(|schedule| {
        schedule
            .missed(Missed::FireAll { limit: 100 })
            .overlap(Overlap::Allow)
            .catchup_window(window)
    });
    let change = step(&all, START + 10 * MINUTE, false);
    assert_eq!(fired(&change), [(8, 7), (9, 0), (10, 0)]);
    assert_eq!(change.row.counts.misfire, 7);
}

#[test]
fn after_more_missed_ticks_than_anybody_counts_it_goes_on() {
    let second = Schedule::every("s", "1s").task("t", serde_json::Map::new());
    let row = Row::first(second.check().expect("right").1, false, 1, ms(START));
    let late = START + 10 * 86_400;
    let change = step(&row, late, false);
    assert_eq!(change.row.next, Some(late + 1));
    let after = change.row;
    assert_eq!(step(&after, late + 1, false).fire.len(), 1);
}

#[test]
fn while_the_job_before_lives_a_tick_is_skipped_and_recorded() {
    let change = step(&row(|schedule| schedule), START + MINUTE, true);
    assert_eq!((fired(&change), change.previous_lives), (vec![], Some(true)));
    assert_eq!((change.row.counts.overlap, change.row.next), (1, Some(START + 2 * MINUTE)));
    assert_eq!(change.row.past.back().map(|outcome| outcome.fate), Some(Fate::Overlap));
}

#[test]
fn one_tick_waits_for_the_job_before_and_starts_when_that_has_ended() {
    let one = row(|schedule| schedule.overlap(Overlap::QueueOne));
    let first = step(&one, START + MINUTE, true).row;
    assert_eq!((first.waiting.len(), first.counts.overlap), (1, 0));
    let second = step(&first, START + 2 * MINUTE, true).row;
    assert_eq!((second.waiting.len(), second.counts.overlap), (1, 1));
    assert_eq!(
        plan(&second, START + 2 * MINUTE + 1, true),
        Plan::Wait(Some(ms(START + 2 * MINUTE + 2)))
    );
    let change = step(&second, START + 2 * MINUTE + 1, false);
    assert_eq!((fired(&change), change.previous_lives), (vec![(1, 0)], Some(false)));
    assert!(change.row.waiting.is_empty());
}

#[test]
fn a_line_of_ticks_is_served_one_after_the_other_and_bounded() {
    let line = row(|schedule| schedule.overlap(Overlap::QueueAll { limit: 2 }));
    let mut at = line;
    for minute in 1..=3 {
        at = step(&at, START + minute * MINUTE, true).row;
    }
    assert_eq!((at.waiting.len(), at.counts.dropped), (2, 1));
    let change = step(&at, START + 3 * MINUTE + 1, false);
    assert_eq!((fired(&change), change.row.waiting.len()), (vec![(1, 0)], 1));
    // a tick that comes due at that moment goes to the end of the line
    let change = step(&at, START + 4 * MINUTE, false);
    assert_eq!((fired(&change), change.row.waiting.len()), (vec![(1, 0)], 2));
}

#[test]
fn a_tick_replaces_the_job_before_it() {
    let replace = row(|schedule| schedule.overlap(Overlap::Replace));
    let first = step(&replace, START + MINUTE, true);
    assert!(first.row.replaces() && first.fire.is_empty() && first.row.waiting.len() == 1);
    let second = step(&first.row, START + 2 * MINUTE, true);
    assert_eq!((second.row.counts.overlap, second.row.waiting[0].at), (1, START + 2 * MINUTE));
    assert_eq!(fired(&step(&second.row, START + 2 * MINUTE + 1, false)), [(2, 0)]);
    let free = step(&replace, START + MINUTE, false);
    assert!(!free.row.replaces() && free.fire.len() == 1);
}

#[test]
fn a_paused_schedule_records_its_ticks_and_starts_nothing() {
    let mut paused = row(|schedule| schedule.overlap(Overlap::QueueOne));
    paused = step(&paused, START + MINUTE, true).row;
    paused.paused = true;
    let change = step(&paused, START + 3 * MINUTE, false);
    assert_eq!((change.fire.len(), change.row.counts.paused, change.row.waiting.len()), (0, 2, 1));
    assert_eq!(
        plan(&change.row, START + 3 * MINUTE, false),
        Plan::Wait(Some(ms(START + 4 * MINUTE)))
    );
}

#[test]
fn what_no_worker_brings_any_more_stops_after_ten_minutes() {
    let mut row = row(|schedule| schedule);
    row.brought = true;
    assert!(matches!(plan(&row, START + 600, false), Plan::Step(_)));
    assert_eq!(plan(&row, START + 601, false), Plan::Wait(None));
    row.seen = ms(START + 300);
    assert!(matches!(plan(&row, START + 601, false), Plan::Step(_)));
}

#[test]
fn an_edit_counts_from_now_and_another_job_leaves_the_next_tick() {
    let row = row(|schedule| schedule);
    let other_task = Schedule::every("s", "1m").task("u", serde_json::Map::new());
    let edited = row.edited(other_task.check().expect("right").1, false, 2, ms(START + 10 * MINUTE));
    assert_eq!(edited.next, row.next, "what is due fires, with the other job");
    let other_time = Schedule::every("s", "7m").task("t", serde_json::Map::new());
    let edited = row.edited(other_time.check().expect("right").1, false, 2, ms(START + 10 * MINUTE));
    assert!(edited.next > Some(START + 10 * MINUTE));
}

#[test]
fn jitter_and_spread_are_the_same_everywhere_and_bounded() {
    let up_to = Duration::from_secs(10);
    let jittered = row(|schedule| schedule.jitter(up_to).spread(up_to)).definition;
    let late = |tick: i64| jittered.fires_at(&name(), tick) - ms(tick);
    let all: Vec<u64> = (1..100).map(|minute| late(START + minute * MINUTE)).collect();
    assert!(all.iter().all(|late| *late <= 20_000) && all.iter().min() != all.iter().max());
    assert_eq!(late(START), late(START));
}

#[test]
fn a_row_is_read_as_it_was_written() {
    let mut row = row(|schedule| schedule.overlap(Overlap::QueueOne));
    row.note(START, Fate::Fired, 3, Some(JobId::random()), 1);
    let job = JobId::random();
    assert_eq!(Row::read(&row.write(Some(job))), Some((row.clone(), Some(job))));
    assert_eq!(Row::read(&row.write(None)), Some((row, None)));
    assert_eq!(Row::read("foreign"), None);
}

#[test]
fn outcomes_are_bounded_and_all_are_counted() {
    let mut row = row(|schedule| schedule);
    for tick in 0..100 {
        row.note(tick, Fate::Misfire, 0, None, 2);
    }
    assert_eq!((row.past.len(), row.counts.misfire), (OUTCOMES_KEPT, 200));
}
