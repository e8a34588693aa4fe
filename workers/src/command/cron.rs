//! `linchpin cron`: what a schedule's line means. It needs no store.

mod answer;
mod question;

use std::io::{self, BufRead, Read};

use clap::{Args, Subcommand};
use serde_json::to_string;

use crate::failure::{Answer, Failure};
use crate::output::{self, Output, Reader};
use question::Question;

/// Longest line read from standard input, in bytes; a longer one is answered as wrong.
const LINE_MAX: u64 = 4096;

/// What to do with lines.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Says in words when a line fires, with its next ticks and what is doubtful about it. Exit code 1: the line is wrong.
    Explain(Explain),
}

#[derive(Args)]
struct Explain {
    /// The line in one word, such as "0 3 * * mon-fri"; `-` reads lines EXPR<TAB>TZ<TAB>FROM from standard input and answers each with one line of JSON.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expr: String,
    /// The zone, by its IANA name; in `-`, of lines that name none.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    /// How many ticks to show, 1 to 1000.
    #[arg(short = 'n', value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,
    /// The instant after which to look, such as 2026-03-08T00:00:00Z (without an offset: UTC); now when it is left out.
    #[arg(long, value_name = "INSTANT")]
    from: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Does it.
///
/// # Errors
/// When standard input or output fails. A wrong line is an answer, not a failure.
pub fn run(options: Options) -> Result<Answer, Failure> {
    let Verb::Explain(explain) = options.verb;
    match explain.expr == "-" {
        true => each_line(&explain),
        false => one(&explain),
    }
}

fn one(explain: &Explain) -> Result<Answer, Failure> {
    let question = Question {
        expr: &explain.expr,
        tz: &explain.tz,
        from: explain.from.as_deref(),
    };
    match answer::explain(&question, explain.count) {
        Ok(explained) => {
            explain.output.print(&explained.shown(), |_| explained.text())?;
            Ok(Answer::Yes)
        }
        Err(mistake) => {
            if !explain.output.is_json() {
                eprintln!("{}", mistake.text(&question));
            }
            explain.output.json_only(&mistake.shown())?;
            Ok(Answer::No)
        }
    }
}

/// One answer a line, in their order, at once: a program may ask and read in turn.
fn each_line(explain: &Explain) -> Result<Answer, Failure> {
    let mut input = io::stdin().lock();
    let mut all = Answer::Yes;
    while let Some(line) = next_line(&mut input)? {
        let question = Question::of_line(&line, &explain.tz, explain.from.as_deref());
        let text = match answer::explain(&question, explain.count) {
            Ok(explained) => to_string(&explained.shown()),
            Err(mistake) => {
                all = Answer::No;
                to_string(&mistake.shown())
            }
        };
        let text = text.map_err(|error| Failure::new("write JSON", error))?;
        if output::line(&text)? == Reader::Gone {
            break;
        }
    }
    Ok(all)
}

/// The next line without its end, as much of it as is needed to see that it is too long.
fn next_line(input: &mut impl BufRead) -> Result<Option<String>, Failure> {
    let failed = |error| Failure::new("read standard input", error);
    let mut bytes = Vec::new();
    input.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes).map_err(failed)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.last() != Some(&b'\n') && bytes.len() as u64 == LINE_MAX {
        input.skip_until(b'\n').map_err(failed)?;
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
