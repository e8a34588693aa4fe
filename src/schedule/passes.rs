//! From wall-clock times to instants, through gaps and overlaps.

use super::tick::Pass;
use super::zone::{HOUR, OFFSET_MAX, Seconds, Shown, Zone};

/// Changes of the clock are minded so far ahead at a time.
const WINDOW: Seconds = 48 * HOUR;

/// An instant, the wall-clock time it stands for, and what the clock does there.
pub(super) type Found = (Seconds, Seconds, Option<Pass>);

/// Fixed: each named time once, in a gap at its end, in an overlap on the first pass.
///
/// The instant grows with the wall-clock time, so the first named time after everything the clock has shown decides.
pub(super) fn fixed(zone: Zone, after: Seconds, next: impl Fn(Seconds) -> Option<Seconds>) -> Option<Found> {
    let wall = next(shown_so_far(zone, after))?;
    Some(match zone.shown(wall) {
        Shown::Once(at) => (at, wall, None),
        Shown::Never(end) => (end, wall, Some(Pass::AfterGap)),
        Shown::Twice(first, _) => (first, wall, Some(Pass::First)),
    })
}

/// The latest time the clock has shown: on a second pass, the end of the overlap.
fn shown_so_far(zone: Zone, after: Seconds) -> Seconds {
    let wall = zone.wall(after);
    match zone.shown(wall) {
        Shown::Twice(first, second) if second == after => match zone.change(first, after) {
            Some(back) => wall.max(zone.wall(back - 1)),
            None => wall,
        },
        _ => wall,
    }
}

/// Interval: every instant at which the clock shows a named time.
pub(super) fn interval(zone: Zone, after: Seconds, next: impl Fn(Seconds) -> Option<Seconds>) -> Option<Found> {
    let mut at = after;
    let mut shown = zone.wall(at);
    loop {
        let wall = next(shown)?;
        let found = wall - zone.offset(at);
        let until = found.min(at + WINDOW);
        match zone.change(at, until) {
            // Go on with what the clock shows from the change on.
            Some(change) => {
                at = change;
                shown = zone.wall(change) - 1;
            }
            None if found == until => return Some((found, wall, pass(zone, found, wall))),
            // Nothing fires while every clock of the world still shows an earlier time.
            None => {
                at = until.max(wall - OFFSET_MAX);
                shown = zone.wall(at);
            }
        }
    }
}

fn pass(zone: Zone, at: Seconds, wall: Seconds) -> Option<Pass> {
    match zone.shown(wall) {
        Shown::Twice(_, second) if second == at => Some(Pass::Second),
        Shown::Twice(..) => Some(Pass::First),
        _ => None,
    }
}
