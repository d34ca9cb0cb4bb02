//! Measures texts, detects their kind and encoding, and makes readable views of stored bytes.
//!
//! **Measuring**: one pass over the bytes as they arrive ([`Scan`]), exact token counts that can
//! stop early ([`TokenCounter`]), and detection of the kind of content and the encoding from a
//! sample ([`classify`], [`Encoding`]).
//!
//! **Views**: raw bytes are stored as they arrived. A *view* is a text made from them that line
//! tools can use. At most one transformation makes a view ([`Sanitizer`] or [`JsonLayout`]; most
//! text needs none). One rule ([`line_end`]) divides it into *view lines*. With a sparse
//! [`LineIndex`], finding line 7,000,000 takes one seek. The raw bytes of every view line can be
//! found. Long lines are broken only in the index and never in the text, so valid JSON stays valid,
//! and the pages of a view joined together are the text again (ADR 3).
//!
//! ```
//! use std::sync::Arc;
//!
//! use spillgate_artifact::Layout;
//! use spillgate_text::{Indexer, Scan, Tokenizer, View};
//!
//! let text = b"one\ntwo\nthree".to_vec();
//! let mut scan = Scan::default();
//! scan.feed(&text);
//! assert_eq!(scan.finish().lines(), 3);
//! assert_eq!(Tokenizer::O200kBase.counter().count("hello world"), 2);
//!
//! let mut indexer = Indexer::as_is(Layout::AsIs);
//! indexer.feed(&text);
//! let view = View::new(Arc::new(text), indexer.finish(), Layout::AsIs);
//! assert_eq!(view.offset_of_line(2)?, 4);
//! # Ok::<(), std::io::Error>(())
//! ```

mod bpe;
mod clip;
mod counter;
mod encoding;
mod estimate;
mod grid;
mod index;
mod jq_path;
mod json;
mod json_decoder;
mod json_string;
mod json_text;
mod kind;
mod lines;
mod literals;
mod magic;
mod processors;
mod replay;
mod sanitize;
mod scan;
mod transcoded;
mod view;

pub use bpe::MAX_TOKEN_BYTES;
pub use clip::clip;
pub use counter::{TokenCounter, Tokenizer, UnknownTokenizer};
pub use encoding::{DecodedText, Encoding};
pub use estimate::{EXACT_BYTES, count_source, source_exceeds};
pub use grid::{LineGrid, Newline};
pub use index::{Anchor, IndexError, Indexer, LineIndex};
pub use jq_path::{is_plain_key, push_elements, push_key};
pub use json::JsonLayout;
pub use json_decoder::JsonStringDecoder;
pub use json_string::{decode_json_string, raw_offset};
pub use json_text::JsonText;
pub use kind::{SAMPLE_BYTES, Sample, classify, is_binary, is_year};
pub use lines::{HARD_BYTES, SOFT_CHARS, line_end};
pub use literals::Literals;
pub use processors::processors;
pub use replay::raw_range;
pub use sanitize::Sanitizer;
pub use scan::{Scan, ScanFacts};
pub use transcoded::Transcoded;
pub use view::{LineSpan, Lines, View};

/// Receives the output of a transformation.
pub trait ViewSink {
    /// Takes the next bytes of the view.
    fn text(&mut self, bytes: &[u8]) -> std::io::Result<()>;

    /// Records that the next byte begins a line that was made from the text at the offset `origin`.
    fn line(&mut self, origin: u64);
}

/// Keeps only the text.
impl ViewSink for Vec<u8> {
    fn text(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, _: u64) {}
}
