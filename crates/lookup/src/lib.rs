//! Reads and greps what is stored, page by page.
//!
//! [`read`] gives lines or bytes, [`grep`] matching lines; each gives a page
//! within a token budget and says what to ask for next. A page is never empty
//! while text remains, not even inside one 8 MB line (docs/spec/behaviour.md,
//! "Invariants", 5). Memory is bounded whatever the artifact's size.

mod artifact;
mod error;
mod fit;
mod grep;
mod read;
mod slice;

pub use artifact::Artifact;
pub use error::LookupError;
pub use fit::fitting;
pub use grep::{
    Case, Context, CostlyBoundary, GrepPage, GrepQuery, Match, PATTERN_BYTES, PATTERN_CHARS,
    Pattern, Seeker, Syntax, grep, grep_view,
};
pub use read::{Page, ReadQuery, Span, read};
pub use slice::{Slice, slice};
