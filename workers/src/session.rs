//! Where a command works: which store and namespace, and a client of it.

use clap::Args;
use linchpin::Client;

use crate::failure::Failure;

/// Which store and namespace. Every command that talks to a store takes these.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Store")]
pub struct Session {
    /// The store: redis://, rediss://, unix:// or memory://.
    #[arg(long, value_name = "URL", env = "LINCHPIN__STORE__URL", hide_env_values = true)]
    store: Option<String>,
    /// The namespace: everything of one installation. Default: `linchpin`.
    #[arg(long, value_name = "NAME", env = "LINCHPIN__STORE__NAMESPACE")]
    namespace: Option<String>,
}

impl Session {
    /// A client of the store that was named.
    ///
    /// # Errors
    /// Usage, when none was named or it is none; else what [`Client::connect`] says.
    pub async fn client(&self) -> Result<Client, Failure> {
        let Some(url) = &self.store else {
            return Err(Failure::usage(
                "no store was named, and there is no default; choose one:\n  --store redis://127.0.0.1/   a Redis server, shared by all processes\n  --store memory://            this process alone, gone when it ends",
            ));
        };
        let mut builder = Client::builder(url);
        if let Some(namespace) = &self.namespace {
            builder = builder.namespace(namespace);
        }
        Ok(builder.connect().await?)
    }

    /// A client of a store that other processes see too: for commands that have nothing to do on a store of their own.
    ///
    /// # Errors
    /// Usage, when the store is `memory://`; else as [`Session::client`].
    pub async fn shared_client(&self) -> Result<Client, Failure> {
        if self.store.as_deref().is_some_and(|url| url.starts_with("memory:")) {
            return Err(Failure::usage(
                "a memory:// store lives and ends with its process, so this command would find it empty: name the store of your workers, such as --store redis://127.0.0.1/",
            ));
        }
        self.client().await
    }
}
