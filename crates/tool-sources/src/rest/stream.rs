//! Reads a response while it arrives.
//!
//! Readers of results are synchronous and have a thread of their own. A task passes a few blocks on
//! at a time, so that a response of any size takes little memory, and an endless one is cut off
//! after its time.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use reqwest::Response;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout_at};

/// Most blocks that wait to be read.
const BLOCKS: usize = 8;

/// The limits at which a response is cut off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) deadline: Instant,
    /// The time until the deadline when the request was sent, in seconds.
    pub(crate) seconds: u64,
    pub(crate) most_bytes: u64,
}

/// The body of a response, to be read on a thread that may block.
#[derive(Debug)]
pub(crate) struct Stream {
    blocks: Receiver<io::Result<Bytes>>,
    /// The rest of the block that is being read.
    left: Bytes,
}

impl Stream {
    /// Reads the body of `response` to the request `what`. Dropping it stops the transfer.
    pub(crate) fn new(response: Response, what: String, limits: Limits) -> Self {
        let (to, blocks) = channel(BLOCKS);
        tokio::spawn(async move {
            let gone = to.clone();
            tokio::select! {
                () = pass_on(response, &what, limits, &to) => {}
                () = gone.closed() => {}
            }
        });
        Self {
            blocks,
            left: Bytes::new(),
        }
    }
}

async fn pass_on(
    mut response: Response,
    what: &str,
    limits: Limits,
    to: &Sender<io::Result<Bytes>>,
) {
    let mut bytes = 0;
    loop {
        let block = match timeout_at(limits.deadline, response.chunk()).await {
            Ok(Ok(Some(block))) => block,
            Ok(Ok(None)) => return,
            Ok(Err(_)) => {
                let told = format!("{what} broke off after {bytes} bytes");
                return tell(to, io::ErrorKind::ConnectionAborted, told).await;
            }
            Err(_) => {
                let seconds = limits.seconds;
                let told = format!(
                    "{what} did not come to its end within {seconds} s ({bytes} bytes came)"
                );
                return tell(to, io::ErrorKind::TimedOut, told).await;
            }
        };
        bytes += block.len() as u64;
        if bytes > limits.most_bytes {
            let told = format!("{what} gave more than {} bytes", limits.most_bytes);
            return tell(to, io::ErrorKind::FileTooLarge, told).await;
        }
        if to.send(Ok(block)).await.is_err() {
            return; // the reader was dropped
        }
    }
}

async fn tell(to: &Sender<io::Result<Bytes>>, kind: io::ErrorKind, told: String) {
    drop(to.send(Err(io::Error::new(kind, told))).await);
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left.is_empty() {
            match self.blocks.blocking_recv() {
                Some(block) => self.left = block?,
                None => return Ok(0),
            }
        }
        let taken = self.left.len().min(buffer.len());
        self.left.copy_to_slice(&mut buffer[..taken]);
        Ok(taken)
    }
}
