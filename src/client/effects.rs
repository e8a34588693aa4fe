//! Effects outside of jobs, what stands under the keys that they change, and the results of jobs.

use serde::de::DeserializeOwned;

use super::{Client, End};
use crate::effects::{Effects, Value};
use crate::error::{Error, Invalid};
use crate::names::JobId;
use crate::store::effects::Applied;

impl Client {
    /// Reads the result that a job kept ([`Effects::keep_result`]); `None` when it kept none, its time is over, or it has not ended.
    ///
    /// # Errors
    /// [`Error::Invalid`] when what it kept is no `T`; what asking the store can give.
    pub async fn result<T: DeserializeOwned>(&self, id: JobId) -> Result<Option<T>, Error> {
        let Some(json) = self.store().result(id).await? else {
            return Ok(None);
        };
        let result = serde_json::from_slice(&json);
        result
            .map(Some)
            .map_err(|error| Invalid::new("result", id, format!("what the job kept ({error})")).into())
    }

    /// Waits until a job has ended, and reads the result that it kept: [`Client::wait`] and [`Client::result`] in one.
    ///
    /// # Errors
    /// As those two.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn wait_for<T: DeserializeOwned>(&self, id: JobId) -> Result<(End, Option<T>), Error> {
        let end = self.wait(id).await?;
        Ok((end, self.result(id).await?))
    }

    /// Applies effects now, all of them or none, outside of any job: to set things up, or in a test. In a handler, use
    /// [`Attempt::at_settle`](crate::Attempt::at_settle), which does them exactly once.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), linchpin::Error> {
    /// # let client = linchpin::Client::connect("memory://").await?;
    /// client.apply(|fx| fx.set("stock:A1", "10")).await?;
    /// assert_eq!(client.value("stock:A1").await?.and_then(|value| value.as_int()), Some(10));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] as [`Attempt::at_settle`](crate::Attempt::at_settle), and for jobs or a result, which belong to a job;
    /// [`Error::Refused`] with the reason when a check fails; [`Error::Unknown`] when no answer came: it is not sent again.
    ///
    /// # Redis
    /// One round trip.
    pub async fn apply(&self, say: impl FnOnce(&mut Effects)) -> Result<(), Error> {
        let (mut said, mut effects) = (Effects::default(), Effects::default());
        say(&mut said);
        effects.take(said, |key| self.store().is_own_key(key))?;
        if !effects.jobs.is_empty() || effects.result.is_some() {
            let allowed = "effects on keys only: enqueue with `Client::enqueue`; a result is a job's";
            return Err(Invalid::new("effects", "a job or a result", allowed).into());
        }
        if effects.is_empty() {
            return Ok(());
        }
        let refused = |code: &str, advice| Error::Refused {
            action: format!("apply effects on {}", self.store().describe()),
            code: code.into(),
            advice,
            transient: false,
        };
        match self.store().apply(effects.effects).await? {
            Applied::Done => Ok(()),
            Applied::Refused(why) => Err(refused("effects", format!("{why}; nothing was applied"))),
            Applied::Broken(why) => Err(refused("effects", format!("{why}; those before it were applied"))),
        }
    }

    /// Reads what stands under a key that effects change; `None` when nothing does. On the embedded store this is the only way to read it.
    ///
    /// # Errors
    /// [`Error::Refused`] when it has more than 10,000 elements, or is of a kind that no effect makes; [`Error::Unreachable`].
    ///
    /// # Redis
    /// One round trip.
    pub async fn value(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        self.store().value(key.as_ref()).await
    }
}
