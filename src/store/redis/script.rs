//! The scripts: each assembled by name from fragments, known to the server by its digest.

use std::borrow::Cow;

/// A script of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Turn,
    Enqueue,
    Renew,
    Surrender,
    Cancel,
    Delete,
    Retry,
    Acquire,
    Ask,
    Release,
    GiveUp,
    Keep,
    RenewHolds,
    Break,
    Watch,
    View,
    Register,
    Heartbeat,
    Pause,
    Census,
    Page,
    TaskNames,
    Circumstances,
    Locks,
    Queues,
    Workers,
    Schedules,
    Step,
    Apply,
    Value,
    Advance,
}

macro_rules! lua {
    ($($name:literal)*) => { [$(include_str!(concat!("lua/", $name, ".lua"))),*].as_slice() };
}

impl Name {
    const ALL: [Name; 31] = [
        Name::Turn,
        Name::Enqueue,
        Name::Renew,
        Name::Surrender,
        Name::Cancel,
        Name::Delete,
        Name::Retry,
        Name::Acquire,
        Name::Ask,
        Name::Release,
        Name::GiveUp,
        Name::Keep,
        Name::RenewHolds,
        Name::Break,
        Name::Watch,
        Name::View,
        Name::Register,
        Name::Heartbeat,
        Name::Pause,
        Name::Census,
        Name::Page,
        Name::TaskNames,
        Name::Circumstances,
        Name::Locks,
        Name::Queues,
        Name::Workers,
        Name::Schedules,
        Name::Step,
        Name::Apply,
        Name::Value,
        Name::Advance,
    ];

    /// The file that names the script.
    fn file(self) -> &'static str {
        match self {
            Name::Turn => "turn",
            Name::Enqueue => "enqueue",
            Name::Renew => "renew",
            Name::Surrender => "surrender",
            Name::Cancel => "cancel",
            Name::Delete => "delete",
            Name::Retry => "retry",
            Name::Acquire => "acquire",
            Name::Ask => "ask",
            Name::Release => "release",
            Name::GiveUp => "give_up",
            Name::Keep => "keep",
            Name::RenewHolds => "renew_holds",
            Name::Break => "break",
            Name::Watch => "watch",
            Name::View => "view",
            Name::Register => "register",
            Name::Heartbeat => "heartbeat",
            Name::Pause => "pause",
            Name::Census => "census",
            Name::Page => "page",
            Name::TaskNames => "task_names",
            Name::Circumstances => "circumstances",
            Name::Locks => "locks",
            Name::Queues => "queues",
            Name::Workers => "workers",
            Name::Schedules => "schedules",
            Name::Step => "step",
            Name::Apply => "apply",
            Name::Value => "value",
            Name::Advance => "advance",
        }
    }

    /// The fragments after the prelude and the clock, the script itself last.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Name::Turn => {
                lua!["unlock" "lazy_open" "formats" "claim_of" "tries" "ends" "back" "clients" "free" "reap" "sweep" "check" "look" "lone" "accept" "effects" "ride" "lazy_close" "settle" "claim" "replay" "turn"]
            }
            Name::Enqueue => lua!["enqueue_plain" "formats" "accept" "enqueue"],
            Name::Renew => lua!["formats" "tries" "ends" "back" "clients" "unlock" "free" "renew"],
            Name::Surrender => {
                lua!["unlock" "lazy_open" "formats" "claim_of" "tries" "ends" "back" "clients" "free" "reap" "sweep" "check" "look" "lone" "accept" "effects" "ride" "lazy_close" "settle" "surrender"]
            }
            Name::Cancel => lua!["formats" "tries" "ends" "clients" "unlock" "free" "leave" "cancel"],
            Name::Delete => lua!["formats" "tries" "ends" "clients" "unlock" "free" "leave" "delete"],
            Name::Retry => lua!["formats" "tries" "ends" "clients" "unlock" "free" "leave" "retry"],
            Name::Acquire => lua!["take" "acquire"],
            Name::Ask => lua!["take" "formats" "clients" "unlock" "free" "check" "ask"],
            Name::Release => lua!["unlock" "let_go" "formats" "clients" "free" "release"],
            Name::GiveUp => lua!["formats" "clients" "unlock" "free" "give_up"],
            Name::Keep => lua!["unlock" "keep"],
            Name::RenewHolds => lua!["renew_holds"],
            Name::Break => lua!["formats" "claim_of" "lock_row" "clients" "unlock" "free" "break"],
            Name::Watch => lua!["watch"],
            Name::View => lua!["formats" "instant" "progress" "view"],
            Name::Register => lua!["register"],
            Name::Heartbeat => lua!["heartbeat"],
            Name::Pause => lua!["formats" "pause"],
            Name::Census => lua!["formats" "census"],
            Name::Page => lua!["formats" "instant" "page"],
            Name::TaskNames => lua!["task_names"],
            Name::Circumstances => lua!["formats" "instant" "progress" "claim_of" "lock_row" "circumstances"],
            Name::Locks => lua!["formats" "claim_of" "lock_row" "locks"],
            Name::Queues => lua!["formats" "queues"],
            Name::Workers => lua!["workers"],
            Name::Schedules => lua!["job_lives" "schedules"],
            Name::Step => lua!["formats" "accept" "job_lives" "step" "enqueue"],
            Name::Apply => lua!["effects" "apply"],
            Name::Value => lua!["value"],
            Name::Advance => lua!["advance"],
        }
    }
}

/// A script's text and digest.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) name: Name,
    pub(super) source: String,
    pub(super) sha: String,
}

/// All scripts of one store.
#[derive(Debug)]
pub(super) struct Scripts(Vec<Script>);

impl Scripts {
    /// Assembles them for one namespace's `prefix`.
    ///
    /// The prefix is written into the text (see [`fold`]): a namespace is letters, digits, `_`, `.` and `-` by its type, so it cannot
    /// leave the string it stands in.
    pub(super) fn assemble(prefix: &str, setup: Setup) -> Self {
        let clock = if setup.test_clock {
            include_str!("lua/now_test.lua")
        } else {
            include_str!("lua/now.lua")
        };
        let scripts = Name::ALL.iter().map(|name| {
            let parts = [include_str!("lua/prelude.lua"), clock]
                .into_iter()
                .chain(name.parts().iter().copied());
            let source: String = parts.map(|part| fold(&text_of(part), prefix, setup)).collect();
            let sha = redis::Script::new(&source).get_hash().to_owned();
            Script { name: *name, source, sha }
        });
        Self(scripts.collect())
    }

    pub(super) fn list(&self) -> Vec<(&'static str, String)> {
        self.0.iter().map(|script| (script.name.file(), script.sha.clone())).collect()
    }

    pub(super) fn script(&self, name: Name) -> &Script {
        // ALL lists the variants in their order; the test below holds it
        &self.0[name as usize]
    }
}

/// A fragment as it is used.
fn text_of(part: &'static str) -> Cow<'static, str> {
    #[cfg(feature = "mutants")]
    return super::mutants::mutated(part);
    #[cfg(not(feature = "mutants"))]
    Cow::Borrowed(part)
}

/// What scripts differ in beside their namespace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setup {
    /// A clock that tests move, instead of the server's.
    pub(super) test_clock: bool,
    /// Waiters of Redisson are told of unlocked locks.
    pub(super) redisson: bool,
}

/// Names of keys that fragments write as constants.
const KEYS: [(&str, &str); 19] = [
    ("JOBS", "jobs"),
    ("BODIES", "bodies"),
    ("OWN", "owners"),
    ("PLACES", "places"),
    ("TRIES", "tries"),
    ("STATE", "state"),
    ("ACTIVE", "active"),
    ("CLAIMS", "claims"),
    ("SCHED", "scheduled"),
    ("DEAD", "dead"),
    ("LC", "lock_checks"),
    ("NEXT", "next"),
    ("WAITS", "waits"),
    ("CANCELS", "cancels"),
    ("WATCHED", "watched"),
    ("PAUSED", "paused"),
    ("WAITING", "waiting"),
    ("BROKEN", "broken"),
    ("SCHEDULES", "schedules"),
];

/// Length of a written job id, the constant `L` of the fragments.
const ID_LEN: &str = "22";

/// Drops comments and indentation and writes the constants into a fragment: whole words only, and none inside a string.
fn fold(fragment: &str, prefix: &str, setup: Setup) -> String {
    let mut out = String::with_capacity(fragment.len());
    for line in fragment.lines() {
        let before = out.len();
        fold_line(line.trim_start(), prefix, setup, &mut out);
        out.truncate(out.trim_end().len().max(before));
        if out.len() > before {
            out.push('\n');
        }
    }
    out
}

fn fold_line(line: &str, prefix: &str, setup: Setup, out: &mut String) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = line;
    let mut quoted = false;
    while let Some(first) = rest.chars().next() {
        if !quoted && rest.starts_with("--") {
            return;
        }
        quoted ^= first == '\'';
        if quoted || !is_word(first) {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, tail) = rest.split_at(rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()));
        rest = tail;
        if let Some((_, key)) = KEYS.iter().find(|(name, _)| *name == word) {
            out.push_str(&format!("'{prefix}{key}'"));
        } else if word == "L" {
            out.push_str(ID_LEN);
        } else if word == "REDISSON" {
            out.push_str(if setup.redisson { "true" } else { "false" });
        } else if let ("int", Some(tail)) = (word, rest.strip_prefix('(')) {
            out.push_str("fmt('%d',");
            rest = tail;
        } else if let ("P", Some(tail)) = (word, rest.strip_prefix("..'")) {
            // the string goes on after the prefix
            out.push('\'');
            out.push_str(prefix);
            rest = tail;
            quoted = true;
        } else {
            out.push_str(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_found_under_its_own_name() {
        let scripts = Scripts::assemble("{a}:", Setup::default());
        for name in Name::ALL {
            assert_eq!(scripts.script(name).name, name);
        }
    }

    /// Producers in other languages send this file. After a change of the script: raise the protocol's version if its arguments or answers
    /// changed, then run this test once with `LINCHPIN_WRITE=1`, which writes the file.
    #[test]
    fn the_documented_enqueue_script_is_the_one_in_use() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/enqueue.lua");
        let scripts = Scripts::assemble("{linchpin}:", Setup::default());
        let source = &scripts.script(Name::Enqueue).source;
        if std::env::var_os("LINCHPIN_WRITE").is_some() {
            std::fs::write(path, source).expect("the repository's own file");
        }
        let documented = std::fs::read_to_string(path).expect("the repository's own file");
        assert!(
            documented == *source,
            "docs/enqueue.lua is not the script in use: see this test's comment"
        );
    }

    #[test]
    fn the_test_clock_changes_the_digest() {
        let (real, test) = (
            Scripts::assemble("{a}:", Setup::default()),
            Scripts::assemble(
                "{a}:",
                Setup {
                    test_clock: true,
                    ..Setup::default()
                },
            ),
        );
        assert_ne!(real.script(Name::Turn).sha, test.script(Name::Turn).sha);
    }

    #[test]
    fn constants_are_written_into_code_and_not_into_strings() {
        let folded = fold(
            "-- JOBS\n  call('HGET',JOBS,id); x=P..'queue:'..q..L; s='-- JOBS '..int(x+L)..FULL  -- it's JOBS\n\n",
            "{n}:",
            Setup::default(),
        );
        assert_eq!(
            folded,
            "call('HGET','{n}:jobs',id); x='{n}:queue:'..q..22; s='-- JOBS '..fmt('%d',x+22)..FULL\n"
        );
    }
}
