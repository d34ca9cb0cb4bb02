//! Splits a question into terms.
//!
//! The *terms* are the stems of the words, whole identifiers (`foo_bar-3`, `a.b.c`), and pairs of
//! characters in scripts without spaces.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use crate::similar;
use crate::words::{Stems, camel_parts, is_stop_word, is_unspaced};

/// Maximum number of terms of a question, so that a set of terms fits in a `u64`. Of a longer
/// question, the first distinct terms are used.
pub(crate) const MOST_TERMS: usize = 64;

/// Maximum number of bytes of a question that are read. Real questions are far shorter.
const LONGEST_QUESTION: usize = 64 << 10;

/// Maximum number of bytes of a question in which values of the text are looked for. Each value
/// that contains a term requires one such search.
const LONGEST_NAMING: usize = 2 << 10;

/// Maximum length of an identifier, in bytes. A longer token is pasted data, of which only the
/// words are used.
const LONGEST_IDENTIFIER: usize = 128;

/// Maximum number of characters of an identifier part that means nothing by itself.
const SHORT_PART: usize = 2;

/// Letters and digits, joined by the characters that join the parts of identifiers.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{M}\p{N}]+(?:[-_.:/@]+[\p{L}\p{M}\p{N}]+)*")
        .expect("invariant: the pattern is valid")
});

/// Words that ask why something went wrong. They are compared by stem.
const FAILURE_WORDS: &str = "fail failed failure error errors broke broken break crash crashed wrong problem exception abort aborted panic bug issue fault";

/// Words that often accompany [`FAILURE_WORDS`] and name nothing in particular: a question that has
/// only words of both lists is about the whole text.
const GENERIC_WORDS: &str = "build job test tests run running ci pipeline command compile compilation task workflow step process \
    program script log output cause causes caused reason root explain go went come this it execution install installation deploy main";

/// Weight of another spelling of a word, relative to the weight of the word.
const RESPELLED: f64 = 0.9;
/// Weight of another form of a word, relative to the weight of the word.
const FORM: f64 = 0.5;
/// Weight of a synonym of a word, relative to the weight of the word.
const SIMILAR: f64 = 0.35;

/// Minimum number of letters that another form of a word shares with the stem of the word.
const LEAST_FORM: usize = 4;

/// A set of terms: bit `n` stands for term `n`.
pub(crate) type Terms = u64;

/// What a term matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// Words with this stem.
    Word(String),
    /// An identifier of several words, in lower case, anywhere between word boundaries.
    Phrase(String),
    /// An identifier of several words, only where it is not part of a longer identifier.
    Whole(String),
    /// Two characters of a script without spaces, anywhere.
    Pair(String),
    /// Other forms of the word with this stem: `permitted` for `permission`.
    Form(String),
}

/// A question split into terms.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The terms.
    pub terms: Vec<Term>,
    /// Weight of each term.
    pub weights: Vec<f64>,
    /// The texts that a scan looks for, because a term may occur at the same place.
    pub needles: Vec<String>,
    /// For each term, the index of the term for which it stands, or its own index.
    pub stands_for: Vec<usize>,
    /// The index of the term for each stem.
    pub by_stem: HashMap<String, usize>,
    /// Identifier parts of one or two characters: the index of the part's term, and the index of
    /// the identifier without which the part means nothing.
    pub short_parts: Vec<(usize, usize)>,
    /// Identifiers as written. The page names those that do not occur in the text.
    pub identifiers: Vec<String>,
    /// Whether the question asks only why something went wrong.
    pub is_about_failure: bool,
    /// The question in lower case, with one space before and after each word.
    pub spaced: String,
    /// The start of the question in lower case.
    lower: String,
}

/// Returns the word whose meaning a question asks for, which counts even if it is as common as `am`:
/// `meaning of am`, `what is am short for`, `what does am mean`.
fn defined(tokens: &[&str]) -> Option<usize> {
    let is = |at: usize, words: &[&str]| {
        let token = tokens.get(at);
        token.is_some_and(|token| words.iter().any(|word| word.eq_ignore_ascii_case(token)))
    };
    let behind = |at: usize| is(at, &["meaning", "expansion", "definition"]) && is(at + 1, &["of"]);
    let before = |at: usize| {
        is(at, &["mean"]) || is(at, &["short", "stand", "stands"]) && is(at + 1, &["for"])
    };
    let found = (0..tokens.len()).find_map(|at| match (behind(at), before(at)) {
        (true, _) if is(at + 2, &["the"]) => Some(at + 3),
        (true, _) => Some(at + 2),
        (_, true) => at.checked_sub(1),
        _ => None,
    })?;
    let is_name = found < tokens.len() && !is(found, &["it", "this", "that", "these", "does"]);
    is_name.then_some(found)
}

impl Question {
    /// Splits a question into terms; `None` if it contains no word.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = &text[..text.floor_char_boundary(LONGEST_QUESTION)];
        let tokens: Vec<&str> = TOKEN.find_iter(text).map(|found| found.as_str()).collect();
        if tokens.is_empty() {
            return None;
        }
        let mut parsed = Self {
            terms: Vec::new(),
            weights: Vec::new(),
            stands_for: Vec::new(),
            needles: Vec::new(),
            by_stem: HashMap::new(),
            short_parts: Vec::new(),
            identifiers: Vec::new(),
            is_about_failure: false,
            spaced: spaced(text),
            lower: text[..text.floor_char_boundary(LONGEST_NAMING)].to_lowercase(),
        };
        let stems = Stems::new();
        // Stop words count only if there are no other words.
        let defined = defined(&tokens);
        for stops_count in [false, true] {
            for (at, token) in tokens.iter().enumerate() {
                parsed.token(token, &stems, stops_count || defined == Some(at));
            }
            if !parsed.terms.is_empty() {
                break;
            }
        }
        parsed.bare(text, &tokens);
        parsed.is_about_failure = is_about_failure(&tokens, &stems);
        Some(parsed)
    }

    /// If a query only names something, such as `lodash.merge` or `Great Barrington`, treats the
    /// query or its words as identifiers.
    fn bare(&mut self, text: &str, tokens: &[&str]) {
        /// Maximum number of words of a name. A query with more words is a description.
        const MOST: usize = 6;
        /// Minimum number of letters and digits of a name.
        const LEAST: usize = 4;
        let is_bare = |token: &&str| !is_stop_word(&token.to_lowercase());
        if tokens.len() > MOST || !tokens.iter().all(is_bare) {
            return;
        }
        let text = text.trim();
        let size = |text: &str| text.chars().filter(|char| char.is_alphanumeric()).count();
        // Other characters may be spelled differently in the text.
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.:/@+~{}$#%".contains(char);
        let fits = |text: &str| size(text) >= LEAST && text.len() <= LONGEST_IDENTIFIER;
        if text.chars().all(is_plain) && fits(text) {
            self.identifiers = vec![text.to_owned()];
            return;
        }
        for token in tokens
            .iter()
            .filter(|token| token.is_ascii() && fits(token))
        {
            if !self.identifiers.iter().any(|known| known == token) {
                self.identifiers.push((*token).to_owned());
            }
        }
    }

    /// Returns the question with additional terms for other forms and spellings of its words, and
    /// for synonyms. The original terms keep their indices.
    pub(crate) fn widened(&self) -> Self {
        let mut wide = self.clone();
        let stems = Stems::new();
        let own: Vec<(usize, String)> = (0..)
            .zip(&self.terms)
            .filter_map(|(at, term)| match term {
                Term::Word(stem) if stem.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                    Some((at, stem.clone()))
                }
                _ => None,
            })
            .collect();
        for (at, stem) in &own {
            if let Some(other) = similar::respelled(stem) {
                wide.stand_in(*at, &other, RESPELLED);
            }
        }
        for (at, stem) in &own {
            if stem.len() >= LEAST_FORM {
                let term = Term::Form(stem.clone());
                if let Some(number) = wide.add(term, self.weights[*at] * FORM) {
                    wide.stands_for[number] = *at;
                    wide.needles.push(stem[..LEAST_FORM].to_owned());
                }
            }
        }
        for (at, other) in similar::others(&own, &stems) {
            wide.stand_in(at, &other, SIMILAR);
        }
        for sign in self.signs() {
            if wide.add(Term::Pair(sign.clone()), 1.0).is_some() {
                wide.needles.push(sign);
            }
        }
        wide
    }

    /// Returns the signs of the question that stand for themselves: `%`, `$?`, `&&`.
    fn signs(&self) -> Vec<String> {
        /// Signs of a sentence, which name nothing.
        const PLAIN: &str = ".,;:!?-()[]'\"`/";
        let words = self.lower.split_ascii_whitespace();
        let words = words.map(|word| word.trim_matches(|char| ".,;:'\"`()".contains(char)));
        let is_sign = |word: &&str| {
            (1..=3).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_punctuation())
                && !word.chars().all(|char| PLAIN.contains(char))
        };
        words.filter(is_sign).map(str::to_owned).collect()
    }

    /// Adds a stem that stands for term `at`.
    fn stand_in(&mut self, at: usize, stem: &str, share: f64) {
        let weight = self.weights[at] * share;
        if stem.bytes().all(|byte| byte.is_ascii_punctuation()) {
            if let Some(number) = self.add(Term::Pair(stem.to_owned()), weight) {
                self.stands_for[number] = at;
                self.needles.push(stem.to_owned());
            }
            return;
        }
        if let Some(number) = self.add(Term::Word(stem.to_owned()), weight) {
            self.stands_for[number] = at;
            let shorter = stem.trim_end_matches(['i', 'y', 'e']);
            let needle = if shorter.len() < 3 { stem } else { shorter };
            self.needles.push(needle.to_owned());
            self.by_stem.insert(stem.to_owned(), number);
        }
    }

    /// Returns whether the question contains the value of a line `"key": "value",`: the whole
    /// value, and not as part of a longer identifier. `value` is the text after the key.
    pub(crate) fn names(&self, value: &[u8]) -> bool {
        /// Maximum length of a name, in bytes.
        const LONGEST: usize = 80;
        let value = value.strip_prefix(b": ").unwrap_or(value);
        if value.len() > LONGEST {
            return false;
        }
        let is_text = value.starts_with(b"\"");
        let value = String::from_utf8_lossy(value).to_lowercase();
        let value = value.trim_matches(|char: char| !char.is_alphanumeric());
        // A short number is not a name.
        let fewest = if is_text { 2 } else { 4 };
        if value.chars().count() < fewest || is_stop_word(value) {
            return false;
        }
        let is_joint = |char: char| "-_.:/@".contains(char);
        let goes_on = |rest: &str| rest.starts_with(char::is_alphanumeric);
        let ends_so = |rest: &str| rest.ends_with(char::is_alphanumeric);
        self.lower.match_indices(value).any(|(at, _)| {
            let (before, after) = (&self.lower[..at], &self.lower[at + value.len()..]);
            !ends_so(before)
                && !ends_so(before.trim_end_matches(is_joint))
                && !goes_on(after)
                && !goes_on(after.trim_start_matches(is_joint))
        })
    }

    fn token(&mut self, token: &str, stems: &Stems, stops_count: bool) {
        let words: Vec<&str> = token
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let is_compound = words.len() > 1 && token.len() <= LONGEST_IDENTIFIER;
        if is_identifier(token) && token.len() <= LONGEST_IDENTIFIER {
            let known = self.identifiers.iter().any(|known| known == token);
            if !known && self.identifiers.len() < MOST_TERMS {
                self.identifiers.push(token.to_owned());
            }
        }
        if is_compound {
            let lower = token.to_lowercase();
            self.add(Term::Whole(lower.clone()), 0.5);
            self.add(Term::Phrase(lower.clone()), 1.0);
            self.needles.push(lower);
        }
        for word in words {
            if word.chars().any(is_unspaced) {
                self.pairs(word);
            } else if is_compound || stops_count || !is_stop_word(&word.to_lowercase()) {
                self.word(word, stems, if is_compound { 0.5 } else { 1.0 });
            }
            if is_compound && word.chars().count() <= SHORT_PART {
                self.short_part(word, token, stems);
            }
        }
    }

    fn short_part(&mut self, word: &str, token: &str, stems: &Stems) {
        let phrase = Term::Phrase(token.to_lowercase());
        let whole = self.terms.iter().position(|term| *term == phrase);
        let part = self.by_stem.get(&stems.stem(word)).copied();
        self.short_parts.extend(part.zip(whole));
    }

    fn word(&mut self, word: &str, stems: &Stems, weight: f64) {
        let parts = camel_parts(word);
        if parts.len() > 1 {
            for part in &parts {
                self.stem(part, stems, weight / 2.0);
            }
        }
        self.stem(word, stems, weight);
    }

    fn stem(&mut self, word: &str, stems: &Stems, weight: f64) {
        let stem = stems.stem(word);
        let lower = word.to_lowercase();
        if let Some(number) = self.add(Term::Word(stem.clone()), weight) {
            // Words with one stem start alike, except that a `y` may become an `i`.
            let alike = lower.chars().zip(stem.chars()).take_while(|(a, b)| a == b);
            let alike: String = alike.map(|(a, _)| a).collect();
            let shorter = alike.trim_end_matches(['i', 'y', 'e']);
            let has_digit = alike.bytes().any(|byte| byte.is_ascii_digit());
            let needle = if shorter.len() < 3 || has_digit {
                &alike
            } else {
                shorter
            };
            self.needles.push(needle.to_owned());
            // The scan ignores case only for ASCII letters.
            let capital: String = word.chars().take(needle.chars().count()).collect();
            if !needle.is_ascii() && capital != needle {
                self.needles.push(capital);
            }
            self.by_stem.insert(stem, number);
        }
    }

    fn pairs(&mut self, word: &str) {
        let chars: Vec<char> = word.chars().collect();
        for pair in chars.windows(2.min(chars.len())) {
            let pair: String = pair.iter().collect();
            if self.add(Term::Pair(pair.clone()), 1.0).is_some() {
                self.needles.push(pair);
            }
        }
    }

    /// Adds a term. Returns its index if it is new and there is room for it.
    fn add(&mut self, term: Term, weight: f64) -> Option<usize> {
        if let Some(at) = self.terms.iter().position(|known| *known == term) {
            self.weights[at] = self.weights[at].max(weight);
            return None;
        }
        if self.terms.len() == MOST_TERMS {
            return None;
        }
        self.stands_for.push(self.terms.len());
        self.terms.push(term);
        self.weights.push(weight);
        Some(self.terms.len() - 1)
    }
}

/// Returns whether a token looks like a name and not like an ordinary word. If a name does not
/// occur in a text, the text says nothing about it.
fn is_identifier(token: &str) -> bool {
    let has_digit = token.chars().any(|char| char.is_ascii_digit());
    let letters = token.chars().filter(|char| char.is_alphanumeric()).count();
    let is_camel = token
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let is_path = token.contains("::") || token.contains('_') || token.contains('@');
    letters >= 5 && (has_digit || is_camel || is_path)
}

fn is_about_failure(tokens: &[&str], stems: &Stems) -> bool {
    let set = |words: &str| -> BTreeSet<String> {
        let words = words.split_ascii_whitespace();
        words.map(|word| stems.stem(word)).collect()
    };
    let (failure, generic) = (set(FAILURE_WORDS), set(GENERIC_WORDS));
    let mut is_failure = false;
    for token in tokens {
        let stem = stems.stem(token);
        if failure.contains(&stem) {
            is_failure = true;
        } else if !generic.contains(&stem) && !is_stop_word(&token.to_lowercase()) {
            return false;
        }
    }
    is_failure
}

/// Returns the text in lower case, with one space in place of each run of characters that are
/// neither letters nor digits, and a space at both ends. A search in it finds only whole words.
pub(crate) fn spaced(text: &str) -> String {
    let mut spaced = String::from(" ");
    for char in text.chars() {
        if char.is_alphanumeric() {
            spaced.extend(char.to_lowercase());
        } else if !spaced.ends_with(' ') {
            spaced.push(' ');
        }
    }
    if !spaced.ends_with(' ') {
        spaced.push(' ');
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(question: &str) -> Vec<String> {
        let question = Question::new(question).unwrap();
        let shown = question.terms.iter().map(|term| match term {
            Term::Word(stem) => stem.clone(),
            Term::Phrase(phrase) => format!("\"{phrase}\""),
            Term::Whole(whole) => format!("={whole}"),
            Term::Pair(pair) => format!("*{pair}*"),
            Term::Form(form) => format!("~{form}"),
        });
        shown.collect()
    }

    #[test]
    fn questions_become_terms() {
        let cases: [(&str, &[&str]); 9] = [
            ("Which shards failed?", &["shard", "fail"]),
            ("meaning of am", &["mean", "am"]),
            ("What does the am in git am mean?", &["git", "am", "mean"]),
            ("What does this mean?", &["mean"]),
            ("What is E4217?", &["e4217"]),
            (
                "the foo_bar-3 job",
                &["=foo_bar-3", "\"foo_bar-3\"", "foo", "bar", "3", "job"],
            ),
            (
                "NullPointer in a.b.",
                &["null", "pointer", "nullpoint", "=a.b", "\"a.b\"", "a", "b"],
            ),
            ("what is it", &["what", "is", "it"]),
            ("日本語 log", &["*日本*", "*本語*", "log"]),
        ];
        for (question, want) in cases {
            assert_eq!(terms(question), want, "{question}");
        }
        assert!(Question::new(" ?! ").is_none());
    }

    #[test]
    fn identifiers_are_not_words() {
        let identifiers = |text| Question::new(text).unwrap().identifiers;
        assert_eq!(
            identifiers(
                "Did blk_-1608999687 or W3220387 pass the well-known RetryPolicy at 12:30?"
            ),
            ["blk_-1608999687", "W3220387", "RetryPolicy"]
        );
    }

    #[test]
    fn what_asks_for_a_failure() {
        let cases = [
            ("Why did the build fail?", true),
            ("what went wrong", true),
            ("What is the root cause of the failure?", true),
            ("Why did shard-07 fail?", false),
            ("Which build was slow?", false),
        ];
        for (question, want) in cases {
            assert_eq!(
                Question::new(question).unwrap().is_about_failure,
                want,
                "{question}"
            );
        }
    }
}
