//! How are stored bytes made readable?
//!
//! Raw bytes are kept as they came; beside them stands a *view*: text that
//! line tools can use (SPEC 2.1). A view is made by at most one transformation
//! ([`Sanitizer`] or [`JsonLayout`]; most text needs none), is cut into *view
//! lines* by one rule ([`line_end`]) and carries a sparse [`LineIndex`], so that
//! line 7,000,000 is a seek. Every view line leads back to its raw bytes.
//!
//! Long lines are broken only in the index, never in the text: valid JSON stays
//! valid, and pages put together are the text again (ADR 3).
//!
//! ```
//! use spillgate_view::{Indexer, View};
//! use spillgate_artifact::Layout;
//! use std::sync::Arc;
//!
//! let text = b"one\ntwo\nthree".to_vec();
//! let mut indexer = Indexer::as_is(Layout::AsIs);
//! indexer.feed(&text);
//! let view = View::new(Arc::new(text), indexer.finish(), Layout::AsIs);
//! assert_eq!(view.lines(), 3);
//! assert_eq!(view.offset_of_line(2)?, 4);
//! # Ok::<(), std::io::Error>(())
//! ```

mod clip;
mod decoded;
mod grid;
mod index;
mod jq_path;
mod json;
mod json_decoder;
mod json_string;
mod lines;
mod replay;
mod sanitize;
mod transcoded;
mod view;

pub use clip::clip;
pub use decoded::Decoded;
pub use grid::{LineGrid, Newline};
pub use index::{Anchor, IndexError, Indexer, LineIndex};
pub use jq_path::{is_plain_key, push_elements, push_key};
pub use json::JsonLayout;
pub use json_decoder::JsonStringDecoder;
pub use json_string::{decode_json_string, raw_offset};
pub use lines::{HARD_BYTES, SOFT_CHARS, line_end};
pub use replay::raw_range;
pub use sanitize::Sanitizer;
pub use transcoded::Transcoded;
pub use view::{LineSpan, Lines, View};

/// Takes what a transformation writes.
pub trait ViewSink {
    /// The next bytes of the view.
    fn text(&mut self, bytes: &[u8]) -> std::io::Result<()>;

    /// The next byte begins a line that was made from the text at `origin`.
    fn line(&mut self, origin: u64);
}

/// The text alone.
impl ViewSink for Vec<u8> {
    fn text(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, _: u64) {}
}
