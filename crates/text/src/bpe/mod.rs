//! Counts tokens exactly.
//!
//! `split` cuts a text into pieces, `merge` counts the tokens of a piece, `pairs` is the vocabulary: a
//! table that the build script makes and that is used where it lies in the binary. Nothing is
//! loaded, so the first count of a process is as fast as any other (ADR 34).

use std::fmt;

mod layout;
mod merge;
mod pairs;
mod split;

use crate::TokenCounter;
use merge::{Memo, Merges};
use pairs::Pairs;
use split::Pattern;

/// Length in bytes of the longest token in either vocabulary (a test checks both): a run of 128
/// spaces. A text of more than `limit * MAX_TOKEN_BYTES` bytes therefore has more than `limit`
/// tokens and need not be counted.
pub const MAX_TOKEN_BYTES: u64 = 128;

/// A vocabulary and its pattern.
#[derive(Clone, Copy)]
pub(crate) struct Bpe {
    name: &'static str,
    pattern: Pattern,
    merges: Merges,
}

/// Returns the tables that the build script made for the vocabulary with this name.
macro_rules! merges {
    ($name:literal) => {
        Merges {
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bytes")),
            pairs: Pairs {
                seeds: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".seeds"))
                    .as_chunks()
                    .0,
                slots: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".slots"))
                    .as_chunks()
                    .0,
            },
        }
    };
}

impl Bpe {
    /// `o200k_base`.
    pub(crate) const O200K_BASE: Self = Self {
        name: "o200k_base",
        pattern: Pattern::O200k,
        merges: merges!("o200k_base"),
    };
    /// `cl100k_base`.
    #[cfg(feature = "cl100k")]
    pub(crate) const CL100K_BASE: Self = Self {
        name: "cl100k_base",
        pattern: Pattern::Cl100k,
        merges: merges!("cl100k_base"),
    };

    /// Returns the tokens of a text, or any number over `limit` if it has more.
    fn count_to(self, text: &str, limit: u64) -> u64 {
        self.count_with(&mut Memo::for_text(text.len()), text, limit)
    }

    fn count_with(self, memo: &mut Memo, text: &str, limit: u64) -> u64 {
        let (mut start, mut count) = (0, 0);
        while start < text.len() && count <= limit {
            let end = self.pattern.piece_end(text, start);
            count += memo.count(self.merges, text.as_bytes(), start, end);
            start = end;
        }
        count
    }
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bpe({})", self.name)
    }
}

impl TokenCounter for Bpe {
    fn count(&self, text: &str) -> u64 {
        self.count_to(text, u64::MAX)
    }

    fn count_all(&self, texts: &[&str]) -> u64 {
        // Samples of one text have many pieces in common.
        let mut memo = Memo::for_text(texts.iter().map(|text| text.len()).sum());
        let counts = texts
            .iter()
            .map(|text| self.count_with(&mut memo, text, u64::MAX));
        counts.sum()
    }

    fn exceeds(&self, text: &str, limit: u64) -> bool {
        let bytes = text.len() as u64;
        if bytes <= limit {
            return false; // every token has at least one byte
        }
        bytes > limit.saturating_mul(MAX_TOKEN_BYTES) || self.count_to(text, limit) > limit
    }
}

#[cfg(test)]
mod tests {
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
            include_str!("split.rs").to_owned(),
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
            let texts = texts();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let sum = texts.iter().map(|text| counter.count(text)).sum::<u64>();
            assert_eq!(counter.count_all(&texts), sum);
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
    fn no_token_is_longer() {
        for tokenizer in BOTH {
            let bpe = &oracle(tokenizer).bpe;
            let ids = 0..u32::try_from(bpe.num_tokens()).unwrap();
            let longest = ids.map(|id| bpe.token_len(id) as u64).max();
            assert_eq!(longest, Some(MAX_TOKEN_BYTES), "{tokenizer}");
        }
    }

    /// Texts that are made from a seed: hostile runs, tokens side by side, any characters.
    struct Texts<'a> {
        state: u64,
        tokens: &'a bpe_openai::Tokenizer,
    }

    impl Texts<'_> {
        fn below(&mut self, limit: usize) -> usize {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
        }

        fn token(&mut self) -> String {
            let token = self.below(self.tokens.bpe.num_tokens());
            let token = u32::try_from(token).unwrap();
            self.tokens.decode(&[token]).unwrap_or_default()
        }

        fn char(&mut self, set: &str) -> String {
            let at = self.below(set.chars().count());
            set.chars().skip(at).take(1).collect()
        }

        fn unit(&mut self, kind: usize) -> String {
            match kind {
                0 => self.char("aAbSstTeErRlLdD019'''  \n\r\t/!.-_(){}\"é漢ſ\u{301}²🚀"),
                1 => self.token(),
                2 => self.token().trim().to_owned(),
                3 => {
                    let c = u32::try_from(self.below(0x0011_0000)).unwrap();
                    char::from_u32(c).into_iter().collect()
                }
                4 => char::from(u8::try_from(self.below(128)).unwrap()).into(),
                5 => self.char("abc"),
                6 => self.char("abcdefghijklmnopqrstuvwxyz"),
                7 => self.char("=-_*#"),
                _ => self.char("的是不我一有大在人了中到資要以可這個你会"),
            }
        }

        fn text(&mut self) -> String {
            let kind = self.below(9);
            // One text in 32 can be longer than a window.
            let len = match self.below(32) {
                0 => self.below(4000),
                _ => self.below(24),
            };
            let units = self.below(len + 1);
            match self.below(8) {
                0 => {
                    let part: String = (0..=units.min(40)).map(|_| self.unit(kind)).collect();
                    part.repeat(len / part.len().max(1))
                }
                _ => (0..units).map(|_| self.unit(kind)).collect(),
            }
        }
    }

    /// 20,000 texts for each vocabulary; `TOKEN_TEXTS`, if it is set, from the seed `TOKEN_SEED`.
    #[test]
    fn counts_of_random_texts_are_exact() {
        let number =
            |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
        for tokenizer in BOTH {
            let counter = tokenizer.counter();
            let tokens = oracle(tokenizer);
            let state = number("TOKEN_SEED", 1);
            let mut texts = Texts { state, tokens };
            for _ in 0..number("TOKEN_TEXTS", 20_000) {
                let text = texts.text();
                let count = tokens.count(text.as_str()) as u64;
                assert_eq!(counter.count(&text), count, "{tokenizer} {text:?}");
                assert!(!counter.exceeds(&text, count), "{tokenizer} {text:?}");
                let least = count.saturating_sub(1);
                assert_eq!(
                    counter.exceeds(&text, least),
                    count > 0,
                    "{tokenizer} {text:?}"
                );
            }
        }
    }
}
