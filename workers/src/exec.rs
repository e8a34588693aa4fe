//! Tasks that are commands: an attempt starts a process in a group of its own, and ends only when the whole group has.
//!
//! A job carries data only: the program is the configuration's, each argument is one whole argument, and no shell reads any of it. While
//! the worker lives, nothing in the group outlives its attempt. When the worker itself is killed with SIGKILL, its commands go on
//! without it; their jobs run again after the lease, so what a command changes should be idempotent or check the fence it was given.

mod group;
mod output;

use std::io::Write;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use linchpin::attempt::StopCause;
use linchpin::config::CommandTask;
use linchpin::job::{Field, JobSpec, Kind};
use linchpin::registry::Registration;
use linchpin::task::TaskSpec;
use linchpin::{Attempt, TaskError, TaskResult};
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use group::Group;

pub use group::kill_all;

/// The exit code that buries a job at once: sysexits.h calls it EX_DATAERR.
const DISCARD: i32 = 65;
/// How long the ends of a command's output are waited for after its group has ended: somebody outside the group may hold them open.
const DRAIN: Duration = Duration::from_secs(1);
/// What a pipe holds at least (POSIX `PIPE_BUF` where it is largest): more may have to be read first.
const PIPE_HOLDS: usize = 4096;

/// The registration of a configured command.
pub fn registration(name: &str, command: CommandTask) -> Registration {
    let job = JobSpec {
        queue: kept(&command.queue),
        priority: command.priority,
        locks: Box::leak(command.lock.iter().map(|lock| kept(lock)).collect()),
        on_busy: command.on_busy,
        wait_timeout: command.wait_timeout,
        unique: command.unique.as_deref().map(kept),
        unique_for: command.unique_for,
        expires_in: command.expires_in,
        crash_limit: command.crash_limit,
        ..JobSpec::new(kept(name), fields(&command))
    };
    let task = TaskSpec {
        retries: command.retries,
        backoff: command.backoff,
        timeout: command.timeout,
        // an attempt that is told to stop ends when its process group has
        blocking: true,
        ..TaskSpec::DEFAULT
    };
    let command = Arc::new(command);
    Registration::defined(job, task, move |attempt, args| run(command.clone(), attempt, args))
}

/// Names of a task live as long as the process, as those of a compiled one do.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn fields(command: &CommandTask) -> &'static [Field] {
    let in_words = |name: &str| command.exec.iter().any(|word| word.fields().any(|field| field == name));
    let kind = |name: &str, kind| match kind {
        Kind::String if in_words(name) => Kind::Word,
        kind => kind,
    };
    let fields = command.args.iter().map(|(name, of)| Field::new(kept(name), kind(name, *of)));
    Box::leak(fields.collect())
}

async fn run(task: Arc<CommandTask>, attempt: Attempt, args: Map<String, Value>) -> TaskResult {
    let words = words(&task, &args)?;
    let job = serde_json::to_vec(&args)?;
    let mut child = start(&task, &attempt, &words, &job)?;
    let mut group = Group::of(&child);
    let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tail = output::Tail::default();
    let feed = async {
        if let Some(mut input) = input {
            // a command that does not read its job need not
            let _ = input.write_all(&job).await;
        }
    };
    let mut talk = pin!(async {
        tokio::join!(feed, output::log(out, attempt.job_id()), output::keep(err, &tail));
    });
    let mut talks = true;

    let end = async {
        let ended = tokio::select! { biased;
            status = child.wait() => Ok(status),
            cause = attempt.cancelled() => Err(cause),
        };
        if let Err(cause) = &ended {
            stop(&mut child, &group, *cause, task.kill_grace).await;
        }
        // what it started and left behind; later the id may be somebody else's
        group.end().await;
        ended
    };
    let mut end = pin!(end);
    let ended = loop {
        tokio::select! { biased;
            ended = &mut end => break ended,
            () = &mut talk, if talks => talks = false,
        }
    };
    if talks {
        // not for ever: somebody outside the group may hold the other ends open
        let _ = tokio::time::timeout(DRAIN, talk).await;
    }
    match ended {
        Ok(status) => fate(status?, &tail.text()),
        // a command that exits with 0 when it is told to stop has not done its job
        Err(cause) => Err(format!("stopped: {cause}").into()),
    }
}

/// The program and its arguments.
fn words(task: &CommandTask, args: &Map<String, Value>) -> Result<Vec<String>, TaskError> {
    let text = |name: &str| match args.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    };
    let mut words = Vec::with_capacity(task.exec.len());
    for template in &task.exec {
        let word = template
            .render(text)
            .map_err(|name| TaskError::discard(format!("argument `{name}` is missing")))?;
        if word.contains('\0') {
            return Err(TaskError::discard("an argument holds NUL, which no argument of a process can"));
        }
        words.push(word);
    }
    Ok(words)
}

/// Starts the command. A job that any pipe holds is in it before; a longer one is to be fed.
fn start(task: &CommandTask, attempt: &Attempt, words: &[String], job: &[u8]) -> Result<Child, TaskError> {
    let program = words.first().map(String::as_str).unwrap_or_default();
    let mut command = Command::new(program);
    command
        .args(&words[1..])
        .env_clear()
        .envs(task.env.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("LINCHPIN_JOB_ID", attempt.job_id().to_string())
        .env("LINCHPIN_ATTEMPT", attempt.number().to_string())
        .env("LINCHPIN_FENCE", attempt.fence().to_string())
        .stdin(match job.len() <= PIPE_HOLDS {
            true => filled(job)?,
            false => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(directory) = &task.directory {
        command.current_dir(directory);
    }
    command.spawn().map_err(|error| {
        if let Some(directory) = task.directory.as_ref().filter(|directory| !directory.is_dir()) {
            return format!("start `{program}`: its directory `{}` is not there", directory.display()).into();
        }
        format!("start `{program}`: {error} (is it there, executable, and named with its folder or found by a PATH in `env`?)").into()
    })
}

/// The reading end of a pipe that holds the job, and ends behind it.
fn filled(job: &[u8]) -> std::io::Result<Stdio> {
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(job)?;
    Ok(reader.into())
}

/// Ends a process group: at once when the attempt does not count any more, else with a grace.
async fn stop(child: &mut Child, group: &Group, cause: StopCause, grace: Duration) {
    if cause != StopCause::LeaseLost {
        group.term();
        // the whole group has the grace, also what its leader left behind
        let gone = async {
            let _ = child.wait().await;
            group.gone().await;
        };
        if tokio::time::timeout(grace, gone).await.is_ok() {
            return;
        }
    }
    group.kill();
    let _ = child.wait().await;
}

/// What an exit means for the job.
fn fate(status: ExitStatus, stderr: &str) -> TaskResult {
    let said = match stderr.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    };
    match status.code() {
        Some(0) => Ok(()),
        Some(DISCARD) if said.is_empty() => Err(TaskError::discard(format!("exit code {DISCARD}"))),
        Some(DISCARD) => Err(TaskError::discard(stderr.trim())),
        Some(code) => Err(format!("exit code {code}{said}").into()),
        None => Err(format!("{status}{said}").into()),
    }
}
