//! How big is a result, and what is it?
//!
//! One fused pass over the bytes as they come ([`Scan`]), exact tokens with an
//! early stop ([`TokenCounter`]), and the content kind and the encoding from a sample
//! ([`classify`], [`Encoding`]).
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
mod encoding;
mod estimate;
mod kind;
mod magic;
mod scan;

pub use bpe::MAX_TOKEN_BYTES;
pub use counter::{TokenCounter, Tokenizer, UnknownTokenizer};
pub use encoding::{Decoded, Encoding};
pub use estimate::{EXACT_BYTES, count_source, source_exceeds};
pub use kind::{SAMPLE_BYTES, Sample, classify, is_binary};
pub use scan::{Scan, ScanFacts};
