//! The releaser: sends the release of a guard, or of an acquisition under way, that was dropped.

use std::sync::Arc;
use std::time::Duration;

use super::agenda::{Agenda, Release};
use crate::clock::LeaseInstant;
use crate::store::Store;

/// First wait before a release without an answer is sent again; it doubles up to [`AGAIN_CAP`].
const AGAIN: Duration = Duration::from_millis(50);
const AGAIN_CAP: Duration = Duration::from_secs(2);

/// Sends it until it is answered, or the hold has ended by itself.
pub(super) async fn release(store: Arc<dyn Store>, agenda: Arc<Agenda>, release: Release) {
    let _settled = Settled(agenda);
    let mut wait = AGAIN;
    loop {
        let kept = release.kept.map_or(Duration::ZERO, LeaseInstant::remaining);
        let answer = match kept {
            // in line or held: this ends both
            Duration::ZERO => store.give_up(&release.key, &release.token).await,
            kept => store.keep(&release.key, &release.token, kept).await,
        };
        match answer {
            Ok(_) => return,
            Err(error) if release.until.remaining() < wait => {
                tracing::warn!(lock.key = %release.key, %error, "a dropped lock was not released before its time");
                return;
            }
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait = (wait * 2).min(AGAIN_CAP);
    }
}

struct Settled(Arc<Agenda>);

impl Drop for Settled {
    fn drop(&mut self) {
        self.0.settle();
    }
}
