//! The vocabulary of MCP: versions, ids, error codes, envelopes, frames.
//!
//! Received messages are parsed only as far as needed, and their bytes are kept. [`Envelope`] and
//! [`ObjectView`] borrow from the frame, and [`ByteEdits`] replace a few ranges of it. The module
//! [`frame`] writes the messages that we send ourselves.

mod byte_edits;
mod envelope;
pub mod error_code;
pub mod frame;
pub mod meta;
mod method;
mod object_view;
mod request_id;
mod version;

pub use byte_edits::ByteEdits;
pub use envelope::{
    Envelope, broken_answer, is_answer, is_message, messages, object, object_in, span_in,
};
pub use method::CLIENT_METHODS;
pub use object_view::ObjectView;
pub use request_id::RequestId;
pub use version::{Generation, ProtocolVersion, generation_of_client, generation_of_server};
