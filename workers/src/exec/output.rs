//! What a command prints: standard output goes to the log, the end of standard error is kept for the job's error. Both are bounded.

use std::sync::{Mutex, PoisonError};

use linchpin::limits::ERROR_MAX_BYTES;
use linchpin::names::JobId;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Lines of one attempt that are logged; more are counted.
const LINES_MAX: usize = 200;
/// Bytes of a logged line.
const LINE_MAX_BYTES: usize = 1024;
const PIECE: usize = 8 << 10;
/// Bytes of standard error that are kept: an error, less what is said before it.
const TAIL_MAX_BYTES: usize = ERROR_MAX_BYTES - 64;

/// Logs lines until the end.
pub(super) async fn log(from: Option<impl AsyncRead + Unpin>, job: JobId) {
    let Some(mut from) = from else { return };
    let (mut line, mut lines) = (Vec::new(), 0);
    let mut piece = vec![0; PIECE];
    let say = |line: &mut Vec<u8>, lines: &mut usize| {
        *lines += 1;
        if *lines <= LINES_MAX {
            tracing::info!(job.id = %job, line = %String::from_utf8_lossy(line), "command printed");
        }
        line.clear();
    };
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        for byte in &piece[..read] {
            match byte {
                b'\n' => say(&mut line, &mut lines),
                _ if line.len() < LINE_MAX_BYTES => line.push(*byte),
                _ => {}
            }
        }
    }
    if !line.is_empty() {
        say(&mut line, &mut lines);
    }
    if lines > LINES_MAX {
        tracing::info!(job.id = %job, lines = lines - LINES_MAX, "command printed more, which is not logged");
    }
}

/// The last bytes of a stream.
#[derive(Default)]
pub(super) struct Tail(Mutex<Vec<u8>>);

impl Tail {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let over = kept.len().saturating_sub(TAIL_MAX_BYTES);
        kept.drain(..over);
    }

    /// It as text, from the first whole character on.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = kept.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
        String::from_utf8_lossy(&kept[begin..]).replace('\0', " ")
    }
}

/// Keeps the end of a stream.
pub(super) async fn keep(from: Option<impl AsyncRead + Unpin>, tail: &Tail) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        tail.add(&piece[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept_from_a_whole_character_on() {
        let tail = Tail::default();
        let text = "x".to_owned() + &"é".repeat(ERROR_MAX_BYTES);
        keep(Some(text.as_bytes()), &tail).await;
        let kept = tail.text();
        assert!(kept.len() <= TAIL_MAX_BYTES && kept.chars().all(|c| c == 'é'), "{kept}");
    }
}
