//! The channel that carries server events from a client's streams to a response.
//!
//! Through a channel with few places. A reader that does not keep up makes its
//! sender wait, so that bursts are smoothed; but one that has used up the
//! patience is cut off, so that it holds up nobody else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use spillgate_mcp::RequestId;
use spillgate_transport::ServerEvent;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, timeout};

/// Parcels that wait for a reader.
const PLACES: usize = 64;

/// Time that all senders together wait for a reader before it has caught up
/// once.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server event on its way to a response.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) server_event: ServerEvent,
    /// The stream ends with it.
    pub(crate) is_last: bool,
    /// Requests that it leaves without an answer.
    pub(crate) unanswered: Vec<RequestId>,
}

/// The end of a stream that server events are put into.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    /// Which stream of its desk.
    pub(crate) stream: u64,
    to: mpsc::Sender<Letter>,
    patience: Arc<Mutex<Duration>>,
}

/// The end that they come out of.
#[derive(Debug)]
pub(crate) struct Inlet {
    /// Which stream of its desk.
    pub(crate) stream: u64,
    first: VecDeque<Letter>,
    from: mpsc::Receiver<Letter>,
}

/// A letter and where it goes.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) outlet: Outlet,
    pub(crate) letter: Letter,
}

impl Inlet {
    pub(crate) fn open(stream: u64) -> (Outlet, Self) {
        let (to, from) = mpsc::channel(PLACES);
        let outlet = Outlet {
            stream,
            to,
            patience: Arc::new(Mutex::new(PATIENCE)),
        };
        let inlet = Self {
            stream,
            first: VecDeque::new(),
            from,
        };
        (outlet, inlet)
    }

    /// Parcels that come before all others.
    pub(crate) fn begin_with(&mut self, server_events: impl Iterator<Item = ServerEvent>) {
        let letter = |server_event| Letter {
            server_event,
            is_last: false,
            unanswered: Vec::new(),
        };
        self.first.extend(server_events.map(letter));
    }

    /// The next server event; `None` when the stream has ended. Nothing is lost when
    /// the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Letter> {
        match self.first.pop_front() {
            Some(letter) => Some(letter),
            None => self.from.recv().await,
        }
    }
}

impl Outlet {
    /// Whether there is a reader.
    pub(crate) fn is_read(&self) -> bool {
        !self.to.is_closed()
    }

    async fn push(&self, letter: Letter) -> bool {
        if self.to.capacity() == PLACES {
            self.set_patience(PATIENCE);
        }
        let letter = match self.to.try_send(letter) {
            Ok(()) => return true,
            Err(TrySendError::Closed(_)) => return false,
            Err(TrySendError::Full(letter)) => letter,
        };
        let patience = *self.patience.lock();
        let since = Instant::now();
        let is_sent = timeout(patience, self.to.send(letter)).await;
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

impl Delivery {
    /// Whether it reached a reader, or will.
    pub(crate) async fn hand_over(self) -> bool {
        self.outlet.push(self.letter).await
    }
}
