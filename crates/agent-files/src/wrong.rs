//! Formats the errors in an agent file as messages for the author of the file.

use serde::de::{Error as _, value};
use spillgate_config::{NodeKind, Number, ProblemKind, camel};

/// Maximum length of a value in a message, in characters.
const MOST_SHOWN: usize = 40;

/// The names that serde gives its types, and the names that messages use instead.
const WORDS: [(&str, &str); 13] = [
    ("a string", "a text"),
    ("string", "a text"),
    ("path string", "a path"),
    ("a boolean", "true or false"),
    ("a map", "a table"),
    ("a sequence", "a list"),
    ("u8", "a whole number"),
    ("u32", "a whole number"),
    ("u64", "a whole number"),
    ("usize", "a whole number"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("unit", "nothing"),
];

/// Formats a problem, without the value if it must be hidden.
pub(crate) fn sentence(problem: &ProblemKind, is_hidden: bool) -> String {
    let (must, is) = match problem {
        ProblemKind::Type { actual, expected } | ProblemKind::Value { actual, expected } => {
            (in_our_words(expected), shown(actual))
        }
        ProblemKind::Name { actual, known } => (one_of(&spelled_once(known)), quoted(actual)),
        ProblemKind::Missing(key) => return format!("`{key}` is missing"),
        _ if is_hidden => {
            return "is not what it must be; its value may be a secret and is not shown".to_owned();
        }
        ProblemKind::Twice { name, .. } => {
            return format!("`{}` is set twice, under two names", camel(name));
        }
        ProblemKind::Key { name, known } => {
            return value::Error::unknown_field(name, known).to_string();
        }
        ProblemKind::Other(what) => return what.clone(),
    };
    match is_hidden {
        false => format!("must be {must}, is {is}"),
        true => format!("must be {must}; its value may be a secret and is not shown"),
    }
}

fn in_our_words(expected: &str) -> String {
    if expected.starts_with("struct ") {
        return "a table".to_owned();
    }
    let known = WORDS.iter().find(|(theirs, _)| *theirs == expected);
    known.map_or_else(|| expected.to_owned(), |(_, ours)| (*ours).to_owned())
}

fn shown(actual: &NodeKind) -> String {
    match actual {
        NodeKind::Bool(value) => value.to_string(),
        NodeKind::Number(Number::Unsigned(number)) => number.to_string(),
        NodeKind::Number(Number::Signed(number)) => number.to_string(),
        NodeKind::Number(Number::Float(number)) => number.to_string(),
        NodeKind::Text(text) => quoted(&text.text),
        NodeKind::Null => "empty".to_owned(),
        NodeKind::List(_) => "a list".to_owned(),
        NodeKind::Table(_) => "a table".to_owned(),
    }
}

/// Quotes a text on one line, cut if it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?} …", &text[..end]),
    }
}

/// Keeps only the shortest of names that differ only in `-`, `_` and case, because a message should
/// suggest one spelling.
fn spelled_once<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        match once.iter_mut().find(|one| plain(one) == plain(name)) {
            None => once.push(name),
            Some(one) if name.len() < one.len() => *one = name,
            Some(_) => {}
        }
    }
    once
}

/// Formats names as a choice of quoted words: `one`, `other` or `third`.
pub(crate) fn one_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &*names {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns advice that names the known name most similar to `name`.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const ALIKE: f64 = 0.7;
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let scored = known.iter().map(|one| {
        let (name, one) = (name.to_lowercase(), one.to_lowercase());
        strsim::jaro_winkler(&name, &one)
    });
    let best = scored
        .zip(&known)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        None => "there are none".to_owned(),
        Some((score, one)) if score >= ALIKE => format!("did you mean `{one}`?"),
        Some(_) => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_told_or_all() {
        let known = ["maxTurns", "models", "tools"];
        for (name, told) in [
            ("maxTurn", "did you mean `maxTurns`?"),
            ("MODELS", "did you mean `models`?"),
            ("xyz", "there are maxTurns, models, tools"),
        ] {
            assert_eq!(nearest(name, known), told);
        }
        assert_eq!(nearest("x", []), "there are none");
    }

    #[test]
    fn a_long_text_is_cut_and_stays_on_its_line() {
        assert_eq!(quoted("a\n\u{1b}b"), r#""a\n\u{1b}b""#);
        assert_eq!(quoted(&"é".repeat(50)), format!("\"{}\" …", "é".repeat(40)));
    }
}
