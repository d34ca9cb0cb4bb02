//! How does serde's complaint become a sentence for whoever wrote the file?

use std::fmt;

use serde::de::{self, Expected, Unexpected};
use spillgate_config::camel;

/// What a type says of a value that it does not take.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// It is noted already, with its place.
    Told,
    /// It must be something else.
    Type {
        /// What it must be.
        must: String,
        /// What it is.
        is: String,
    },
    /// In the type's own words.
    Said(String),
    /// A key is missing.
    Missing(&'static str),
}

/// Characters of a value that are shown.
const MOST_SHOWN: usize = 40;

/// Expectations of serde's own types, in our words.
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

impl Wrong {
    /// The sentence; without the value where that must not be shown.
    pub(crate) fn sentence(&self, is_hidden: bool) -> String {
        match (self, is_hidden) {
            (Self::Told, _) => String::new(),
            (Self::Missing(key), _) => format!("`{key}` is missing"),
            (Self::Type { must, is }, false) => format!("must be {must}, is {is}"),
            (Self::Type { must, .. }, true) => {
                format!("must be {must}; its value may be a secret and is not shown")
            }
            (Self::Said(what), false) => what.clone(),
            (Self::Said(_), true) => {
                "is not what it must be; its value may be a secret and is not shown".to_owned()
            }
        }
    }

    fn type_of(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Type {
            must: in_our_words(&expected.to_string()),
            is: shown(found),
        }
    }
}

fn in_our_words(expected: &str) -> String {
    if expected.starts_with("struct ") {
        return "a table".to_owned();
    }
    let known = WORDS.iter().find(|(theirs, _)| *theirs == expected);
    known.map_or_else(|| expected.to_owned(), |(_, ours)| (*ours).to_owned())
}

fn shown(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => quoted(text),
        Unexpected::Unit | Unexpected::Option => "empty".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// A text on one line, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?} …", &text[..end]),
    }
}

/// Of names that differ in `-`, `_` and case alone, the shortest: one is enough to
/// choose from.
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

/// `one`, `other` or `third`, each as it is written.
pub(crate) fn one_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &*names {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Advice that names what may be meant by `name`.
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

impl std::error::Error for Wrong {}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(false))
    }
}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self::Said(what.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::type_of(found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::type_of(found, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::Type {
            must: one_of(&spelled_once(expected)),
            is: quoted(variant),
        }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::Said(format!("`{}` is set twice, by two names", camel(field)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
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
