//! Runs a gateway between the process's standard streams and its servers.

use std::io;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_transport::{
    Frame, Frames, Item, Output, ServerEvent, Sink, input, one_line, output,
};
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;

use crate::error::{refused, too_large};
use crate::{GatewayError, Hub, Incoming, Session};

/// Maximum size, in bytes, of a client's message. It is held in memory.
const MOST_FROM_CLIENT: usize = 64 << 20;

/// Passes messages between the process's standard streams and the servers until the client closes
/// its end. Returns the exit code of the process: 1 if all servers have ended on their own, 128 + n
/// after signal n, otherwise 0.
pub async fn run(hub: Arc<Hub>) -> Result<u8, GatewayError> {
    // Signals must be caught before the servers start, because a signal must then also end the
    // servers.
    let mut signals = Signals::new().map_err(GatewayError::Stdio)?;
    let mut from_client = Frames::new(input().map_err(GatewayError::Stdio)?);
    let to = Arc::new(Client {
        output: Mutex::new(output().map_err(GatewayError::Stdio)?),
    });
    let session = hub.session(to.clone());
    session.start().await?;
    let client = Arc::clone(&session);
    let mut pump = tokio::spawn(async move {
        loop {
            match from_client.next(MOST_FROM_CLIENT).await {
                Ok(Some(frame)) => client.take(Incoming::new(frame)).await,
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    to.take(ServerEvent::message(too_large(MOST_FROM_CLIENT)))
                        .await;
                }
                Ok(None) | Err(_) => break,
            }
        }
    });
    tokio::select! {
        code = signals.next() => {
            session.close(true).await;
            return Ok(code);
        }
        _ = &mut pump => {}
    }
    let code = u8::from(session.has_lost_its_servers());
    finish(&session, &mut signals).await;
    Ok(code)
}

/// Waits until requests in flight are answered after the client has closed its end, or until a
/// signal arrives.
async fn finish(session: &Arc<Session>, signals: &mut Signals) {
    tokio::select! {
        () = session.close(false) => {}
        _ = signals.next() => session.close(true).await,
    }
}

/// The signals that end a gateway.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Starts catching the signals.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal and returns its exit code.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 128 + 15,
            _ = self.interrupt.recv() => 128 + 2,
            _ = self.hangup.recv() => 128 + 1,
        }
    }
}

/// The client that reads our standard output.
struct Client {
    output: Mutex<Output>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// Writes a message that is too large for memory.
    async fn large(&self, frame: Frame) {
        let mut pieces = match frame.into_pieces() {
            Ok(pieces) => pieces.one_line(),
            Err(error) => {
                tracing::warn!(%error, "a large message could not be read from the store; the client does not get it");
                return;
            }
        };
        let mut output = self.output.lock().await;
        loop {
            match pieces.next().await {
                Ok(Some(block)) if output.write_all(&block).await.is_ok() => {}
                Ok(Some(_)) => return,
                Ok(None) => break,
                Err(error) => {
                    // A part of the line has been written, so all that can be done is to end the
                    // line.
                    tracing::warn!(%error, "a large message could not be read to its end; the client gets a line that is not complete JSON");
                    drop(output.write_all(b"\n").await);
                    break;
                }
            }
        }
        drop(output.flush().await);
    }
}

impl Sink for Client {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        async move {
            let frame = match event.item {
                Item::Message(Frame::Memory(frame)) => one_line(frame),
                Item::Message(frame) => return self.large(frame).await,
                Item::Refused(refusal) => match event.of {
                    Some(of) => refused(&of, &refusal).into(),
                    None => return,
                },
                // Standard output is a single stream, which cannot break and cannot be resumed.
                Item::Mark { .. } | Item::Ended | Item::Failed(_) | Item::Gone(_) => return,
            };
            let mut output = self.output.lock().await;
            let written = output.write_all(&frame).await;
            if written.and(output.flush().await).is_err() {
                tracing::debug!("the client no longer reads the output of the gateway");
            }
        }
        .boxed()
    }
}
