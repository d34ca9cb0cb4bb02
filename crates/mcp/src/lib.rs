//! The vocabulary of MCP, once: versions, ids, error codes, envelopes, and frames.
//!
//! Messages of others are read as far as they must be and keep their bytes: an
//! [`Envelope`] and an [`ObjectView`] borrow from the frame, [`ByteEdits`] change a few
//! places of it. Messages of ours are written by [`frame`].

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
