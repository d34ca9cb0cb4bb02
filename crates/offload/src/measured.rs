//! Counts the bytes, lines and tokens of a sanitized result.

use std::cell::OnceCell;
use std::sync::Arc;

use spillgate_artifact::{Stats, Tokens};
use spillgate_text::{TokenCounter, count_source, source_exceeds};

use crate::capture::Raw;
use crate::sanitize::Sanitized;

/// A result whose size is known. Tokens are counted on demand, so that a result with fewer bytes
/// than the limit has tokens never loads a tokenizer.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) sanitized: Sanitized,
    counter: Arc<dyn TokenCounter>,
    tokens: OnceCell<Tokens>,
}

/// Wraps a sanitized result; its tokens are counted on demand.
pub(crate) fn measure(sanitized: Sanitized, counter: Arc<dyn TokenCounter>) -> Measured {
    Measured {
        sanitized,
        counter,
        tokens: OnceCell::new(),
    }
}

impl Measured {
    /// Returns the tokens of the text: exact up to some megabytes, extrapolated beyond.
    pub(crate) fn tokens(&self) -> Tokens {
        *self.tokens.get_or_init(|| {
            let bytes = self.sanitized.captured.scan.bytes;
            let counted = match self.sanitized.captured.text() {
                Ok(Some(text)) => count_source(&*self.counter, &*text).ok(),
                _ => None,
            };
            // The size of lost text can only be estimated.
            counted.unwrap_or(Tokens::estimated(bytes.div_ceil(4)))
        })
    }

    /// Returns whether the text costs more than `limit` tokens: exact, in a time that does not
    /// depend on its size.
    pub(crate) fn exceeds_tokens(&self, limit: u64) -> bool {
        let captured = &self.sanitized.captured;
        if captured.scan.bytes <= limit {
            return false;
        }
        // Text that cannot be read back is not shown whole.
        let Ok(Some(text)) = captured.text() else {
            return true;
        };
        source_exceeds(&*self.counter, &*text, limit).unwrap_or(true)
    }

    /// Returns the figures of the text.
    #[must_use]
    pub(crate) fn stats(&self) -> Stats {
        let scan = self.sanitized.captured.scan;
        Stats {
            bytes: scan.bytes,
            lines: scan.lines(),
            chars: scan.chars,
            tokens: self.tokens(),
            kind: self.sanitized.kind,
        }
    }

    /// Returns the SHA-256 of the raw bytes, in hex.
    #[must_use]
    pub(crate) fn sha256(&self) -> &str {
        self.sanitized.captured.sha256.get()
    }

    /// Returns whether the bytes were lost during capture.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.sanitized.captured.raw, Raw::Lost { .. })
    }
}
