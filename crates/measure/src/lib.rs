//! How big is a result, and what is it?
//!
//! One fused pass over the bytes as they come ([`Scan`]), exact tokens with an
//! early stop ([`TokenCounter`]), and the content kind from a sample
//! ([`classify`]).
//!
//! ```
//! use spillgate_measure::{Scan, TokenCounter, Tokenizer};
//!
//! let mut scan = Scan::default();
//! scan.feed(b"two\nlines");
//! assert_eq!(scan.finish().lines(), 2);
//!
//! let counter = Tokenizer::O200kBase.counter();
//! assert_eq!(counter.count("hello world"), 2);
//! ```

mod bpe;
mod counter;
mod estimate;
mod kind;
mod scan;

pub use bpe::MAX_TOKEN_BYTES;
pub use counter::{TokenCounter, Tokenizer, UnknownTokenizer};
pub use estimate::{EXACT_BYTES, count_source, source_exceeds};
pub use kind::{SAMPLE_BYTES, Sample, classify, is_binary};
pub use scan::{Scan, ScanFacts};
