//! The interface of token counters, and the tokenizers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bpe::Bpe;

/// Counts the tokens of a text. Counters are shared between threads and load nothing.
pub trait TokenCounter: Send + Sync + fmt::Debug {
    /// Returns the tokens of the whole text.
    fn count(&self, text: &str) -> u64;

    /// Returns the sum of the tokens of several texts, each counted by itself.
    fn count_all(&self, texts: &[&str]) -> u64 {
        texts.iter().map(|text| self.count(text)).sum()
    }

    /// Returns whether the text has more than `limit` tokens. Stops as soon as the answer is
    /// certain, so the time depends on the limit and not on the length of the text.
    fn exceeds(&self, text: &str, limit: u64) -> bool;
}

/// The available tokenizers (docs/spec/behaviour.md, "Figures").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tokenizer {
    /// Exact BPE of recent `OpenAI` models; the default.
    #[default]
    O200kBase,
    /// Exact BPE of older `OpenAI` models. Without the feature `cl100k`, texts are counted as
    /// `o200k_base`.
    Cl100kBase,
    /// `ceil(bytes / 4)`. Needs no vocabulary.
    Heuristic,
}

impl Tokenizer {
    /// All tokenizers, for help texts.
    pub const ALL: [Self; 3] = [Self::O200kBase, Self::Cl100kBase, Self::Heuristic];

    /// Returns a counter for this tokenizer.
    #[must_use]
    pub fn counter(self) -> Arc<dyn TokenCounter> {
        match self {
            Self::O200kBase => Arc::new(Bpe::O200K_BASE),
            #[cfg(feature = "cl100k")]
            Self::Cl100kBase => Arc::new(Bpe::CL100K_BASE),
            #[cfg(not(feature = "cl100k"))]
            Self::Cl100kBase => Arc::new(Bpe::O200K_BASE),
            Self::Heuristic => Arc::new(Heuristic),
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Heuristic => "heuristic",
        })
    }
}

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, UnknownTokenizer> {
        Self::ALL
            .into_iter()
            .find(|known| known.to_string() == name)
            .ok_or(UnknownTokenizer)
    }
}

/// The error for a name that no tokenizer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownTokenizer;

impl fmt::Display for UnknownTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown tokenizer; known tokenizers: o200k_base, cl100k_base and heuristic")
    }
}

impl std::error::Error for UnknownTokenizer {}

/// Counts `ceil(bytes / 4)` tokens.
#[derive(Debug)]
struct Heuristic;

impl TokenCounter for Heuristic {
    fn count(&self, text: &str) -> u64 {
        (text.len() as u64).div_ceil(4)
    }

    fn exceeds(&self, text: &str, limit: u64) -> bool {
        self.count(text) > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_themselves() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.to_string().parse(), Ok(tokenizer));
        }
        assert_eq!("gpt2".parse::<Tokenizer>(), Err(UnknownTokenizer));
    }

    #[test]
    fn the_heuristic_rounds_up() {
        let counter = Tokenizer::Heuristic.counter();
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)] {
            assert_eq!(counter.count(text), tokens);
        }
        assert!(!counter.exceeds("abcd", 1) && counter.exceeds("abcde", 1));
    }
}
