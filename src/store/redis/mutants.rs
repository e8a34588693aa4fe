//! Scripts with a guard taken out, to prove that `linchpin torture` notices. Only with the feature `mutants`, never in a release.

use std::borrow::Cow;
use std::sync::OnceLock;

/// A line a mutant: its name, the fragment, what stands there, and what stands there instead. `none` changes nothing: the control, a run as
/// short as those of the others, which must be clean. `client_clock` changes no script: its leases end by a clock of the client's.
const MUTANTS: &str = include_str!("lua/mutants.tsv");

struct Mutant {
    name: &'static str,
    with: &'static str,
    without: &'static str,
}

fn all() -> impl Iterator<Item = Mutant> {
    MUTANTS.lines().filter_map(|line| {
        let mut parts = line.split('\t');
        Some(Mutant {
            name: parts.next()?,
            // behind the fragment's file
            with: parts.nth(1)?,
            without: parts.next()?,
        })
    })
}

static CHOSEN: OnceLock<Mutant> = OnceLock::new();

/// Makes every store that this process opens from now on the mutant of this name; `false` where there is none, or one was chosen before.
pub fn mutate(name: &str) -> bool {
    all()
        .find(|mutant| mutant.name == name)
        .is_some_and(|mutant| CHOSEN.set(mutant).is_ok())
}

/// The names of all.
pub fn mutants() -> impl Iterator<Item = &'static str> {
    all().map(|mutant| mutant.name)
}

/// The text of a fragment, as the chosen mutant has it.
pub(super) fn mutated(part: &'static str) -> Cow<'static, str> {
    match CHOSEN.get() {
        Some(mutant) if !mutant.with.is_empty() => part.replace(mutant.with, mutant.without).into(),
        _ => part.into(),
    }
}

/// How far the clock of this process is off, of the mutant whose leases count from it.
pub(super) fn skew_ms() -> i64 {
    match CHOSEN.get() {
        Some(mutant) if mutant.name == "client_clock" => match std::process::id() % 4 {
            0 => 500,
            _ => -1500,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{MUTANTS, all};

    #[test]
    fn each_mutant_changes_its_fragment() {
        assert_eq!(all().count(), 9);
        for (mutant, line) in all().zip(MUTANTS.lines()) {
            let file = line.split('\t').nth(1).expect("a fragment");
            let path = format!("{}/src/store/redis/lua/{file}.lua", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).expect("the repository's own file");
            assert!(text.contains(mutant.with), "{}: {file}.lua has no `{}`", mutant.name, mutant.with);
        }
    }
}
