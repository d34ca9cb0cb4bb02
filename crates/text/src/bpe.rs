//! Counts tokens exactly.
//!
//! The BPE is implemented by the `tiktoken` crate. It loads in about 75 ms and 28 MB, while other
//! exact crates need 320 ms or 70 MB, and it is as fast as they are on real text (ADR 2). This
//! module cuts a text only where the pre-tokenizer always cuts it, so the counts of the pieces add
//! up and a decision can stop early.

use std::fmt;
use std::sync::OnceLock;

use tiktoken::CoreBpe;

use crate::TokenCounter;

/// Length in bytes of the longest token in either vocabulary (a test checks both): a run of 128
/// spaces. A text of more than `limit * MAX_TOKEN_BYTES` bytes therefore has more than `limit`
/// tokens and need not be counted.
pub const MAX_TOKEN_BYTES: u64 = 128;

/// Bytes counted between two checks of the limit: enough that finding the cuts takes no noticeable
/// time, and few enough that little is counted beyond the limit.
const PIECE: usize = 4096;

/// An embedded vocabulary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Vocabulary {
    /// `o200k_base`.
    O200kBase,
    /// `cl100k_base`.
    Cl100kBase,
}

/// An exact counter that unpacks its vocabulary at the first count.
pub(crate) struct Bpe {
    vocabulary: Vocabulary,
    loaded: OnceLock<&'static CoreBpe>,
}

impl Bpe {
    pub(crate) fn new(vocabulary: Vocabulary) -> Self {
        Self {
            vocabulary,
            loaded: OnceLock::new(),
        }
    }

    fn bpe(&self) -> &'static CoreBpe {
        self.loaded.get_or_init(|| {
            let name = match self.vocabulary {
                Vocabulary::O200kBase => "o200k_base",
                Vocabulary::Cl100kBase => "cl100k_base",
            };
            tiktoken::get_encoding(name).expect("both vocabularies are compiled in")
        })
    }
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bpe({:?})", self.vocabulary)
    }
}

impl TokenCounter for Bpe {
    fn count(&self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        self.bpe().count(text) as u64
    }

    fn exceeds(&self, text: &str, limit: u64) -> bool {
        let bytes = text.len() as u64;
        if bytes <= limit {
            return false; // every token has at least one byte
        }
        if bytes > limit.saturating_mul(MAX_TOKEN_BYTES) {
            return true;
        }
        let mut rest = text;
        let mut counted = 0;
        while counted <= limit && !rest.is_empty() {
            let (piece, after) = rest.split_at(safe_cut(rest.as_bytes(), PIECE));
            counted += self.count(piece);
            rest = after;
        }
        counted > limit
    }

    fn is_ready(&self) -> bool {
        self.loaded.get().is_some()
    }

    fn prepare(&self) {
        self.bpe();
    }
}

/// Returns the first offset at or after `from` at which the pre-tokenizers of both vocabularies cut
/// in every context. Returns the end of the text if there is none.
fn safe_cut(text: &[u8], from: usize) -> usize {
    (from.max(1)..text.len())
        .find(|&at| is_safe(text[at - 1], &text[at..]))
        .unwrap_or(text.len())
}

/// Returns whether a piece always ends between the byte `before` and the bytes `after`:
/// - a newline ends its piece unless white space or, for `o200k_base`, a slash follows;
/// - a word that ends in a lower-case letter ends before a space and a letter;
/// - a lower-case letter or a digit ends its piece before plain punctuation.
fn is_safe(before: u8, after: &[u8]) -> bool {
    let next = after[0];
    match before {
        b'\n' => next.is_ascii_graphic() && next != b'/',
        b'a'..=b'z' if next == b' ' => after.get(1).is_some_and(u8::is_ascii_alphabetic),
        b'a'..=b'z' | b'0'..=b'9' => matches!(
            next,
            b',' | b'"' | b'}' | b']' | b'<' | b'>' | b'(' | b')' | b'{' | b'['
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Tokenizer;

    fn oracle(tokenizer: Tokenizer) -> &'static bpe_openai::Tokenizer {
        match tokenizer {
            Tokenizer::O200kBase => bpe_openai::o200k_base(),
            Tokenizer::Cl100kBase => bpe_openai::cl100k_base(),
            Tokenizer::Heuristic => unreachable!("not a BPE"),
        }
    }

    const BOTH: [Tokenizer; 2] = [Tokenizer::O200kBase, Tokenizer::Cl100kBase];

    fn texts() -> Vec<String> {
        let log = (0..400)
            .map(|i| {
                format!(
                    "2026-11-21T10:{:02}:01Z ERROR worker-{i} failed: code=E{i}\n",
                    i % 60
                )
            })
            .collect();
        let json = (0..200)
            .map(|i| format!("{{\"id\":{i},\"name\":\"naïve – {i}\",\"tags\":[\"a/b\",null]}},"))
            .collect();
        vec![
            String::new(),
            "a".into(),
            log,
            json,
            " ".repeat(3000),
            "=".repeat(3000),
            "\n\n\n/usr/bin\n  indented\n\r\n".repeat(300),
            "漢字かな交じり文。".repeat(300),
            "don't I'LL we're\tHTTPServer2Go 1234567 ".repeat(200),
            "🚀👩‍👩‍👧‍👦 e\u{301}".repeat(200),
            "fn main() {\n    println!(\"{}\", 1 + 1);\n}\n".repeat(200),
            include_str!("bpe.rs").to_owned(),
        ]
    }

    #[test]
    fn counts_as_the_oracle_does() {
        for tokenizer in BOTH {
            let counter = tokenizer.counter();
            for text in texts() {
                assert_eq!(
                    counter.count(&text),
                    oracle(tokenizer).count(text.as_str()) as u64,
                    "{tokenizer} {text:.40}"
                );
            }
        }
    }

    #[test]
    fn the_decision_is_exact_at_the_limit() {
        for tokenizer in BOTH {
            let counter = tokenizer.counter();
            for text in texts() {
                let tokens = counter.count(&text);
                assert!(!counter.exceeds(&text, tokens), "{text:.40}");
                assert!(tokens == 0 || counter.exceeds(&text, tokens - 1));
            }
        }
    }

    #[test]
    fn few_bytes_never_load_the_vocabulary() {
        let bpe = Bpe::new(Vocabulary::O200kBase);
        assert!(!bpe.exceeds(&"x".repeat(2500), 2500));
        assert!(bpe.exceeds(&"x".repeat(2500 * 128 + 1), 2500));
        assert!(bpe.loaded.get().is_none());
        assert!(!bpe.exceeds(&"x ".repeat(1300), 2500));
        assert!(bpe.loaded.get().is_some());
    }

    #[test]
    fn no_token_is_longer() {
        for name in ["o200k_base", "cl100k_base"] {
            let bpe = tiktoken::get_encoding(name).unwrap();
            let ids = 0..u32::try_from(bpe.vocab_size()).unwrap();
            let longest = ids.map(|id| bpe.decode(&[id]).len() as u64).max();
            assert_eq!(longest, Some(MAX_TOKEN_BYTES), "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_add_up(text in "([a-z]{0,8}|[A-Z]{1,3}|[0-9]{0,5}|[ \n\r\t/'\",(){}<>.]{0,3}|é|漢|🚀){0,80}") {
            for tokenizer in BOTH {
                let counter = tokenizer.counter();
                let (mut rest, mut sum) = (text.as_str(), 0);
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(safe_cut(rest.as_bytes(), 1));
                    sum += counter.count(piece);
                    rest = after;
                }
                prop_assert_eq!(sum, oracle(tokenizer).count(text.as_str()) as u64);
            }
        }
    }
}
