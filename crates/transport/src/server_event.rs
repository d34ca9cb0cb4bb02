//! What comes back from a server, and on which stream?

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::de::IgnoredAny;
use spillgate_store::StoreError;

use crate::{ConnectionError, Pieces, Spooled};
use spillgate_mcp::{RequestId, broken_answer, is_answer, messages};

/// One JSON-RPC message, or a batch of them. Printed without its bytes.
pub enum Frame {
    /// Its bytes, as they came; with the line end, if it had one.
    Memory(Bytes),
    /// It is too large for the memory: its largest member is in a draft of the
    /// store.
    Spooled(Box<Spooled>),
    /// To be written from pieces, of which some are stored.
    Pieces(Pieces),
}

impl Frame {
    /// Its bytes, to be written; the store's error if they are lost.
    pub fn into_pieces(self) -> Result<Pieces, StoreError> {
        match self {
            Self::Memory(bytes) => {
                let mut pieces = Pieces::default();
                pieces.push(bytes);
                Ok(pieces)
            }
            Self::Spooled(spooled) => spooled.into_pieces(),
            Self::Pieces(pieces) => Ok(pieces),
        }
    }
}

impl Frame {
    /// Whether it answers a request, or is a batch. Read as far as the member
    /// that tells it, which is mostly one of the first.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Memory(bytes) => is_answer(bytes),
            Self::Spooled(spooled) => is_answer(spooled.stand_in()),
            Self::Pieces(pieces) => pieces.is_answer(),
        }
    }

    /// Whether nothing is missing at its end, where nothing else tells it.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Memory(bytes) => serde_json::from_slice::<IgnoredAny>(bytes).is_ok(),
            Self::Spooled(spooled) => spooled.is_sound(),
            Self::Pieces(_) => true,
        }
    }

    /// Whether it can be read: as a message or as a batch. What is written from
    /// pieces was read before.
    #[must_use]
    pub fn is_message(&self) -> bool {
        match self {
            Self::Memory(bytes) => !messages(bytes).is_empty(),
            Self::Spooled(spooled) => spooled.is_sound(),
            Self::Pieces(_) => true,
        }
    }

    /// The request that it was to answer, if it is cut off or not UTF-8 and its id
    /// can be read all the same.
    #[must_use]
    pub fn broken_answer(&self) -> Option<RequestId> {
        match self {
            Self::Memory(bytes) => broken_answer(bytes),
            Self::Spooled(spooled) => spooled.broken_answer(),
            Self::Pieces(_) => None,
        }
    }

    /// Whether nothing is in it but gaps.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Memory(bytes) if bytes.trim_ascii().is_empty())
    }

    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Spooled(spooled) => spooled.len(),
            Self::Pieces(pieces) => pieces.len(),
        }
    }

    /// Whether it has no bytes at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message, or the one in small of which one value is in a draft of the store.
    #[must_use]
    pub fn in_small(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Spooled(spooled) => spooled.stand_in(),
            Self::Pieces(_) => &[],
        }
    }

    /// Its bytes, if they are all in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Spooled(_) | Self::Pieces(_) => None,
        }
    }
}

/// Something that came from a server, or goes to a client.
#[derive(Debug)]
pub struct ServerEvent {
    /// The client's request on whose stream it travels; `None` where it belongs
    /// to none, or the transport has a single stream.
    pub of: Option<RequestId>,
    /// The id of the server-sent event that brought it, by which a broken stream
    /// is taken up again.
    pub event: Option<String>,
    /// What it is.
    pub item: Item,
}

/// What a server event holds.
#[derive(Debug)]
pub enum Item {
    /// A message.
    Message(Frame),
    /// An event without a message: it only names a place in the stream, and
    /// says how long to wait before taking it up again. Without either it says
    /// that there is a stream.
    Mark {
        /// The `retry` of the event.
        retry: Option<Duration>,
    },
    /// The server refused the request on the level of HTTP.
    Refused(Refusal),
    /// The stream ended before the answer came; it may be taken up again.
    Ended,
    /// This one request failed on its way.
    Failed(ConnectionError),
    /// The server is gone: nothing that waits will be answered. Says how it
    /// ended, such as `exited with status 1`.
    Gone(String),
}

/// An HTTP response that is no answer in the protocol's sense. Printed without
/// its body.
#[derive(Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// The server does not know our session any more: only another `initialize`
    /// leads on.
    pub session_lost: bool,
    /// The body, up to 64 KiB of it.
    pub body: Bytes,
    /// What the gateway calls the server, once that is known.
    pub server: Option<String>,
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) => write!(f, "Memory({} bytes)", bytes.len()),
            Self::Spooled(spooled) => spooled.fmt(f),
            Self::Pieces(pieces) => pieces.fmt(f),
        }
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal")
            .field("status", &self.status)
            .field("content_type", &self.content_type)
            .field("session_lost", &self.session_lost)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}

/// Where server events go.
pub trait Sink: Send + Sync + fmt::Debug {
    /// Takes a server event; done once there is room for the next.
    fn take(&self, server_event: ServerEvent) -> BoxFuture<'_, ()>;
}

impl ServerEvent {
    /// A message on no request's stream.
    #[must_use]
    pub fn message(frame: impl Into<Bytes>) -> Self {
        Self {
            of: None,
            event: None,
            item: Item::Message(Frame::Memory(frame.into())),
        }
    }

    /// The same on the stream of a request.
    #[must_use]
    pub fn of(self, of: Option<RequestId>) -> Self {
        Self { of, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_on_the_stream_that_it_was_put_on() {
        let key = RequestId::of(serde_json::from_str("7").unwrap()).unwrap();
        let server_event = ServerEvent::message("{}").of(Some(key.clone()));
        assert_eq!(server_event.of, Some(key));
        assert_eq!(ServerEvent::message("{}").of, None);
    }
}
