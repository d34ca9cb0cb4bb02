//! The channel that passes server events from a client's streams to an HTTP response.
//!
//! The channel holds only a few events. If its reader is slow, the sender waits, which smooths
//! bursts. A reader for which senders have waited too long in total is cut off, so that it does not
//! delay others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use spillgate_mcp::RequestId;
use spillgate_transport::ServerEvent;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, timeout};

/// Maximum number of events that wait for the reader.
const PLACES: usize = 64;

/// Maximum total time that senders wait for a reader before it is cut off. The time starts again
/// when the reader has caught up.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server event on its way to a response.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    pub(crate) server_event: ServerEvent,
    /// Whether the stream ends with this event.
    pub(crate) is_last: bool,
    /// The requests that get no response because of this event.
    pub(crate) unanswered: Vec<RequestId>,
}

/// The sending end of a stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamSender {
    /// The number of the stream among the client's streams.
    pub(crate) stream: u64,
    to: mpsc::Sender<StreamEvent>,
    patience: Arc<Mutex<Duration>>,
}

/// The receiving end of a stream.
#[derive(Debug)]
pub(crate) struct StreamReceiver {
    /// The number of the stream among the client's streams.
    pub(crate) stream: u64,
    first: VecDeque<StreamEvent>,
    from: mpsc::Receiver<StreamEvent>,
}

/// A stream event and the stream that it goes to.
#[derive(Debug)]
pub(crate) struct RoutedEvent {
    pub(crate) sender: StreamSender,
    pub(crate) stream_event: StreamEvent,
}

impl StreamReceiver {
    pub(crate) fn open(stream: u64) -> (StreamSender, Self) {
        let (to, from) = mpsc::channel(PLACES);
        let sender = StreamSender {
            stream,
            to,
            patience: Arc::new(Mutex::new(PATIENCE)),
        };
        let receiver = Self {
            stream,
            first: VecDeque::new(),
            from,
        };
        (sender, receiver)
    }

    /// Inserts events that are read before all others.
    pub(crate) fn begin_with(&mut self, server_events: impl Iterator<Item = ServerEvent>) {
        let stream_event = |server_event| StreamEvent {
            server_event,
            is_last: false,
            unanswered: Vec::new(),
        };
        self.first.extend(server_events.map(stream_event));
    }

    /// Returns the next event; `None` when the stream has ended. If the future is dropped, no event
    /// is lost.
    pub(crate) async fn next(&mut self) -> Option<StreamEvent> {
        match self.first.pop_front() {
            Some(stream_event) => Some(stream_event),
            None => self.from.recv().await,
        }
    }
}

impl StreamSender {
    /// Whether the stream has a reader.
    pub(crate) fn is_read(&self) -> bool {
        !self.to.is_closed()
    }

    async fn push(&self, stream_event: StreamEvent) -> bool {
        if self.to.capacity() == PLACES {
            self.set_patience(PATIENCE);
        }
        let stream_event = match self.to.try_send(stream_event) {
            Ok(()) => return true,
            Err(TrySendError::Closed(_)) => return false,
            Err(TrySendError::Full(stream_event)) => stream_event,
        };
        let patience = *self.patience.lock();
        let since = Instant::now();
        let is_sent = timeout(patience, self.to.send(stream_event)).await;
        self.set_patience(patience.saturating_sub(since.elapsed()));
        if is_sent.is_err() {
            tracing::warn!("a client does not read its stream; the stream is ended");
        }
        matches!(is_sent, Ok(Ok(())))
    }

    fn set_patience(&self, to: Duration) {
        *self.patience.lock() = to;
    }
}

impl RoutedEvent {
    /// Sends the event. Returns whether it was put into the reader's channel.
    pub(crate) async fn hand_over(self) -> bool {
        self.sender.push(self.stream_event).await
    }
}
