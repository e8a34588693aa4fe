//! How far an attempt is, as it stands behind its owner token in `progress:<id>`.

use crate::store::view::Progress;

/// `done|total|note`
pub(super) fn progress_text(progress: &Progress) -> String {
    format!("{}|{}|{}", progress.done, progress.total, progress.note)
}

/// Reads what [`progress_text`] wrote.
pub(super) fn progress_of(text: &[u8]) -> Option<Progress> {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.splitn(3, '|');
    Some(Progress {
        done: parts.next()?.parse().ok()?,
        total: parts.next()?.parse().ok()?,
        note: parts.next()?.to_owned(),
    })
}
