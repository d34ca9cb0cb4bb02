//! The last lines that a server wrote to its standard error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Bytes that are kept.
const MOST: usize = 2 << 10;

/// Lines of the kept bytes that are reported.
const LINES: usize = 4;

/// Bytes read at a time.
const BLOCK: usize = 8 << 10;

/// The end of what a process writes to its standard error.
#[derive(Debug)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reading: JoinHandle<()>,
}

impl StderrTail {
    /// Reads everything, so that the process never blocks, and keeps the end.
    pub(crate) fn of(mut stderr: ChildStderr) -> Self {
        let kept = Arc::<Mutex<VecDeque<u8>>>::default();
        let keeps = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let mut block = vec![0; BLOCK];
            while let Ok(read @ 1..) = stderr.read(&mut block).await {
                let mut kept = keeps.lock();
                kept.extend(&block[..read]);
                let surplus = kept.len().saturating_sub(MOST);
                kept.drain(..surplus);
            }
        });
        Self { kept, reading }
    }

    /// Returns the last lines, joined into one, after the process has ended. Its children may keep
    /// the pipe open, so the wait is at most `patience`. `None` if it wrote nothing.
    pub(crate) async fn told(mut self, patience: Duration) -> Option<String> {
        if timeout(patience, &mut self.reading).await.is_err() {
            self.reading.abort();
        }
        let kept: Vec<u8> = {
            let kept = self.kept.lock();
            kept.iter().copied().collect()
        };
        let text = String::from_utf8_lossy(&kept);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut last: Vec<&str> = lines.rev().take(LINES).collect();
        last.reverse();
        let told = spillgate_untrusted::line(&last.join(" / "), usize::MAX);
        Some(told).filter(|told| !told.is_empty())
    }
}
