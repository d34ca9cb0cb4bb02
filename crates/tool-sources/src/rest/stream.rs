//! Reads a response while it arrives.
//!
//! Results are read synchronously, on a thread of their own. An async task passes on only a few
//! blocks at a time, so that a response of any size takes little memory. An endless response is cut
//! off at the deadline.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use reqwest::Response;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout_at};

/// Maximum number of blocks that wait to be read.
const BLOCKS: usize = 8;

/// The limits at which a response is cut off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) deadline: Instant,
    /// The time from sending the request to the deadline, in seconds.
    pub(crate) seconds: u64,
    pub(crate) most_bytes: u64,
}

/// The body of a response. It must be read on a thread that may block.
#[derive(Debug)]
pub(crate) struct Stream {
    blocks: Receiver<io::Result<Bytes>>,
    /// The part of the current block that has not been read.
    left: Bytes,
}

impl Stream {
    /// Starts reading the body of `response`. `what` names the request. Dropping the stream stops
    /// the transfer.
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
