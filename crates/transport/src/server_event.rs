//! Events from a server: messages, refusals and ends, each with the stream it came on.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::de::IgnoredAny;
use spillgate_store::StoreError;

use crate::{ConnectionError, Pieces, Spooled};
use spillgate_mcp::{RequestId, broken_answer, is_answer, messages};

/// One JSON-RPC message or a batch. `Debug` does not print its bytes.
pub enum Frame {
    /// The bytes as they came, including the line end if there was one.
    Memory(Bytes),
    /// A message too large for memory: its largest member lies in a draft of the store.
    Spooled(Box<Spooled>),
    /// A message to be written from pieces, some of which are stored.
    Pieces(Pieces),
}

impl Frame {
    /// Converts the frame to pieces for writing. Fails with the store's error if its bytes are
    /// lost.
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
    /// Whether it is a response or a batch. Parses only up to the member that decides, usually one
    /// of the first.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Memory(bytes) => is_answer(bytes),
            Self::Spooled(spooled) => is_answer(spooled.stand_in()),
            Self::Pieces(pieces) => pieces.is_answer(),
        }
    }

    /// Whether its end is complete. Used when the transport does not tell.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Memory(bytes) => serde_json::from_slice::<IgnoredAny>(bytes).is_ok(),
            Self::Spooled(spooled) => spooled.is_sound(),
            Self::Pieces(_) => true,
        }
    }

    /// Whether it is a readable message or batch. Pieces always are: they were parsed before.
    #[must_use]
    pub fn is_message(&self) -> bool {
        match self {
            Self::Memory(bytes) => !messages(bytes).is_empty(),
            Self::Spooled(spooled) => spooled.is_sound(),
            Self::Pieces(_) => true,
        }
    }

    /// The request that a malformed frame (cut off or not UTF-8) answers; `None` if its id cannot
    /// be read.
    #[must_use]
    pub fn broken_answer(&self) -> Option<RequestId> {
        match self {
            Self::Memory(bytes) => broken_answer(bytes),
            Self::Spooled(spooled) => spooled.broken_answer(),
            Self::Pieces(_) => None,
        }
    }

    /// Whether it contains only whitespace.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Memory(bytes) if bytes.trim_ascii().is_empty())
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Spooled(spooled) => spooled.len(),
            Self::Pieces(pieces) => pieces.len(),
        }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message in memory. For a spooled message, its stand-in, in which the large value is
    /// replaced by its skeleton; empty for pieces.
    #[must_use]
    pub fn in_small(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Spooled(spooled) => spooled.stand_in(),
            Self::Pieces(_) => &[],
        }
    }

    /// The bytes, if they are all in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Spooled(_) | Self::Pieces(_) => None,
        }
    }
}

/// An event that came from a server or goes to a client.
#[derive(Debug)]
pub struct ServerEvent {
    /// The client's request on whose stream it travels; `None` if it belongs to none, or the
    /// transport has a single stream.
    pub of: Option<RequestId>,
    /// The id of the server-sent event that carried it. A broken stream is resumed after this id.
    pub event: Option<String>,
    /// The content.
    pub item: Item,
}

/// The content of a server event.
#[derive(Debug)]
pub enum Item {
    /// A message.
    Message(Frame),
    /// An event without a message. It only marks a position in the stream and gives the delay
    /// before resuming. With neither, it announces that a stream is open.
    Mark {
        /// The `retry` field of the event.
        retry: Option<Duration>,
    },
    /// The server refused the request at the HTTP level.
    Refused(Refusal),
    /// The stream ended before the response came; it may be resumed.
    Ended,
    /// This request failed in transit.
    Failed(ConnectionError),
    /// The server has ended, so no waiting request gets a response. Says how it ended, such as
    /// `exited with status 1`.
    Gone(String),
}

/// An HTTP response that is no MCP response. `Debug` does not print its body.
#[derive(Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// The server does not know our session any more. Only a new `initialize` helps.
    pub session_lost: bool,
    /// The body, at most its first 64 KiB.
    pub body: Bytes,
    /// The gateway's name for the server, once it is known.
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

/// A receiver of server events.
pub trait Sink: Send + Sync + fmt::Debug {
    /// Takes an event. Completes once there is room for the next.
    fn take(&self, server_event: ServerEvent) -> BoxFuture<'_, ()>;
}

impl ServerEvent {
    /// A message that belongs to no request's stream.
    #[must_use]
    pub fn message(frame: impl Into<Bytes>) -> Self {
        Self {
            of: None,
            event: None,
            item: Item::Message(Frame::Memory(frame.into())),
        }
    }

    /// Puts the event on the stream of a request.
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
