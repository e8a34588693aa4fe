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
        let text = match self.json {
            true => serde_json::to_string(value).map_err(|error| Failure::new("write JSON", error))?,
            false => people(value),
        };
        line(&text)
    }
}

/// Prints one line (or several). A reader that went away, such as `head`, is no failure.
///
/// # Errors
/// When standard output cannot be written.
pub fn line(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::new("write to standard output", error)),
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
        table.add_row(row);
    }
    if table.is_empty() {
        return empty.to_owned();
    }
    table.trim_fmt()
}
