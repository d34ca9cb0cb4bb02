//! Messages as frames, and the events of a server: messages, rejected requests and closed streams, each with the stream on
//! which it arrived.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use memchr::memchr;
use serde::de::IgnoredAny;
use spillgate_store::StoreError;

use crate::{ConnectionError, Pieces, Spooled};
use spillgate_mcp::{RequestId, broken_answer, is_answer, messages};

/// One JSON-RPC message or a batch. `Debug` does not print its bytes.
pub enum Frame {
    /// The bytes as they arrived, including the line end if there was one.
    Memory(Bytes),
    /// A message too large for memory. Its largest member is in a draft of the store.
    Spooled(Box<Spooled>),
    /// A message that is written from pieces, some of which are in the store.
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
    /// Whether the frame is a response or a batch. Parsing stops at the member that decides this,
    /// usually one of the first.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Memory(bytes) => is_answer(bytes),
            Self::Spooled(spooled) => is_answer(spooled.stand_in()),
            Self::Pieces(pieces) => pieces.is_answer(),
        }
    }

    /// Whether the frame is complete. Needed when the transport does not mark the end of a message.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Memory(bytes) => serde_json::from_slice::<IgnoredAny>(bytes).is_ok(),
            Self::Spooled(spooled) => spooled.is_sound(),
            Self::Pieces(_) => true,
        }
    }

    /// Whether the frame is a readable message or batch. Pieces always are, because they were made
    /// from parsed messages.
    #[must_use]
    pub fn is_message(&self) -> bool {
        match self {
            Self::Memory(bytes) => !messages(bytes).is_empty(),
            Self::Spooled(spooled) => spooled.is_sound(),
            Self::Pieces(_) => true,
        }
    }

    /// Returns the request that a malformed frame (truncated or not UTF-8) answers; `None` if its
    /// id cannot be read.
    #[must_use]
    pub fn broken_answer(&self) -> Option<RequestId> {
        match self {
            Self::Memory(bytes) => broken_answer(bytes),
            Self::Spooled(spooled) => spooled.broken_answer(),
            Self::Pieces(_) => None,
        }
    }

    /// Whether the frame contains only whitespace.
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

    /// Whether the frame has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of a message in memory. For a spooled message, returns its stand-in, in
    /// which the skeleton replaces the large value. Empty for pieces.
    #[must_use]
    pub fn in_small(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Spooled(spooled) => spooled.stand_in(),
            Self::Pieces(_) => &[],
        }
    }

    /// Returns the bytes if all of them are in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Spooled(_) | Self::Pieces(_) => None,
        }
    }
}

/// Returns the message as one line with its line end. A message from HTTP may span several lines.
/// In JSON, raw line ends are allowed only outside of strings, so replacing them with spaces does
/// not change the meaning.
#[must_use]
pub fn one_line(frame: Bytes) -> Bytes {
    let text = frame.trim_ascii_end();
    if text.len() + 1 == frame.len() && frame.ends_with(b"\n") && memchr(b'\n', text).is_none() {
        return frame;
    }
    let flat = |&byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            byte
        }
    };
    let mut line: Vec<u8> = match memchr(b'\n', &frame) {
        Some(at) if at < text.len() => text.iter().map(flat).collect(),
        end => frame[..end.unwrap_or(frame.len())].to_vec(),
    };
    line.push(b'\n');
    line.into()
}

/// An event that a server sent, or that is sent to a client.
#[derive(Debug)]
pub struct ServerEvent {
    /// The client's request on whose stream the event travels. `None` if it belongs to no request,
    /// or if the transport uses a single stream.
    pub of: Option<RequestId>,
    /// The id of the server-sent event that contained this content. A broken stream is resumed
    /// after this id.
    pub event: Option<String>,
    /// The content.
    pub item: Item,
}

/// The content of a server event.
#[derive(Debug)]
pub enum Item {
    /// A message.
    Message(Frame),
    /// An event without a message. It marks a position in the stream and can set the delay before
    /// resuming. Without an id and a delay, it announces that the stream is open.
    Mark {
        /// The `retry` field of the event.
        retry: Option<Duration>,
    },
    /// The server refused the request at the HTTP level.
    Refused(Refusal),
    /// The stream ended before the response arrived. It can be resumed.
    Ended,
    /// This request failed in transit.
    Failed(ConnectionError),
    /// The server has ended, so no waiting request will get a response. The text says how it ended,
    /// such as `exited with status 1`.
    Gone(String),
}

/// An HTTP response that is not an MCP response. `Debug` does not print its body.
#[derive(Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<String>,
    /// The `WWW-Authenticate` header.
    pub challenge: Option<String>,
    /// Whether the server no longer knows our session. A new `initialize` is then needed.
    pub session_lost: bool,
    /// The body, at most its first 64 KiB.
    pub body: Bytes,
    /// The gateway's name for the server, if known.
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
    /// Takes an event. The future completes when there is room for the next event.
    fn take(&self, server_event: ServerEvent) -> BoxFuture<'_, ()>;

    /// Returns the sink to which this one passes all messages unchanged, if that will not change any
    /// more. A connection then gives messages to that sink directly. The end of the server
    /// ([`Item::Gone`]) still goes through this sink.
    fn direct(&self) -> Option<Arc<dyn Sink>> {
        None
    }
}

impl ServerEvent {
    /// Returns the event of a message that belongs to no request's stream.
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

    #[test]
    fn a_message_is_one_line() {
        for (frame, line) in [
            ("{\"a\":1}\n", "{\"a\":1}\n"),
            ("{\"a\":1}", "{\"a\":1}\n"),
            ("{\"a\":1}\r\n", "{\"a\":1}\r\n"),
            ("{\r\n  \"a\": 1\n}\n", "{    \"a\": 1 }\n"),
            ("{\"a\":1}\r\n\n\n", "{\"a\":1}\r\n"),
            ("\n\n", "\n"),
            ("", "\n"),
        ] {
            assert_eq!(
                one_line(Bytes::from_static(frame.as_bytes())),
                line,
                "{frame:?}"
            );
        }
    }
}
