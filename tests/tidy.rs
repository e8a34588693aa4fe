//! The shape of the source: what stands where, and what may not stand anywhere. Plain text searches, on purpose.

use std::fs;
use std::path::{Path, PathBuf};

/// Files over this many lines stand in [`LONG`].
const LINES_MAX: usize = 400;

/// Files that may be longer, and why.
const LONG: &[(&str, &str)] = &[
    (
        "src/worker/fetcher.rs",
        "the claim loop: one actor whose turns, settles and shutdown share every line of its state",
    ),
    ("src/store/redis.rs", "the whole `Store` trait, one short method a transition"),
];

/// Modules by layer: each may name its own layer's group and what stands below. From the ground up.
const LAYERS: &[&[&[&str]]] = &[
    &[&["clock", "error", "failpoint", "limits", "names", "retry", "seldom", "template"]],
    &[&["store"]],
    &[&["job", "manifest", "effects"], &["lock"]],
    &[&["client", "schedule"], &["attempt", "task", "registry", "task_list", "telemetry"]],
    &[&["worker"], &["config"], &["postgres"]],
    &[&["testing"], &["private"]],
];

/// Key names of the Redis layout that take a name behind them.
const KEY_PARTS: &[&str] = &["queue:", "lock:", "parked:", "unique:", "lanes:", "wake:", "stats:", "push:"];

/// What the header of a script says, in this order.
const HEADER: &[&str] = &["-- Purpose:", "-- KEYS:", "-- ARGV:", "-- Returns:", "-- Cost:", "-- Called by:"];

struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The lines of code: numbered, without comments, up to the file's own tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self
            .text
            .lines()
            .take_while(|line| !line.starts_with("#[cfg(test)]") && !line.starts_with("#[cfg(all(test"));
        let code = lines.enumerate().map(|(i, line)| (i + 1, line.trim_start()));
        code.filter(|(_, line)| !line.starts_with("//"))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file under a folder of the repository whose name ends so.
fn sources(folder: &str, ends: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if ["target", ".git"].iter().any(|skip| path.ends_with(skip)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() && path.to_string_lossy().ends_with(ends) {
                found.extend(source(path));
            }
        }
    }
    assert!(!found.is_empty(), "no {ends} under {folder}");
    found
}

/// A text file; `None` for what is no text.
fn source(path: PathBuf) -> Option<Source> {
    let text = String::from_utf8(fs::read(&path).expect("a file of the repository")).ok()?;
    let path = path.strip_prefix(root()).expect("under the root").to_string_lossy().into_owned();
    Some(Source { path, text })
}

fn assert_none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

/// The layer and the group of a module.
fn place(module: &str) -> Option<(usize, usize)> {
    LAYERS.iter().enumerate().find_map(|(layer, groups)| {
        let group = groups.iter().position(|group| group.contains(&module))?;
        Some((layer, group))
    })
}

#[test]
fn imports_go_one_way() {
    let mut found = Vec::new();
    for source in sources("src", ".rs") {
        let module = source.path["src/".len()..].split(['/', '.']).next().unwrap_or_default().to_owned();
        if module == "lib" {
            continue;
        }
        let Some(own) = place(&module) else {
            found.push(format!("{}: module `{module}` stands in no layer of tests/tidy.rs", source.path));
            continue;
        };
        for (number, line) in source.code() {
            for named in line.split("crate::").skip(1) {
                let named: String = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let allowed = match place(&named) {
                    Some(theirs) => theirs.0 < own.0 || theirs == own,
                    // A type that lib.rs re-exports, or a macro.
                    None => !named.is_empty(),
                };
                if !allowed {
                    found.push(format!("{}:{number}: `{module}` names `{named}`", source.path));
                }
            }
        }
    }
    assert_none(
        "imports against the one way worker -> client, lock, schedule -> store -> facts",
        found,
    );
}

#[test]
fn redis_is_named_only_by_its_engine() {
    let mut found = Vec::new();
    for source in sources("src", ".rs")
        .into_iter()
        .filter(|source| !source.path.starts_with("src/store/redis"))
    {
        for (number, line) in source.code() {
            if line.replace("store::redis::", "").contains("redis::") {
                found.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    assert_none("the crate `redis` outside src/store/redis", found);
}

#[test]
fn lua_stands_only_in_lua_files() {
    let needles = ["redis.call", "redis.pcall", "cjson.", "KEYS[", "ARGV["];
    let mut found = Vec::new();
    for source in sources("src", ".rs").into_iter().chain(sources("workers/src", ".rs")) {
        for (number, line) in source.code() {
            // The floor of the benchmark is a script of its own, in a .lua file too.
            if needles.iter().any(|needle| line.contains(needle)) {
                found.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    assert_none("Lua in Rust", found);
}

#[test]
fn key_strings_stand_only_in_keys_rs() {
    let mut found = Vec::new();
    for source in sources("src", ".rs") {
        if source.path == "src/store/redis/keys.rs" || !source.path.starts_with("src/store/redis") {
            continue;
        }
        for (number, line) in source.code() {
            let builds = |part: &&&str| ['"', '}'].iter().any(|before| line.contains(&format!("{before}{part}")));
            if let Some(part) = KEY_PARTS.iter().find(builds) {
                found.push(format!("{}:{number}: `{part}`", source.path));
            }
        }
    }
    assert_none("key names outside src/store/redis/keys.rs", found);
}

#[test]
fn every_script_has_its_header() {
    let mut found = Vec::new();
    for source in sources("src/store/redis/lua", ".lua") {
        let header: Vec<&str> = source.text.lines().take_while(|line| line.starts_with("--")).collect();
        let mut from = 0;
        for wanted in HEADER {
            match header[from..].iter().position(|line| line.starts_with(wanted)) {
                Some(at) if header[from + at].len() > wanted.len() + 1 => from += at + 1,
                _ => found.push(format!("{}: `{wanted}` is missing, empty or out of order", source.path)),
            }
        }
    }
    assert_none("script headers", found);
}

#[test]
fn no_file_names_a_machine() {
    let needles = [["/wo", "rk/"], ["/tm", "p/"], ["/ro", "ot/"], ["/ho", "me/"]].map(|parts| parts.concat());
    let mut found = Vec::new();
    for source in sources(".", "") {
        for (number, line) in source.text.lines().enumerate() {
            if let Some(needle) = needles.iter().find(|needle| line.contains(*needle)) {
                found.push(format!("{}:{}: {needle}", source.path, number + 1));
            }
        }
    }
    assert_none("paths of one machine", found);
}

#[test]
fn long_files_are_known_and_no_file_is_a_drawer() {
    let mut found = Vec::new();
    let mut files = sources("src", ".rs");
    files.extend(sources("cron/src", ".rs"));
    files.extend(sources("macros/src", ".rs"));
    files.extend(sources("workers/src", ".rs"));
    for source in &files {
        let lines = source.text.lines().count();
        let listed = LONG.iter().any(|(path, _)| *path == source.path);
        if lines > LINES_MAX && !listed {
            found.push(format!("{}: {lines} lines: split it, or say in tests/tidy.rs why not", source.path));
        }
        let stem = Path::new(&source.path)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if ["util", "utils", "common", "types", "helpers", "manager", "base"].contains(&stem.as_str()) {
            found.push(format!("{}: name it after what it holds", source.path));
        }
    }
    for (path, _) in LONG {
        let lines = files
            .iter()
            .find(|source| source.path == *path)
            .map_or(0, |source| source.text.lines().count());
        if lines <= LINES_MAX {
            found.push(format!("{path}: {lines} lines: it is not long any more, take it off the list"));
        }
    }
    assert_none("files", found);
}

#[test]
fn nothing_is_left_open() {
    let needles = [
        ["to", "do!("],
        ["unimple", "mented!("],
        ["FIX", "ME"],
        ["#[ig", "nore"],
        ["db", "g!("],
    ]
    .map(|parts| parts.concat());
    let mut found = Vec::new();
    for folder in ["src", "cron", "macros", "workers", "tests", "examples"] {
        for source in sources(folder, ".rs") {
            for (number, line) in source.text.lines().enumerate() {
                if needles.iter().any(|needle| line.contains(needle)) {
                    found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
                }
            }
        }
    }
    assert_none("loose ends", found);
}

/// A name of three words or more in backquotes is a test's, a mutant's or a step's: docs/guarantees.md names nothing else so.
#[test]
fn what_shows_a_guarantee_is_there() {
    let docs = fs::read_to_string(root().join("docs/guarantees.md")).expect("the page");
    let mut known: String = ["tests", "workers", "src/failpoint.rs", "src/store/redis/lua/mutants.tsv"]
        .iter()
        .flat_map(|place| match root().join(place).is_dir() {
            true => sources(place, ".rs"),
            false => source(root().join(place)).into_iter().collect(),
        })
        .map(|source| source.text)
        .collect();
    known.retain(|c| c != '"');
    let is_name = |word: &&str| word.matches('_').count() >= 2 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let missing: Vec<String> = docs
        .split('`')
        .filter(is_name)
        .filter(|name| !known.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == *name))
        .map(str::to_owned)
        .collect();
    assert_none("names in docs/guarantees.md that nothing has", missing);
}
