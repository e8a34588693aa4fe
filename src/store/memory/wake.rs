//! Wake: idle workers wait for a mark of one of their queues.

use std::time::Duration;

use super::MemoryStore;
use crate::names::QueueName;

impl MemoryStore {
    /// Takes the marks of these queues, as soon as there is one; none after `patience`.
    pub(super) async fn wake_for(&self, queues: &[QueueName], patience: Duration) -> Vec<QueueName> {
        let marked = async {
            loop {
                // Registered before the look, so that a mark armed in between is not missed.
                let mut armed = std::pin::pin!(self.marked.notified());
                armed.as_mut().enable();
                let taken = self.take_marks(queues);
                if !taken.is_empty() {
                    return taken;
                }
                armed.await;
            }
        };
        tokio::time::timeout(patience, marked).await.unwrap_or_default()
    }

    fn take_marks(&self, queues: &[QueueName]) -> Vec<QueueName> {
        let mut state = self.state();
        queues.iter().filter(|queue| state.marks.remove(*queue)).cloned().collect()
    }
}
