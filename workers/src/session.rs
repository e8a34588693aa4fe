//! Where a command works: its configuration, which store and namespace, and a client of it.

use std::path::PathBuf;

use clap::Args;
use linchpin::Client;
use linchpin::config::{Config, ENVIRONMENT_PREFIX};

use crate::failure::Failure;

/// Which store and namespace. Every command that talks to a store takes these.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Store")]
pub struct Session {
    /// A configuration file; variables such as LINCHPIN__STORE__URL go before it.
    #[arg(long, value_name = "FILE", env = "LINCHPIN_CONFIG")]
    config: Option<PathBuf>,
    /// The store: redis://, rediss://, unix:// or memory://. Goes before the configuration.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The namespace: everything of one installation. Goes before the configuration; `linchpin` by default.
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
}

impl Session {
    /// The configuration: flags before the environment before the file.
    ///
    /// # Errors
    /// Usage: everything that is wrong with it.
    pub fn configuration(&self) -> Result<Config, Failure> {
        let mut config = Config::load(self.config.as_deref(), environment()?).map_err(Failure::usage)?;
        config.set(self.store.as_deref(), self.namespace.as_deref());
        Ok(config)
    }

    /// A client of a store that other processes see too: for commands that have nothing to do on a store of their own.
    ///
    /// # Errors
    /// Usage, when none was named or the store is `memory://`; else what [`Client::connect`] says.
    pub async fn shared_client(&self) -> Result<Client, Failure> {
        self.shared(&self.configuration()?).await
    }

    /// The same, of a configuration that was read before.
    ///
    /// # Errors
    /// As [`Session::shared_client`].
    pub async fn shared(&self, config: &Config) -> Result<Client, Failure> {
        if config.store.url.as_deref().is_some_and(|url| url.starts_with("memory:")) {
            return Err(Failure::usage(
                "a memory:// store lives and ends with its process, so this command would find it empty: name the store of your workers, such as --store redis://127.0.0.1/",
            ));
        }
        self.connect(config).await
    }

    /// A client of the configured store.
    ///
    /// # Errors
    /// Usage, when there is none; else what [`Client::connect`] says.
    pub async fn connect(&self, config: &Config) -> Result<Client, Failure> {
        let Some(url) = &config.store.url else {
            return Err(Failure::usage(format!(
                "no store was named, and there is no default; choose one:\n  --store redis://127.0.0.1/   a Redis server, shared by all processes\n  --store memory://            this process alone, gone when it ends{}",
                self.unnamed_file()
            )));
        };
        Ok(Client::builder(url)
            .namespace(&config.store.namespace)
            .redisson(config.store.redisson)
            .connect()
            .await?)
    }

    /// Words to add to what is missing when a configuration lies here and was not named: no file is read unasked.
    pub fn unnamed_file(&self) -> &'static str {
        match self.config.is_none() && std::path::Path::new("config.toml").is_file() {
            true => "\nThere is a config.toml here: name it with --config config.toml, or once for all with LINCHPIN_CONFIG=config.toml",
            false => "",
        }
    }
}

/// The variables that configure; other variables may hold what is no text.
fn environment() -> Result<Vec<(String, String)>, Failure> {
    let mut variables = Vec::new();
    for (name, value) in std::env::vars_os() {
        let lossy = name.to_string_lossy();
        if !lossy.starts_with(ENVIRONMENT_PREFIX) {
            continue;
        }
        match (name.to_str(), value.into_string()) {
            (Some(name), Ok(value)) => variables.push((name.to_owned(), value)),
            _ => return Err(Failure::usage(format!("{lossy}: its name or value is not UTF-8: write it as text"))),
        }
    }
    Ok(variables)
}
