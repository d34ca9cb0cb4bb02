//! Splits text into words and reduces them to stems.
//!
//! A word is a run of letters and digits; `_`, `-`, `.` and the like separate words. The parts of a
//! `camelCase` word are words, too. Words of letters are compared by their English stem, words with
//! a digit as they are. Neither comparison distinguishes ASCII case.

use rust_stemmers::{Algorithm, Stemmer};

/// Longest word in bytes that is stemmed; longer ones are identifiers or data. Words of more than
/// twice as many bytes are not split.
const LONGEST_STEMMED: usize = 32;

/// Words that any question may contain, whatever it asks for.
const STOP_WORDS: &str = "a about after all also am an and any are as at be because been before being but by can could \
    did do does doing don for from get gets give given had has have having he her here him his how i if in into is it its \
    just let list ll many may me might more most much must my no nor not of off on once one only or other our out over own \
    please re s same shall she should show so some such t tell than that the their them then there these they this those \
    through to too under until up us ve very was we were what when where which while who whom whose why will with would \
    you your find since during between did does happen happened happens exactly";

/// Returns whether a byte is part of a word. All bytes of non-ASCII characters are, so that no
/// character is cut and letters of all scripts stay together.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Returns whether a word, in lower case, says nothing about what is asked for.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.split_ascii_whitespace().any(|stop| stop == word)
}

/// Reduces words to their stems.
pub(crate) struct Stems(Stemmer);

impl std::fmt::Debug for Stems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stems")
    }
}

impl Stems {
    pub(crate) fn new() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }

    /// Returns the text by which `word` is compared.
    pub(crate) fn stem(&self, word: &str) -> String {
        let lower = word.to_lowercase();
        let is_plain = lower.bytes().all(|byte| byte.is_ascii_lowercase());
        match is_plain && lower.len() <= LONGEST_STEMMED {
            true => {
                let stem = self.0.stem(&lower);
                // `IFS` is a name, no form of `if`.
                let is_lost = stem.len() < lower.len() && stem.len() <= 3 && is_stop_word(&stem);
                if is_lost { lower } else { stem.into_owned() }
            }
            false => lower,
        }
    }
}

/// Returns whether two different stems are those of related words: one begins with the other
/// (`param`, `paramet`), or they differ in their last letters only (`permiss`, `permit`).
pub(crate) fn are_forms(one: &str, other: &str) -> bool {
    const LEAST: usize = 4;
    const ADDED: usize = 6;
    const ROOT: usize = 5;
    const ENDING: usize = 2;
    let (short, long) = match one.len() < other.len() {
        true => (one, other),
        false => (other, one),
    };
    let common = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b);
    let common = common.count();
    let begins = common == short.len() && common >= LEAST && long.len() - common <= ADDED;
    one != other && (begins || common >= ROOT && long.len() - common <= ENDING)
}

/// Returns the parts of a `camelCase` word; the word itself if it has one part.
pub(crate) fn camel_parts(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    if bytes.len() > LONGEST_STEMMED * 2 {
        return vec![word];
    }
    let begins = |at: usize| {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        here.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || before.is_ascii_uppercase() && next_is_lower)
    };
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..bytes.len() {
        if begins(at) {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    parts.push(&word[start..]);
    parts
}

/// Returns whether a character belongs to a script without spaces between words.
pub(crate) fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words() {
        let cases: [(&str, &[&str]); 6] = [
            ("word", &["word"]),
            ("camelCase", &["camel", "Case"]),
            ("NullPointerException", &["Null", "Pointer", "Exception"]),
            ("HTTPServer", &["HTTP", "Server"]),
            ("ERROR", &["ERROR"]),
            ("éÉ", &["éÉ"]),
        ];
        for (word, parts) in cases {
            assert_eq!(camel_parts(word), parts);
        }
    }

    #[test]
    fn forms_of_a_word_are_the_same() {
        let stems = Stems::new();
        for (one, other) in [
            ("connections", "Connected"),
            ("fails", "failing"),
            ("E4217", "e4217"),
            ("Ünï", "ünï"),
        ] {
            assert_eq!(stems.stem(one), stems.stem(other));
        }
        assert_ne!(stems.stem("shards1"), stems.stem("shard1"));
    }
}
