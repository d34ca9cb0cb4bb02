//! The last lines that a server wrote to its standard error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Maximum number of bytes that are kept.
const MOST: usize = 2 << 10;

/// Maximum number of lines that are reported.
const LINES: usize = 4;

/// Maximum number of bytes read in one block.
const BLOCK: usize = 8 << 10;

/// The last output of a process on its standard error.
#[derive(Debug)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reading: JoinHandle<()>,
}

impl StderrTail {
    /// Reads all output, so that the process never blocks, and keeps the last bytes.
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

    /// Returns the last lines, joined into one line, after the process has ended. Waits for at most
    /// `patience`, because the children of the process may keep the pipe open. `None` if there was
    /// no output.
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
