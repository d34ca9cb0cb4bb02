//! The level of a line of a log, by its words.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Bytes at the beginning of a line in which its level is looked for.
const LEVEL: usize = 160;

/// How bad a line of a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
    Detail,
    None,
}

impl Level {
    /// Returns the class of a row.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Error => "e",
            Self::Warning => "w",
            Self::Detail => "d",
            Self::None => "",
        }
    }

    /// Finds the level of a line by the words that loggers and compilers write. Of several, the worst
    /// counts.
    pub(crate) fn of(line: &[u8]) -> Self {
        let line = &line[..line.len().min(LEVEL)];
        let found = FINDER.find_overlapping_iter(line).map(|word| {
            let (_, level) = WORDS[word.pattern().as_usize()];
            level
        });
        let worst = found.min_by_key(|level| *level as u8);
        match line.starts_with(b"FAILED") {
            true => Self::Error,
            false => worst.unwrap_or(Self::None),
        }
    }
}

/// The words, with the level that each shows.
const WORDS: [(&str, Level); 15] = [
    ("ERROR", Level::Error),
    ("FATAL", Level::Error),
    ("CRITICAL", Level::Error),
    ("SEVERE", Level::Error),
    ("PANIC", Level::Error),
    ("error:", Level::Error),
    ("error[", Level::Error),
    ("Error:", Level::Error),
    ("panicked at", Level::Error),
    (" FAILED", Level::Error),
    ("WARN", Level::Warning),
    ("warning:", Level::Warning),
    ("Warning:", Level::Warning),
    ("DEBUG", Level::Detail),
    ("TRACE", Level::Detail),
];

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = WORDS.iter().map(|(word, _)| word);
    AhoCorasick::new(words).expect("invariant: a few short words")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_loggers_and_compilers() {
        for (line, class) in [
            ("2026-11-26 ERROR it broke", "e"),
            ("error[E0308]: mismatched types", "e"),
            ("src/main.c:3: error: no", "e"),
            ("test a ... FAILED", "e"),
            ("warning: unused", "w"),
            ("WARN slow", "w"),
            ("DEBUG fine", "d"),
            ("INFO no errors", ""),
            ("DEBUG then an ERROR", "e"),
            ("FAILED tests", "e"),
            ("", ""),
        ] {
            assert_eq!(Level::of(line.as_bytes()).class(), class, "{line}");
        }
        let late = format!("{}ERROR", "x".repeat(LEVEL));
        assert_eq!(Level::of(late.as_bytes()), Level::None);
    }
}
