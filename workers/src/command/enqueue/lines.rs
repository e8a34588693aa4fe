//! `linchpin enqueue -`: jobs from standard input. All lines are read and checked first, and with one that is wrong nothing is enqueued;
//! the text is kept, not the jobs, so that memory is the input's size and one batch.

use std::io::{BufRead, Read};

use linchpin::client::{Enqueue, Tasks};
use linchpin::limits::PAYLOAD_MAX_BYTES;
use linchpin::{Client, Enqueued, Error};
use serde_json::{Value, json};

use super::{Choices, Options, aloud, job};
use crate::command::job::{object, read_job};
use crate::failure::{Answer, Failure};

/// Jobs of one call to the client; it sends them in smaller batches.
const BULK: usize = 10_000;
/// Bytes of a line: arguments, each byte escaped at worst, and options.
const LINE_MAX_BYTES: usize = 6 * PAYLOAD_MAX_BYTES + 8192;
/// Bytes of all lines together.
const INPUT_MAX_BYTES: usize = 512 << 20;
/// Problems and refusals that are shown.
const SHOWN_MAX: usize = 20;

/// What became of the lines so far.
#[derive(Default)]
struct Count {
    new: u64,
    existing: u64,
    refused: u64,
    shown: Vec<String>,
}

/// Enqueues the jobs that stand in the lines of standard input.
///
/// # Errors
/// Usage: everything that is wrong, with its line. When the store goes away in the middle: how many were enqueued.
pub(super) async fn run(client: &Client, tasks: &Tasks, options: &Options) -> Result<Answer, Failure> {
    if options.args.is_some() || options.choices.is_unique() {
        return Err(Failure::usage(
            "with `-` the jobs stand in the lines: leave JSON and --unique out, a line takes {\"task\": .., \"args\": {..}, \"unique\": ..}",
        ));
    }
    let input = checked(std::io::stdin().lock(), |text| read_line(client, tasks, options, text).map(|_| ()))?;
    let total = input.lines.len();
    let mut count = Count::default();
    for batch in input.lines.chunks(BULK) {
        let jobs: Vec<Enqueue> = batch
            .iter()
            .map(|(_, from, to)| read_line(client, tasks, options, &input.text[*from..*to]))
            .collect::<Result<_, _>>()?;
        let answers = match aloud(client.enqueue_many(jobs)).await {
            Ok(answers) => answers,
            Err(error) => return Err(broken_off(&count, total, batch, 0, &error)),
        };
        for (at, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(Enqueued::New(_)) => count.new += 1,
                Ok(Enqueued::Existing(_)) => count.existing += 1,
                Err(error @ (Error::Unreachable { .. } | Error::Unknown { .. })) => {
                    return Err(broken_off(&count, total, batch, at, &error));
                }
                Err(error) => {
                    count.refused += 1;
                    if count.shown.len() < SHOWN_MAX {
                        count.shown.push(format!("line {}: {error}", batch[at].0));
                    }
                }
            }
        }
    }
    let said = json!({"new": count.new, "existing": count.existing, "refused": count.refused});
    options.output.print(&said, |_| {
        format!(
            "{} new, {} were there already, {} refused",
            count.new, count.existing, count.refused
        )
    })?;
    for refusal in &count.shown {
        eprintln!("linchpin: {refusal}");
    }
    Ok(if count.refused == 0 { Answer::Yes } else { Answer::No })
}

/// The store went away: what is certain, and from where to go on.
fn broken_off(count: &Count, total: usize, batch: &[(usize, usize, usize)], at: usize, error: &Error) -> Failure {
    let done = count.new + count.existing + count.refused;
    let next = batch[at].0;
    let what = format!(
        "{} of {total} lines enqueued ({} new, {} were there already, {} refused)",
        done, count.new, count.existing, count.refused
    );
    let unknown = match error {
        Error::Unknown { .. } => {
            "; those sent last got no answer and may have been enqueued too, so send the rest again only where lines are `unique`"
        }
        _ => "",
    };
    Failure::unreachable(format!("{what}; the next is line {next}{unknown}: {error}"))
}

/// The whole input, and where its lines stand: number, first byte, end.
struct Input {
    text: String,
    lines: Vec<(usize, usize, usize)>,
}

fn checked(mut from: impl BufRead, mut check: impl FnMut(&str) -> Result<(), Failure>) -> Result<Input, Failure> {
    let mut input = Input {
        text: String::new(),
        lines: Vec::new(),
    };
    let (mut problems, mut wrong, mut number) = (Vec::new(), 0usize, 0);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = from.by_ref().take(LINE_MAX_BYTES as u64 + 1).read_until(b'\n', &mut bytes);
        if read.map_err(|error| Failure::new("read standard input", error))? == 0 {
            break;
        }
        number += 1;
        if bytes.len() > LINE_MAX_BYTES {
            return Err(Failure::usage(format!(
                "nothing was enqueued:\nline {number}: longer than {LINE_MAX_BYTES} bytes, which no job is (arguments take {PAYLOAD_MAX_BYTES})"
            )));
        }
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(text).trim(),
            Err(error) => {
                wrong += 1;
                let at = error.valid_up_to() + 1;
                problems.push(format!("line {number}: byte {at} is no UTF-8, which JSON is written in"));
                problems.truncate(SHOWN_MAX);
                continue;
            }
        };
        if text.is_empty() {
            continue;
        }
        if let Err(failure) = check(text) {
            wrong += 1;
            if problems.len() < SHOWN_MAX {
                problems.push(format!("line {number}: {failure}"));
            }
            continue;
        }
        if input.text.len() + text.len() > INPUT_MAX_BYTES {
            return Err(Failure::usage(format!(
                "nothing was enqueued: more than {} MiB up to line {number}; send the input in pieces, such as with `split -l 1000000`",
                INPUT_MAX_BYTES >> 20
            )));
        }
        let begin = input.text.len();
        input.text.push_str(text);
        input.lines.push((number, begin, input.text.len()));
    }
    if wrong == 0 {
        return Ok(input);
    }
    if wrong > problems.len() {
        problems.push(format!("and {} lines more", wrong - problems.len()));
    }
    Err(Failure::usage(format!("nothing was enqueued:\n{}", problems.join("\n"))))
}

fn read_line(client: &Client, tasks: &Tasks, options: &Options, text: &str) -> Result<Enqueue, Failure> {
    if !text.starts_with('{') {
        let (task, args) = read_job(text)?;
        return job(client, tasks, options, task, &args);
    }
    let form = "a line is {\"task\": .., \"args\": {..}} with options beside them, or TASK JSON";
    let wrong = |why: &dyn std::fmt::Display| Failure::usage(format!("{why}; {form}"));
    let mut line = object(text).map_err(|error| wrong(&error))?;
    let task = match line.remove("task") {
        Some(Value::String(task)) => task,
        Some(_) => return Err(wrong(&"`task` is no text")),
        None => return Err(wrong(&"`task` is missing")),
    };
    let args = match line.remove("args") {
        Some(Value::Object(args)) => args,
        None => serde_json::Map::new(),
        Some(_) => return Err(wrong(&"`args` is no object")),
    };
    let choices: Choices = serde_json::from_value(Value::Object(line)).map_err(|error| wrong(&error))?;
    choices.check()?;
    Ok(choices.apply(job(client, tasks, options, &task, &args)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(usize, String)>, String> {
        let input = checked(bytes, |text| match text {
            "bad" => Err(Failure::usage("no")),
            _ => Ok(()),
        });
        let input = input.map_err(|failure| failure.to_string())?;
        Ok(input
            .lines
            .iter()
            .map(|(n, from, to)| (*n, input.text[*from..*to].to_owned()))
            .collect())
    }

    #[test]
    fn lines_keep_their_numbers_and_a_mark_of_byte_order_is_none_of_them() {
        let lines = read("\u{feff}a {}\r\n\n  b {}".as_bytes()).expect("lines");
        assert_eq!(lines, [(1, "a {}".to_owned()), (3, "b {}".to_owned())]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_counted_beyond_twenty() {
        let mut bytes = b"a\n\xff\n".to_vec();
        bytes.extend_from_slice(&b"bad\n".repeat(30));
        let said = read(&bytes).expect_err("wrong lines");
        assert!(
            said.contains("line 2: byte 1 is no UTF-8") && said.contains("line 3: no") && said.contains("and 11 lines more"),
            "{said}"
        );
    }

    #[test]
    fn a_line_without_an_end_is_not_read_for_ever() {
        let long = vec![b'x'; LINE_MAX_BYTES + 2];
        assert!(read(&long).expect_err("too long").contains("line 1: longer than"));
    }
}
