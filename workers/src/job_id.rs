//! Job ids on the command line. Every id begins with `-`, as an option does.

use std::ffi::OsString;

use linchpin::names::JobId;

/// What [`mark`] puts before an id. A person may write it too.
const MARK: &str = "job:";
/// Options whose value is free text, and may be a job's id by intent.
const TEXT: [&str; 2] = ["--unique", "--lock"];

/// Marks the words that are job ids, so that none is taken for options.
pub fn mark(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut marked: Vec<OsString> = Vec::new();
    for word in words {
        let is_id = word.to_str().is_some_and(|text| JobId::decode(text.as_bytes()).is_some());
        let is_text = marked.last().is_some_and(|last| TEXT.iter().any(|option| last == option));
        match is_id && !is_text {
            true => marked.push([MARK.into(), word].into_iter().collect()),
            false => marked.push(word),
        }
    }
    marked
}

/// Reads an id, marked or not.
///
/// # Errors
/// When it is none.
pub fn parse(word: &str) -> Result<JobId, linchpin::Error> {
    word.strip_prefix(MARK).unwrap_or(word).parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_marked_and_read_whatever_stands_around_it() {
        let id = JobId::random();
        let words = ["jobs", "retry", &id.to_string(), "--json", "--unique", &id.to_string()].map(OsString::from);
        let marked = mark(words.clone());
        assert_eq!(parse(marked[2].to_str().expect("text")).expect("an id"), id);
        assert_eq!(parse(&id.to_string()).expect("an id"), id);
        assert_ne!(marked[2], words[2]);
        assert_eq!(marked[5], words[5], "a unique key stays as it is");
    }
}
