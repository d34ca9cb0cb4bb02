//! Splits a text into pieces as the published patterns of the vocabularies do. Tokens do not cross
//! the ends of pieces.
//!
//! The pattern of `cl100k_base` is
//!
//! ```text
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//!
//! and that of `o200k_base`
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//! \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//!
//! A regular expression with these classes takes milliseconds to compile. The tests compare this
//! splitter with one.

use unicode_general_category::{GeneralCategory, get_general_category};

/// `\p{Lu}` and `\p{Lt}`.
const UPPER: u8 = 1;
/// `\p{Ll}`.
const LOWER: u8 = 1 << 1;
/// `\p{Lm}` and `\p{Lo}`: letters without case.
const CASELESS: u8 = 1 << 2;
/// `\p{M}`.
const MARK: u8 = 1 << 3;
/// `\p{N}`.
const NUMBER: u8 = 1 << 4;
/// `[\r\n]`.
const NEWLINE: u8 = 1 << 5;
/// All other white space.
const SPACE: u8 = 1 << 6;
/// All other characters.
const OTHER: u8 = 1 << 7;

const LETTER: u8 = UPPER | LOWER | CASELESS;
/// `[^\s\p{L}\p{N}]`.
const SYMBOL: u8 = MARK | OTHER;

/// The classes of ASCII.
const ASCII: [u8; 128] = {
    let mut classes = [OTHER; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => NUMBER,
            b'\r' | b'\n' => NEWLINE,
            b'\t' | b' ' | 0x0b | 0x0c => SPACE,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

/// What the patterns do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The pattern of `o200k_base`.
    O200k,
    /// The pattern of `cl100k_base`.
    #[cfg_attr(not(feature = "cl100k"), allow(dead_code))]
    Cl100k,
}

impl Pattern {
    /// Returns the end of the piece that begins at `start`, which must be inside the text.
    pub(super) fn piece_end(self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        let (class, len) = class(text, start);
        if self == Self::Cl100k
            && let Some(end) = contraction(bytes, start)
        {
            return end;
        }
        // The character before a word belongs to it, unless it can begin the word.
        let begins = match self {
            Self::O200k => LETTER | MARK,
            Self::Cl100k => LETTER,
        };
        let word = match class & (begins | NUMBER | NEWLINE) {
            0 => start + len,
            _ => start,
        };
        let word_end = match self {
            Self::O200k => cased_word(text, word),
            Self::Cl100k => run(text, word, LETTER),
        };
        if word_end > word {
            return word_end;
        }
        if class & NUMBER != 0 {
            return digits(text, start);
        }
        let symbols = start + usize::from(bytes[start] == b' ');
        let symbols_end = run(text, symbols, SYMBOL);
        if symbols_end > symbols {
            return bytes[symbols_end..]
                .iter()
                .position(|byte| {
                    !matches!(byte, b'\r' | b'\n') && (self == Self::Cl100k || *byte != b'/')
                })
                .map_or(text.len(), |tail| symbols_end + tail);
        }
        white_space(text, start)
    }
}

/// Returns the class of the character at `at` and its length in bytes; no class at the end.
fn class(text: &str, at: usize) -> (u8, usize) {
    match text.as_bytes().get(at) {
        None => (0, 0),
        Some(&byte) if byte < 128 => (ASCII[usize::from(byte)], 1),
        Some(_) => text[at..]
            .chars()
            .next()
            .map_or((0, 0), |c| (unicode_class(c), c.len_utf8())),
    }
}

/// Returns the class of a character outside ASCII.
fn unicode_class(c: char) -> u8 {
    use GeneralCategory as Category;
    match get_general_category(c) {
        Category::UppercaseLetter | Category::TitlecaseLetter => UPPER,
        Category::LowercaseLetter => LOWER,
        Category::ModifierLetter | Category::OtherLetter => CASELESS,
        Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => MARK,
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber => NUMBER,
        _ if c.is_whitespace() => SPACE,
        _ => OTHER,
    }
}

/// Returns the end of the longest run of characters of these classes.
fn run(text: &str, mut at: usize, classes: u8) -> usize {
    loop {
        let (class, len) = class(text, at);
        if class & classes == 0 {
            return at;
        }
        at += len;
    }
}

/// Returns the end of `\p{N}{1,3}`.
fn digits(text: &str, mut at: usize) -> usize {
    for _ in 0..3 {
        match class(text, at) {
            (NUMBER, len) => at += len,
            _ => break,
        }
    }
    at
}

/// Returns the end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)`.
fn contraction(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return None;
    }
    let rest = &text[at + 1..];
    let len = match [rest.first(), rest.get(1)].map(|byte| byte.map(u8::to_ascii_lowercase)) {
        [Some(b's' | b't' | b'm' | b'd'), _] => 1,
        [Some(b'r' | b'v'), Some(b'e')] | [Some(b'l'), Some(b'l')] => 2,
        // The other case of `s` is also the long s.
        _ if rest.starts_with("ſ".as_bytes()) => 2,
        _ => return None,
    };
    Some(at + 1 + len)
}

/// Returns the end of a word of `o200k_base`, which ends where the case goes up: upper-case letters,
/// lower-case letters and a contraction. Returns `at` if there is no word.
fn cased_word(text: &str, at: usize) -> usize {
    let mut upper = at;
    // The end of the last caseless letter or mark.
    let mut caseless = None;
    loop {
        let (class, len) = class(text, upper);
        if class & (UPPER | CASELESS | MARK) == 0 {
            break;
        }
        upper += len;
        if class != UPPER {
            caseless = Some(upper);
        }
    }
    let end = run(text, upper, LOWER | CASELESS | MARK);
    // Without lower-case letters, the last caseless letter takes their place.
    let end = match end > upper {
        true => end,
        false => caseless.unwrap_or(upper),
    };
    match end > at {
        true => contraction(text.as_bytes(), end).unwrap_or(end),
        false => at,
    }
}

/// Returns the end of `\s*[\r\n]+|\s+(?!\S)|\s+`.
fn white_space(text: &str, start: usize) -> usize {
    let (mut end, mut last) = (start, start);
    let mut newline = None;
    loop {
        let (class, len) = class(text, end);
        if class & (SPACE | NEWLINE) == 0 {
            break;
        }
        last = end;
        end += len;
        if class == NEWLINE {
            newline = Some(end);
        }
    }
    match newline {
        Some(newline) => newline,
        // The last space belongs to the next piece.
        None if end < text.len() && last > start => last,
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Characters of all classes, and all characters that the patterns name.
    const ALPHABET: [&str; 27] = [
        "A", "b", "S", "s", "t", "e", "r", "v", "m", "L", "l", "d", "ſ", "ǅ", "ª", "漢", "\u{301}",
        "7", "²", "\r", "\n", " ", "\u{3000}", "'", "/", "!", "🚀",
    ];

    fn check(text: &str) {
        for (pattern, oracle) in [
            (Pattern::O200k, bpe_openai::o200k_base()),
            (Pattern::Cl100k, bpe_openai::cl100k_base()),
        ] {
            let mut start = 0;
            for piece in oracle.split(text) {
                let end = pattern.piece_end(text, start);
                assert_eq!(
                    &text[start..end],
                    piece,
                    "{pattern:?} {text:?} from {start}"
                );
                start = end;
            }
            assert_eq!(start, text.len());
        }
    }

    #[test]
    fn every_character_has_the_class_of_the_patterns() {
        let classes = [
            (UPPER, r"[\p{Lu}\p{Lt}]"),
            (LOWER, r"\p{Ll}"),
            (CASELESS, r"[\p{Lm}\p{Lo}]"),
            (MARK, r"\p{M}"),
            (NUMBER, r"\p{N}"),
            (NEWLINE, r"[\r\n]"),
            (SPACE, r"[\s--\r\n]"),
            (OTHER, r"[^\s\p{L}\p{M}\p{N}]"),
        ]
        .map(|(class, pattern)| (class, Regex::new(&format!("^{pattern}$")).unwrap()));
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            let (class, len) = class(&text, 0);
            assert_eq!(len, text.len());
            for (expected, pattern) in &classes {
                assert_eq!(
                    class == *expected,
                    pattern.is_match(&text),
                    "{c:?} {pattern}"
                );
            }
        }
    }

    /// All texts of up to four characters of the alphabet; of up to `SPLIT_CHARS`, if it is set.
    #[test]
    fn every_short_text_is_split_as_the_oracle_splits_it() {
        let chars = std::env::var("SPLIT_CHARS").map_or(4, |chars| chars.parse().unwrap());
        let mut texts = vec![String::new()];
        for _ in 0..chars {
            texts = texts
                .iter()
                .flat_map(|text| ALPHABET.map(|last| format!("{text}{last}")))
                .inspect(|text| check(text))
                .collect();
        }
    }
}
