//! `linchpin config`: what is wrong with a configuration, and what is in force.

use clap::{Args, Subcommand};
use linchpin::TaskList;
use serde_json::json;

use crate::command::work::{NO_TASK, names_no_task};
use crate::failure::{Answer, Failure};
use crate::logging;
use crate::output::{Output, line, table};
use crate::session::Session;

/// What to do with the configuration.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Says everything that is wrong with a configuration; needs no store.
    Check(Checked),
    /// Prints every setting in force and where it comes from; passwords are left out.
    Show(Shown),
}

#[derive(Args)]
struct Checked {
    #[command(flatten)]
    session: Session,
}

#[derive(Args)]
struct Shown {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    session: Session,
}

/// Does it.
///
/// # Errors
/// Usage: everything that is wrong.
pub fn run(options: Options, tasks: &TaskList) -> Result<Answer, Failure> {
    match options.verb {
        Verb::Check(checked) => {
            let config = checked.session.configuration()?;
            logging::check(&config.log)?;
            line("the configuration is right")?;
            if names_no_task(&config, tasks) {
                let beside = checked.session.unnamed_file();
                line(&format!("it will do for clients; for `linchpin work`, {NO_TASK}{beside}"))?;
            }
        }
        Verb::Show(shown) => {
            let config = shown.session.configuration()?;
            let settings: Vec<_> = config
                .settings()
                .iter()
                .map(|setting| json!({"key": setting.key, "value": setting.value, "from": setting.origin.to_string()}))
                .collect();
            shown.output.print(&settings, |settings| {
                let text = |value: &serde_json::Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
                let rows = settings
                    .iter()
                    .map(|row| vec![text(row, "key"), text(row, "value"), text(row, "from")]);
                table(&["KEY", "VALUE", "FROM"], rows, "")
            })?;
        }
    }
    Ok(Answer::Yes)
}
