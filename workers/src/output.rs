//! What commands print: tables for people, one JSON value for programs.

use std::io::{self, Write as _};

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::failure::Failure;

/// How to print. Every command that prints something takes this.
#[derive(Args, Debug, Clone, Copy)]
pub struct Output {
    /// Prints JSON instead of a table.
    #[arg(long)]
    json: bool,
}

impl Output {
    /// Prints `value` as JSON, or what `people` makes of it.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn print<T: Serialize>(self, value: &T, people: impl FnOnce(&T) -> String) -> Result<(), Failure> {
        match self.json {
            true => write(&serde_json::to_string(value).map_err(|error| Failure::new("write JSON", error))?),
            false => line(&people(value)),
        }
        .map(|_| ())
    }
}

impl Output {
    /// Whether JSON was asked for.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints `value` where JSON was asked for, nothing for people: they were told on standard error.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn json_only<T: Serialize>(self, value: &T) -> Result<(), Failure> {
        match self.json {
            true => self.print(value, |_| String::new()),
            false => Ok(()),
        }
    }
}

/// Whether somebody reads what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// As far as can be known.
    There,
    /// It went away, such as `head` does when it has seen enough.
    Gone,
}

/// Prints one line (or several) for people, [plain]. A reader that went away is no failure.
///
/// # Errors
/// When standard output cannot be written.
pub fn line(text: &str) -> Result<Reader, Failure> {
    write(&plain(text))
}

/// A text whose control characters are written out, but for the ends of lines: what a job left behind must not command a terminal.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push(c),
            _ if c.is_control() => shown.extend(c.escape_default()),
            _ => shown.push(c),
        }
    }
    shown
}

fn write(text: &str) -> Result<Reader, Failure> {
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::new("write to standard output", error)),
    }
}

/// A table without lines between its rows; `empty` stands in its place when there is none.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, empty: &str) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    if table.is_empty() {
        return empty.to_owned();
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        assert_eq!(plain("a\u{1b}[31m\tb\u{9b}c\nd"), "a\\u{1b}[31m\\tb\\u{9b}c\nd");
        let shown = table(&["A"], [vec!["x\u{1b}]0;y\u{7}".to_owned()]], "");
        assert!(shown.contains("x\\u{1b}]0;y\\u{7}"), "{shown}");
    }
}
