//! Finds the line of the output that matches the question best, for an extraction that found
//! nothing.

use std::collections::BTreeSet;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::{Artifact, LookupError};
use spillgate_search::{Passage, SearchQuery, search};
use spillgate_text::TokenCounter;

use crate::mask::inline;

/// Token budget of the search, which covers one passage and the absent words.
const BUDGET: u64 = 300;
/// Maximum length of the shown line, in characters.
const LINE_CHARS: usize = 160;
/// Maximum number of absent words that are listed.
const MOST_ABSENT: usize = 8;

/// What an extraction that found nothing reports about the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nearest {
    /// The most relevant line; `None` if no line shares a word with the question.
    pub place: Option<NearPlace>,
    /// Identifiers in the question that do not occur in the output.
    pub absent: Vec<String>,
}

/// A line of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearPlace {
    /// The number of the line in the view.
    pub line: u64,
    /// The path of the line in jq syntax; only in JSON.
    pub path: Option<String>,
    /// The text of the line, masked and shortened.
    pub text: String,
}

/// Finds the line of the output that best matches `extract`, and the identifiers in `extract` that
/// do not occur in the output. Finds nothing if `extract` contains no words.
pub(crate) fn nearest(
    artifact: &Artifact,
    extract: &str,
    counter: &dyn TokenCounter,
) -> Result<Nearest, LookupError> {
    let query = SearchQuery::new(extract, TokenBudget::new(BUDGET)).passages_only();
    let page = match search(artifact, &query, counter) {
        Err(LookupError::EmptyQuestion) => return Ok(Nearest::default()),
        page => page?,
    };
    let mut absent = page.absent;
    absent.truncate(MOST_ABSENT);
    // Lines that report a failure are in the order of the text.
    let best = page.passages.iter().rev();
    let best = best.max_by(|one, other| one.score.total_cmp(&other.score));
    Ok(Nearest {
        place: best.map(|best| place(best, extract)),
        absent,
    })
}

/// Returns the line of a passage that shares most with the question. For JSON, it returns the start
/// of the passage, up to the maximum length, because its first line is only a bracket.
fn place(passage: &Passage, extract: &str) -> NearPlace {
    let (line, text) = if passage.path.is_some() {
        let words: Vec<&str> = passage.text.split_whitespace().collect();
        (passage.lines.first, words.join(" "))
    } else {
        // Of equally good lines, the first one is taken; `max_by_key` alone would return the last
        // one.
        let lines: Vec<(u64, &str)> = passage.numbered().collect();
        let best = lines
            .iter()
            .rev()
            .max_by_key(|(_, line)| shared(line, extract));
        let (line, text) = best.copied().unwrap_or((passage.lines.first, ""));
        (line, text.trim().to_owned())
    };
    NearPlace {
        line,
        path: passage.path.clone(),
        text: inline(&text, LINE_CHARS),
    }
}

/// Returns the total length, in characters, of the words that a line shares with a question. Words
/// are compared by their first four characters, so that `test` matches `tests`.
fn shared(line: &str, extract: &str) -> usize {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let stem = |word: &str| word.chars().take(4).collect::<String>().to_lowercase();
        words
            .filter(|word| word.chars().count() > 2)
            .map(stem)
            .collect()
    };
    words(line)
        .intersection(&words(extract))
        .map(String::len)
        .sum()
}

/// Formats the most relevant line and the absent words in one or two lines; empty if there are
/// none.
pub(crate) fn told(nearest: &Nearest) -> String {
    let mut told = Vec::new();
    if let Some(place) = &nearest.place {
        let path = place
            .path
            .as_ref()
            .map(|path| format!("{} ", inline(path, LINE_CHARS)));
        told.push(format!(
            "Nearest: L{} {}{}",
            place.line,
            path.unwrap_or_default(),
            place.text
        ));
    }
    if !nearest.absent.is_empty() {
        let words: Vec<String> = nearest
            .absent
            .iter()
            .map(|word| inline(word, LINE_CHARS))
            .collect();
        told.push(format!("Not in the text: {}", words.join(", ")));
    }
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_testkit::{log, records};
    use spillgate_text::Tokenizer;

    use super::*;
    use crate::testing::artifact;

    fn near(text: &str, extract: &str) -> String {
        let counter = Tokenizer::O200kBase.counter();
        told(&nearest(&artifact(text), extract, &*counter).unwrap())
    }

    #[test]
    fn in_a_log() {
        assert_snapshot!(near(&log(600), "which disk quota has code E9999 exceeded?"), @"
        Nearest: L501 2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
        Not in the text: E9999
        ");
    }

    #[test]
    fn in_json() {
        assert_snapshot!(near(&records(40), "the price of item 31 in warehouse WH-77"), @r#"Nearest: L407 .items[31] { "id": 31, "name": "item 31", "price": 93.50, "tags": [ "a", "b" ], "stock": { "site": "s3", "left": 31 } },"#);
    }

    #[test]
    fn the_line_of_a_passage_with_the_words() {
        let text = "started\n\n[INFO] ----\n[ERROR] Tests failed: 5\n[INFO] ----\n\ndone\n";
        assert_snapshot!(near(text, "Which tests failed and why?"), @"Nearest: L4 [ERROR] Tests failed: 5");
    }

    #[test]
    fn nothing_is_near() {
        assert_snapshot!(near(&log(10), "zebra-9 xylophone"), @"Not in the text: zebra-9, xylophone");
        assert_eq!(near(&log(10), "?!"), "");
    }

    #[test]
    fn a_long_line_is_cut() {
        assert_snapshot!(near(&format!("{}\n", "quota word ".repeat(400)), "quota"), @"Nearest: L1 quota word quota word quota word quota word quota word quota word quota word quota word quota word quota word quota word quota word quota word quota word quota … [995 characters in all]");
    }
}
