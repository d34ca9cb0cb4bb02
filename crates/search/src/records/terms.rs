//! The words of a question, and what they mean for columns: counts, orders, names.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::words::{Stems, camel_parts, is_stop_word};

/// Words for the ends of an order: the word, whether it asks for the largest, and parts of the
/// names of columns that it means.
pub(super) const SUPERLATIVES: [(&str, bool, &str); 53] = [
    ("commonest", true, ""),
    ("most", true, ""),
    ("highest", true, ""),
    ("largest", true, "size bytes kb area"),
    ("biggest", true, "size bytes kb area"),
    ("greatest", true, ""),
    ("maximum", true, ""),
    ("top", true, ""),
    ("best", true, "rating score"),
    ("longest", true, "length duration time min"),
    ("deepest", true, "depth"),
    ("fastest", true, "speed"),
    ("heaviest", true, "weight mass"),
    ("tallest", true, "height elevation"),
    ("strongest", true, "mag magnitude"),
    ("latest", true, "date time created released updated year"),
    ("newest", true, "date time created released updated year"),
    ("last", true, "date time created released updated year"),
    ("youngest", true, "date birth"),
    ("recent", true, "date time created released updated year"),
    ("costliest", true, "cost price"),
    ("dearest", true, "cost price"),
    ("expensive", true, "cost price"),
    ("popular", true, "votes downloads stars"),
    ("oldest", false, "date time created released updated year"),
    ("earliest", false, "date time created released updated year"),
    ("first", false, "date time created released updated year"),
    ("lowest", false, ""),
    ("smallest", false, "size bytes kb area"),
    ("least", false, ""),
    ("fewest", false, ""),
    ("minimum", false, ""),
    ("shortest", false, "length duration time min"),
    ("cheapest", false, "cost price"),
    ("slowest", false, "speed"),
    ("lightest", false, "weight mass"),
    ("worst", false, "rating score"),
    ("weakest", false, "mag magnitude"),
    ("shallowest", false, "depth"),
    ("southernmost", false, "latitude lat"),
    ("northernmost", true, "latitude lat"),
    ("westernmost", false, "longitude lon lng"),
    ("easternmost", true, "longitude lon lng"),
    ("southerly", false, "latitude lat"),
    ("northerly", true, "latitude lat"),
    ("westerly", false, "longitude lon lng"),
    ("easterly", true, "longitude lon lng"),
    ("hottest", true, "temperature temp"),
    ("coldest", false, "temperature temp"),
    ("richest", true, "income gdp wealth"),
    ("busiest", true, ""),
    ("south", false, "latitude lat"),
    ("north", true, "latitude lat"),
];

/// Numbers as words.
pub(super) const NUMBERS: [&str; 11] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Words for 11 to 19, and for 20 to 90.
const TEENS: [&str; 9] = [
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// A word of the question.
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lower: String,
    pub(super) stem: String,
}

/// Returns a pattern of the number words below one hundred that are one word.
fn small_numbers() -> String {
    [&NUMBERS[..], &TEENS, &TENS].concat().join("|")
}

/// Returns a question with its numbers in figures where words compare them or name a large number:
/// `over one hundred thousand`, `at least three`.
pub(super) fn spelled(question: &str) -> Cow<'_, str> {
    static LARGE: LazyLock<Regex> = LazyLock::new(|| {
        let small = format!("{}|an?|half an?", small_numbers());
        let pattern = format!(
            r"(?i)\b(?:(?:{small})[ -])+(?:hundred|thousand|million|billion)(?:[ -](?:and )?(?:{small}|hundred|thousand|million|billion))*\b"
        );
        Regex::new(&pattern).expect("invariant: the pattern is valid")
    });
    static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
        let small = small_numbers();
        let pattern = format!(
            r"(?i)\b(?P<before>than|at least|at most|over|above|under|below|exactly|up to|between) (?P<one>{small})\b(?:(?P<and> and )(?P<other>{small})\b)?"
        );
        Regex::new(&pattern).expect("invariant: the pattern is valid")
    });
    let large = LARGE.replace_all(question, |found: &Captures<'_>| {
        spoken(&found[0]).map_or_else(|| found[0].to_owned(), |number| number.to_string())
    });
    let compared = COMPARED.replace_all(&large, |found: &Captures<'_>| {
        let figure = |name: &str| {
            let word = found.name(name)?.as_str();
            spoken(word).map(|number| number.to_string())
        };
        let rest = match (found.name("and"), figure("other")) {
            (Some(and), Some(other)) => format!("{}{other}", and.as_str()),
            _ => String::new(),
        };
        format!(
            "{} {}{rest}",
            &found["before"],
            figure("one").unwrap_or_default()
        )
    });
    match compared == question {
        true => Cow::Borrowed(question),
        false => Cow::Owned(compared.into_owned()),
    }
}

/// Returns the number that a text of number words is.
fn spoken(text: &str) -> Option<u64> {
    let (mut sum, mut part) = (0u64, 0u64);
    let text = text.to_lowercase();
    let half = text.starts_with("half ");
    for word in text.split([' ', '-']) {
        let place = |words: &[&str]| words.iter().position(|known| *known == word);
        match word {
            "and" | "half" => {}
            "a" | "an" => part += 1,
            "hundred" => part = part.max(1) * 100,
            "thousand" | "million" | "billion" => {
                let times = match word {
                    "thousand" => 1_000,
                    "million" => 1_000_000,
                    _ => 1_000_000_000,
                };
                sum += part.max(1) * times;
                part = 0;
            }
            _ => {
                let small = place(&NUMBERS).map(|at| at as u64);
                let teen = place(&TEENS).map(|at| at as u64 + 11);
                let ten = place(&TENS).map(|at| (at as u64 + 2) * 10);
                part += small.or(teen).or(ten)?;
            }
        }
    }
    let number = sum + part;
    Some(if half { number / 2 } else { number })
}

/// Returns the words of a question.
pub(super) fn words(question: &str, stems: &Stems) -> Vec<Word> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[\p{L}\p{M}\p{N}]+").expect("invariant: the pattern is valid")
    });
    let words = WORD.find_iter(question).map(|word| Word {
        start: word.start(),
        end: word.end(),
        lower: word.as_str().to_lowercase(),
        stem: stems.stem(word.as_str()),
    });
    words.take(80).collect()
}

/// The stems of the words in a column's name.
pub(super) fn column_stems(name: &str, stems: &Stems) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty()).flat_map(camel_parts);
    let parts = parts.filter(|part| !is_stop_word(&part.to_lowercase()));
    parts.map(|part| stems.stem(part)).collect()
}

/// The count that a word tells, at most 100.
pub(super) fn number(word: &Word) -> Option<usize> {
    let known = NUMBERS.iter().position(|name| *name == word.lower);
    let figure = word.lower.parse().ok();
    known.or_else(|| figure.filter(|&count: &usize| count <= 100))
}

/// Whether a word of the question and one of a name mean the same: equal stems, one that begins
/// with the other (`mag`, `magnitude`), two forms of a word (`describ` and `descript`, `licenc` and
/// `licens`), or what costs and its price.
pub(super) fn alike(word: &str, name: &str) -> bool {
    const LEAST: usize = 3;
    const ROOT: usize = 5;
    const ENDING: usize = 2;
    const SAME: [[&str; 2]; 7] = [
        ["cost", "price"],
        ["price", "cost"],
        ["cost", "budget"],
        ["budget", "cost"],
        ["bill", "cost"],
        ["rule", "code"],
        ["code", "rule"],
    ];
    let (short, long) = match word.len() < name.len() {
        true => (word, name),
        false => (name, word),
    };
    let common = word.bytes().zip(name.bytes()).take_while(|(a, b)| a == b);
    let common = common.count();
    word == name
        || short.len() >= LEAST && long.starts_with(short)
        || short.len() >= ROOT && long.ends_with(short)
        || common >= ROOT && long.len() - common <= ENDING
        || SAME.contains(&[word, name])
}

/// Whether a word asks for something, so that its capital letter says nothing.
pub(super) fn is_asking(word: &str) -> bool {
    const ASKING: &str = "list give show find name tell count print return select get which what how number total every each all";
    is_stop_word(word) || ASKING.split(' ').any(|one| one == word)
}

/// A text in lower case without what separates its words.
pub(super) fn squeezed(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.len() > LONGEST {
        return String::new();
    }
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
