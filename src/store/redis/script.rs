//! The scripts: each assembled by name from fragments, known to the server by its digest.

use std::fmt::Write as _;

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
    Release,
    Watch,
    View,
    Register,
    Heartbeat,
    Pause,
    Census,
    Advance,
}

macro_rules! lua {
    ($($name:literal)*) => { [$(include_str!(concat!("lua/", $name, ".lua"))),*].as_slice() };
}

impl Name {
    const ALL: [Name; 16] = [
        Name::Turn,
        Name::Enqueue,
        Name::Renew,
        Name::Surrender,
        Name::Cancel,
        Name::Delete,
        Name::Retry,
        Name::Acquire,
        Name::Release,
        Name::Watch,
        Name::View,
        Name::Register,
        Name::Heartbeat,
        Name::Pause,
        Name::Census,
        Name::Advance,
    ];

    /// The file that holds the script itself.
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
            Name::Release => "release",
            Name::Watch => "watch",
            Name::View => "view",
            Name::Register => "register",
            Name::Heartbeat => "heartbeat",
            Name::Pause => "pause",
            Name::Census => "census",
            Name::Advance => "advance",
        }
    }

    /// The fragments after the prelude and the clock, the script itself last.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Name::Turn => lua!["tries" "ends" "back" "free" "settle" "reap" "look" "claim" "replay" "turn"],
            Name::Enqueue => lua!["enqueue"],
            Name::Renew => lua!["tries" "ends" "back" "free" "renew"],
            Name::Surrender => lua!["tries" "ends" "back" "free" "settle" "surrender"],
            Name::Cancel => lua!["tries" "ends" "free" "leave" "cancel"],
            Name::Delete => lua!["tries" "ends" "free" "leave" "delete"],
            Name::Retry => lua!["tries" "ends" "free" "leave" "retry"],
            Name::Acquire => lua!["acquire"],
            Name::Release => lua!["free" "release"],
            Name::Watch => lua!["watch"],
            Name::View => lua!["view"],
            Name::Register => lua!["register"],
            Name::Heartbeat => lua!["heartbeat"],
            Name::Pause => lua!["pause"],
            Name::Census => lua!["census"],
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
    /// Assembles them; `test_clock` takes the clock of tests instead of the server's.
    pub(super) fn assemble(test_clock: bool) -> Self {
        let clock = if test_clock {
            include_str!("lua/now_test.lua")
        } else {
            include_str!("lua/now.lua")
        };
        let scripts = Name::ALL.iter().map(|name| {
            let parts = [include_str!("lua/prelude.lua"), clock]
                .into_iter()
                .chain(name.parts().iter().copied());
            let source: String = parts
                .flat_map(|part| part.lines())
                .filter(|line| !line.trim_start().starts_with("--"))
                .fold(String::new(), |mut text, line| {
                    text.push_str(line.trim_start());
                    text.push('\n');
                    text
                });
            let sha = sha1_hex(&source);
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

fn sha1_hex(source: &str) -> String {
    let script = redis::Script::new(source);
    let mut hex = String::new();
    let _ = write!(hex, "{}", script.get_hash());
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_found_under_its_own_name() {
        let scripts = Scripts::assemble(false);
        for name in Name::ALL {
            assert_eq!(scripts.script(name).name, name);
        }
    }

    #[test]
    fn the_test_clock_changes_the_digest() {
        let (real, test) = (Scripts::assemble(false), Scripts::assemble(true));
        assert_ne!(real.script(Name::Turn).sha, test.script(Name::Turn).sha);
    }
}
