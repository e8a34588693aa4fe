//! Scripts with a guard taken out, to prove that `linchpin torture` notices. Only with the feature `mutants`, never in a release.

use std::sync::OnceLock;

/// A mutant: its name, the fragment, what stands there, and what stands there instead.
type Mutant = (&'static str, &'static str, &'static str);

const MUTANTS: [(&str, Mutant); 8] = [
    // the control: a run as short as those of the others, which must be clean
    ("none", ("turn", "", "")),
    ("no_owner_check", ("settle", "local good=own[i]==tok", "local good=true")),
    (
        "no_lock_check",
        ("settle", "if not unlock(ls,tok) then good=false end", "unlock(ls,tok)"),
    ),
    ("no_lane_check", ("turn", "if sub(lane,1,#A[3])~=A[3] then", "if false then")),
    ("no_ready_check", ("claim", "not act[i] and", "true and")),
    // a claim that nobody could take back
    (
        "destructive_pop",
        ("claim", "call('ZADD',ACTIVE,int(ms+tonumber(lease)),token)", ""),
    ),
    (
        "renewal_recreates",
        (
            "renew",
            "if good and redis.pcall('HEXISTS',h[1],h[2])~=1 then good=false end",
            "if good then redis.pcall('HSET',h[1],h[2],'1') end",
        ),
    ),
    // the deadline of a claim by a clock of the client's: see `skew_ms`
    ("client_clock", ("turn", "", "")),
];

static CHOSEN: OnceLock<&'static (&'static str, Mutant)> = OnceLock::new();

/// Makes every store that this process opens from now on the mutant of this name; `false` where there is none.
pub fn mutate(name: &str) -> bool {
    match MUTANTS.iter().find(|(known, _)| *known == name) {
        Some(mutant) => CHOSEN.set(mutant).is_ok(),
        None => false,
    }
}

/// The names of all.
pub fn mutants() -> impl Iterator<Item = &'static str> {
    MUTANTS.iter().map(|(name, _)| *name)
}

/// The text of a fragment, as the chosen mutant has it.
pub(super) fn mutated(part: &str) -> String {
    match CHOSEN.get() {
        Some((_, (_, with, without))) if !with.is_empty() => part.replace(with, without),
        _ => part.to_owned(),
    }
}

/// How far the clock of this process would be off, of the mutant whose leases count from it.
pub(super) fn skew_ms() -> i64 {
    match CHOSEN.get() {
        Some((name, _)) if *name == "client_clock" => i64::from(std::process::id() % 5) * 500 - 1200,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::MUTANTS;

    #[test]
    fn each_mutant_changes_its_fragment() {
        for (name, (file, with, _)) in MUTANTS {
            let path = format!("{}/src/store/redis/lua/{file}.lua", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).expect("the repository's own file");
            assert!(text.contains(with), "{name}: {file}.lua has no `{with}`");
        }
    }
}
