//! From an URL to a store.

use std::fmt;
use std::sync::Arc;

use crate::client::Client;
use crate::error::{Error, Invalid};
use crate::names::Namespace;
use crate::store::Store;
use crate::store::memory::MemoryStore;

const SCHEMES: &str = "an URL that begins with memory:// redis:// rediss:// unix:// or redis+unix://";

/// How to connect a [`Client`].
#[must_use = "nothing is connected until `connect` is awaited"]
#[derive(Clone)]
pub struct ClientBuilder {
    url: String,
    namespace: String,
    redisson: bool,
}

impl ClientBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.into(),
            namespace: crate::limits::NAMESPACE.into(),
            redisson: false,
        }
    }

    /// Sets the namespace: installations in different ones see nothing of each other. Default `linchpin`.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Shares locks with Java programs that take them with Redisson: whoever waits there is told when a lock is given back here. Off by
    /// default; exclusion itself needs no setting. Every process of the installation should have it. See `docs/redisson.md`.
    ///
    /// # Redis
    /// A `PUBLISH` for each lock that is given back, in the same script.
    pub fn redisson(mut self, shared: bool) -> Self {
        self.redisson = shared;
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// As [`Client::connect`]; [`Error::Invalid`] names everything that is wrong with the URL and the namespace.
    pub async fn connect(self) -> Result<Client, Error> {
        let mut problems = Vec::new();
        let namespace = Namespace::new(&self.namespace).map_err(|error| problems.extend(invalid(error)));
        let engine = Engine::of(&self.url).map_err(|problem| problems.push(problem));
        if self.redisson && engine == Ok(Engine::Memory) {
            problems.push(Invalid::new(
                "redisson",
                "true",
                "a Redis store: nobody else sees the locks of memory://",
            ));
        }
        let (Ok(namespace), Ok(engine), true) = (namespace, engine, problems.is_empty()) else {
            return Err(Error::Invalid(problems));
        };
        Ok(Client::on(match engine {
            Engine::Memory => Arc::new(MemoryStore::new()),
            Engine::Redis => redis(&self.url, &namespace, self.redisson).await?,
        }))
    }
}

/// Shows no URL, since it may hold a password.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("url", &scheme_only(&self.url))
            .field("namespace", &self.namespace)
            .field("redisson", &self.redisson)
            .finish()
    }
}

#[cfg(feature = "redis")]
async fn redis(url: &str, namespace: &Namespace, redisson: bool) -> Result<Arc<dyn Store>, Error> {
    use crate::store::redis::RedisStore;
    Ok(Arc::new(match redisson {
        true => RedisStore::connect_beside_redisson(url, namespace).await?,
        false => RedisStore::connect(url, namespace).await?,
    }))
}

#[cfg(not(feature = "redis"))]
async fn redis(url: &str, _: &Namespace, _: bool) -> Result<Arc<dyn Store>, Error> {
    Err(Invalid::new("store", scheme_only(url), "memory:// (this build leaves the feature `redis` out)").into())
}

#[derive(Debug, PartialEq, Eq)]
enum Engine {
    Memory,
    Redis,
}

impl Engine {
    fn of(url: &str) -> Result<Self, Invalid> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(Invalid::new("store", scheme_only(url), SCHEMES));
        };
        match scheme {
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "memory" => Err(Invalid::new("store", "memory://…", "memory:// with nothing behind it")),
            "redis" | "rediss" | "unix" | "redis+unix" if !rest.is_empty() => Ok(Self::Redis),
            _ => Err(Invalid::new("store", scheme_only(url), SCHEMES)),
        }
    }
}

/// What may be shown of an URL that was not understood: a password may stand anywhere behind its scheme.
fn scheme_only(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, "")) => format!("{scheme}://"),
        Some((scheme, _)) => format!("{scheme}://…"),
        None if url.is_empty() => String::new(),
        None => "…".into(),
    }
}

fn invalid(error: Error) -> Vec<Invalid> {
    match error {
        Error::Invalid(problems) => problems,
        other => vec![Invalid::new("namespace", other, "a namespace")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_chosen_by_the_scheme() {
        assert_eq!(Engine::of("memory://"), Ok(Engine::Memory));
        for url in ["redis://h", "rediss://u:p@h:1/2", "unix:///s", "redis+unix:///s?db=1"] {
            assert_eq!(Engine::of(url), Ok(Engine::Redis), "{url}");
        }
    }

    #[test]
    fn a_bad_url_names_the_schemes_and_shows_no_secret() {
        for url in [
            "",
            "hunter2@h",
            "http://u:hunter2@h",
            "redis:hunter2@h",
            "memory://hunter2",
            "redis://",
        ] {
            let problem = Engine::of(url).unwrap_err().to_string();
            assert!(!problem.contains("hunter2"), "{problem}");
            assert!(problem.contains("memory://"), "{problem}");
        }
    }
}
