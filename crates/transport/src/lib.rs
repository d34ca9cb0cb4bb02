//! MCP messages as bytes, and the transports that carry them.
//!
//! A message is a [`Frame`]: its envelope is parsed, and its bytes are kept. The messages of an
//! upstream server arrive through a [`Connection`], which delivers each of them to a [`Sink`] as a
//! [`ServerEvent`]. If the transport has a stream per request, the event names the request on whose
//! stream the message arrived.
//!
//! ```text
//!            Message         Connection
//! client ──▶ Session ──────────▶ child │ http │ sse ──▶ server
//! client ◀── Sink ◀── Session ◀── Sink ◀── ServerEvent ◀──── server
//! ```

mod authority;
mod child;
mod connection;
mod connector;
mod frame_reader;
mod http;
mod pieces;
mod restart_backoff;
mod server_event;
mod skeleton;
mod spooled;
mod stderr_tail;
mod stdio;
mod unreadable;

pub use authority::{Authority, NoCredential, Refused};
pub use child::{ChildConnection, ServerCommand, ServerLog};
pub use connection::{Connection, ConnectionError, HttpServer, Message, ServerSpec, Transport};
pub use connector::{Access, AccessTo, Connector, StandardConnector};
pub use frame_reader::{DEFAULT_SPOOL_BYTES, FrameReader, Frames, Taking, TooLong};
pub use http::{
    EventDecoder, EventPiece, EventTags, HttpConnection, HttpOptions, ParamHeaders, SseConnection,
    http_client, request_headers,
};
pub use pieces::Pieces;
pub use restart_backoff::RestartBackoff;
pub use server_event::{Frame, Item, Refusal, ServerEvent, Sink, one_line};
pub use skeleton::{Filled, Skeleton};
pub use spooled::{Filling, Spooled, StandIn};
pub use stdio::{Input, Output, input, output};
