//! MCP messages as bytes, and the ways that they travel.
//!
//! A message is a [`Frame`]: its envelope is read, its bytes are kept. It comes
//! from an upstream server through a [`Link`], which puts it into a [`Sink`] as a
//! [`Parcel`]: with the request on whose stream it came, where the transport
//! has streams.
//!
//! ```text
//!            Message            Link
//! client ──▶ Session ──────────▶ child │ http │ sse ──▶ server
//! client ◀── Sink ◀── Session ◀── Sink ◀── Parcel ◀──── server
//! ```

mod authority;
mod child;
mod http;
mod intake;
mod last_words;
mod link;
mod parcel;
mod pieces;
mod skeleton;
mod spooled;
mod stdio;
mod ways;

pub use authority::{Authority, NoCredential, Refused};
pub use child::{ChildLink, ServerCommand, ServerLog};
pub use http::{
    EventDecoder, EventPiece, EventTags, HttpLink, HttpOptions, ParamHeaders, SseLink, http_client,
    request_headers,
};
pub use intake::{DEFAULT_SPOOL_BYTES, Intake, Taking, TooLong};
pub use link::{HttpServer, Link, LinkError, Message, ServerSpec, Via};
pub use parcel::{Frame, Item, Parcel, Refusal, Sink};
pub use pieces::Pieces;
pub use skeleton::{Filled, Skeleton};
pub use spooled::{Filling, LostValue, Spooled, SpooledValue, StandIn};
pub use stdio::{Frames, Input, Output, input, one_line, output};
pub use ways::{Access, AccessTo, Opener, Ways};
