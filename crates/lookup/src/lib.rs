//! Reads and searches stored artifacts page by page.
//!
//! [`read`] returns lines or bytes, [`grep`] returns matching lines, and [`changes`] compares two
//! artifacts. [`Artifact::inside`] opens a string of a JSON document as a text of its own. [`read`]
//! and [`grep`] return a page within a token budget and the start of the next page. While text
//! remains, a page is never empty, even inside a single line of 8 MB (docs/spec/behaviour.md,
//! "Invariants", 5). Memory is bounded, whatever the size of the artifact.

mod artifact;
mod changes;
mod derived;
mod error;
mod fit;
mod grep;
mod inside;
mod read;
mod slice;
mod stored_index;

pub use artifact::Artifact;
pub use changes::{ChangedLine, Changes, changes};
pub use error::LookupError;
pub use fit::fitting;
pub use grep::{
    Case, Context, CostlyBoundary, GrepPage, GrepQuery, Match, PATTERN_BYTES, PATTERN_CHARS,
    PageLine, Pattern, Seeker, Syntax, grep, grep_view,
};
pub use read::{Page, ReadQuery, Span, read};
pub use slice::{Slice, slice};
pub use stored_index::StoredIndex;
