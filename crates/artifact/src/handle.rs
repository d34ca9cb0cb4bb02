//! Handles: the names of stored results.
//!
//! A handle is one word of 14 letters, or `session-<uuid>/<file-uuid>` (docs/spec/behaviour.md,
//! "Storing"). A caller's text is parsed into letters or two UUIDs, and paths are built only from
//! these.

use std::fmt::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The id of one run of a producer of artifacts: a process, a gateway or an agent session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Uuid);

/// The id of one stored artifact within its session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(Uuid);

impl SessionId {
    /// Returns a new random id of 122 random bits, so that a handle cannot be guessed.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl FileId {
    /// Returns a new random id of 122 random bits, so that a handle cannot be guessed.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session-{}", self.0)
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SessionId {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        let uuid = text.strip_prefix("session-").and_then(parse_uuid);
        uuid.map(Self).ok_or_else(|| HandleError::new(text))
    }
}

impl FromStr for FileId {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        parse_uuid(text)
            .map(Self)
            .ok_or_else(|| HandleError::new(text))
    }
}

/// Accepts only the hyphenated form. If other spellings of a UUID were accepted, an artifact would
/// have several names.
fn parse_uuid(text: &str) -> Option<Uuid> {
    const HYPHENATED: usize = 36;
    (text.len() == HYPHENATED).then(|| Uuid::try_parse(text).ok())?
}

/// The length of a [`Word`]. 14 letters, each of 26 almost equally likely, hold 65.8 random bits.
const WORD_LETTERS: usize = 14;

/// The bytes of a random UUID that hold its version and its variant.
const FIXED_BYTES: [usize; 2] = [6, 8];

/// The pairs of letters that are not tokens of `o200k_base`. Words avoid these pairs, which leaves
/// 64.9 random bits.
const DEAR_PAIRS: [&str; 29] = [
    "bq", "gk", "gq", "jv", "jz", "kq", "kz", "lq", "nq", "qf", "qg", "qj", "qk", "qv", "qz", "rj",
    "tq", "wq", "wz", "xg", "xj", "xk", "xq", "xv", "xw", "yq", "zj", "zq", "zv",
];

/// A short name of a stored artifact: 14 random lowercase letters.
///
/// Every two adjacent letters of a word are a token of `o200k_base`, so a word costs at most 9
/// tokens there, or 10 together with the text before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word([u8; WORD_LETTERS]);

impl Word {
    /// Returns a new random word of at least 64 random bits, so that it cannot be guessed.
    #[must_use]
    pub fn random() -> Self {
        loop {
            let word = Self::any();
            let mut pairs = word.0.windows(2);
            if !pairs.any(|pair| DEAR_PAIRS.iter().any(|dear| dear.as_bytes() == pair)) {
                return word;
            }
        }
    }

    /// Returns a word of random letters, which may contain [`DEAR_PAIRS`].
    fn any() -> Self {
        let bytes = Uuid::new_v4().into_bytes();
        let mut letters = [0; WORD_LETTERS];
        let random = bytes.iter().enumerate();
        let random = random.filter(|(at, _)| !FIXED_BYTES.contains(at));
        for (letter, (_, byte)) in letters.iter_mut().zip(random) {
            *letter = b'a' + byte % 26;
        }
        Self(letters)
    }

    /// Returns the first letter.
    #[must_use]
    pub fn first(&self) -> char {
        char::from(self.0[0])
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|&letter| f.write_char(char::from(letter)))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Word {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        let letters = <[u8; WORD_LETTERS]>::try_from(text.as_bytes()).ok();
        letters
            .filter(|letters| letters.iter().all(u8::is_ascii_lowercase))
            .map(Self)
            .ok_or_else(|| HandleError::new(text))
    }
}

/// The form of an artifact's handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandleForm {
    /// One word of 14 letters.
    #[default]
    Short,
    /// `session-<uuid>/<file-uuid>`, the form of earlier versions and of the `handle` profile.
    Long,
}

/// The name of a stored artifact: one word, or `session-<uuid>/<file-uuid>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Handle {
    /// The long form.
    Long {
        /// The run of the producer.
        session: SessionId,
        /// The artifact in that run.
        file: FileId,
    },
    /// The short form.
    Short(Word),
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long { session, file } => write!(f, "{session}/{file}"),
            Self::Short(word) => fmt::Display::fmt(word, f),
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Handle {
    type Err = HandleError;

    /// Ignores surrounding white space and quotes, because models often copy them with the handle.
    fn from_str(text: &str) -> Result<Self, HandleError> {
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || "\"'`<>".contains(c));
        let parsed = match trimmed.split_once('/') {
            Some((session, file)) => session
                .parse()
                .and_then(|session| file.parse().map(|file| Self::Long { session, file })),
            None => trimmed.parse().map(Self::Short),
        };
        parsed.map_err(|_| HandleError::new(text))
    }
}

impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The error for a text that does not have the form of a handle. Nothing was looked up in the
/// store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a handle; a handle is a word of 14 lowercase letters, or looks like session-<uuid>/<uuid>"
)]
pub struct HandleError {
    /// The given text, cut after 80 characters because it may have any length.
    given: String,
}

impl HandleError {
    fn new(given: &str) -> Self {
        const SHOWN: usize = 80;
        let mut given: String = given.escape_debug().collect();
        if let Some((cut, _)) = given.char_indices().nth(SHOWN) {
            given.truncate(cut);
            given.push('…');
        }
        Self { given }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";

    #[test]
    fn prints_what_it_parsed() {
        for good in [GOOD, "kqvbnrtzaewmxo", &Word::random().to_string()] {
            for given in [
                good.to_owned(),
                format!(" \"{good}\"\n"),
                format!("`{good}`"),
            ] {
                let handle: Handle = given.parse().unwrap();
                assert_eq!(handle.to_string(), good);
            }
        }
    }

    #[test]
    fn words_use_every_letter_in_every_place() {
        let words: Vec<Word> = (0..10_000).map(|_| Word::random()).collect();
        for place in 0..WORD_LETTERS {
            for letter in b'a'..=b'z' {
                // A letter that occurs in none of `DEAR_PAIRS` is expected 385 times. `q` is rarer,
                // because it occurs in most of them.
                let count = words.iter().filter(|word| word.0[place] == letter).count();
                assert!(
                    count > 100,
                    "{count} times {} at {place}",
                    char::from(letter)
                );
            }
        }
    }

    #[test]
    fn refuses_all_else() {
        for bad in [
            "",
            "/",
            "session-/",
            "kqvbnrtzaewmx",
            "kqvbnrtzaewmxoo",
            "Kqvbnrtzaewmxo",
            "kqvbnrt/aewmxo",
            "kqvbnrt.aewmxo",
            "kqvbnrtzaewm\u{e9}",
            "../../etc/passwd",
            "/etc/passwd",
            "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d",
            "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/../x",
            "session-0b0e9c3e6f0a4a1e9d6a0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001",
            "session-{0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d}/5f3c2b1a-0000-4000-8000-000000000001",
        ] {
            assert!(bad.parse::<Handle>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_error_is_bounded_and_one_line() {
        let error = "x\n".repeat(500).parse::<Handle>().unwrap_err().to_string();
        assert!(error.len() < 250 && !error.contains('\n'), "{error}");
    }
}
