//! Fills placeholders in templates.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// The arguments of a call.
pub(crate) type Arguments = Map<String, Value>;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(String),
}

/// Matches `${NAME}` and `${parameters.NAME}`. `${$}` stands for a dollar sign: code that inserts
/// variables into the texts of a configuration escapes the dollar signs of their values in this
/// way, so that the values are not read as templates.
fn placeholder() -> &'static Regex {
    static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\$\{(?:\$|(?:parameters\.)?([A-Za-z0-9_.\-\[\]]+))\}")
            .expect("invariant: the pattern is a constant")
    });
    &PLACEHOLDER
}

/// Returns the text with each placeholder replaced by the result of `with` for its name.
pub(crate) fn replaced(text: &str, with: impl Fn(&str) -> String) -> String {
    placeholder()
        .replace_all(text, |found: &regex::Captures<'_>| match found.get(1) {
            Some(name) => with(name.as_str()),
            None => found[0].to_owned(),
        })
        .into_owned()
}

/// Returns the template of a literal text.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('$', "${$}")
}

/// Returns the text of a template that contains no arguments.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace("${$}", "$")
}

impl Template {
    /// Parses a text from the configuration.
    ///
    /// # Errors
    ///
    /// Fails if a `${` does not begin a placeholder.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let (mut pieces, mut end) = (Vec::new(), 0);
        let plain = |text: &str| match text {
            "" => Ok(None),
            // The text is not shown, because it may contain a secret.
            text if text.contains("${") => {
                Err("has a `${` that is not a placeholder: write ${parameters.NAME}".to_owned())
            }
            text => Ok(Some(Piece::Text(text.to_owned()))),
        };
        for found in placeholder().captures_iter(text) {
            let whole = found.get_match();
            pieces.extend(plain(&text[end..whole.start()])?);
            pieces.push(match found.get(1) {
                Some(name) => Piece::Argument(name.as_str().to_owned()),
                None => Piece::Text("$".to_owned()),
            });
            end = whole.end();
        }
        pieces.extend(plain(&text[end..])?);
        Ok(Self(pieces))
    }

    /// Creates a template that consists of one argument.
    pub(crate) fn argument(name: &str) -> Self {
        Self(vec![Piece::Argument(name.to_owned())])
    }

    /// Creates a template that consists of a literal text.
    pub(crate) fn text(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// Appends another template.
    pub(crate) fn then(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Returns the names of the arguments in the template.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// Returns the name of the argument if the template consists of a single argument.
    pub(crate) fn only_argument(&self) -> Option<&str> {
        match &self.0[..] {
            [Piece::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// Splits the template at each occurrence of `at` in its literal text.
    pub(crate) fn split(&self, at: char) -> Vec<Self> {
        let mut parts = vec![Self::default()];
        for piece in &self.0 {
            let Piece::Text(text) = piece else {
                parts
                    .last_mut()
                    .into_iter()
                    .for_each(|last| last.0.push(piece.clone()));
                continue;
            };
            for (number, part) in text.split(at).enumerate() {
                if number > 0 {
                    parts.push(Self::default());
                }
                if !part.is_empty() {
                    let piece = Piece::Text(part.to_owned());
                    parts
                        .last_mut()
                        .into_iter()
                        .for_each(|last| last.0.push(piece.clone()));
                }
            }
        }
        parts
    }

    /// Returns the text with the arguments inserted, each converted by `put`; `None` if an argument
    /// is missing.
    pub(crate) fn filled(
        &self,
        arguments: &Arguments,
        put: impl Fn(&str) -> String,
    ) -> Option<String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Argument(name) => text.push_str(&put(&plain(arguments.get(name)?)?)),
            }
        }
        Some(text)
    }
}

/// Returns a value as text, with the elements of a list separated by commas; `None` for `null`.
pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) if all.iter().all(|one| !one.is_array() && !one.is_object()) => {
            let all: Vec<String> = all.iter().filter_map(plain).collect();
            Some(all.join(","))
        }
        other => Some(other.to_string()),
    }
}

/// Percent-encodes everything except the unreserved characters (RFC 3986, 2.3).
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_filled() {
        let arguments =
            json!({"id": 7, "q": "a b/c", "l": ["x", 1], "n": null, "o": {"a": 1}, "a-b": true});
        let arguments = arguments.as_object().unwrap();
        for (text, want) in [
            ("plain $x {y}", Some("plain $x {y}")),
            ("/${id}/${parameters.q}", Some("/7/a%20b%2Fc")),
            ("${l} ${a-b}", Some("x%2C1 true")),
            ("${o}", Some("%7B%22a%22%3A1%7D")),
            ("${n}", None),
            ("${gone}", None),
            ("${$}{id} ${$}${id}", Some("${id} $7")),
        ] {
            let template = Template::new(text).unwrap();
            assert_eq!(
                template.filled(arguments, encoded).as_deref(),
                want,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_placeholder_is_told() {
        for text in ["${", "a ${b c}", "${} x"] {
            let told = Template::new(text).unwrap_err();
            assert!(told.contains("is not a placeholder"), "{told}");
            assert!(!told.contains(" x"), "{told}");
        }
    }

    #[test]
    fn templates_are_split_in_their_text() {
        let template = Template::new("a/${x}b/${y}").unwrap();
        let parts = template.split('/');
        let arguments = json!({"x": "1/2", "y": "3"});
        let filled = parts.iter().map(|part| {
            let arguments = arguments.as_object().unwrap();
            part.filled(arguments, str::to_owned).unwrap()
        });
        assert_eq!(filled.collect::<Vec<_>>(), ["a", "1/2b", "3"]);
    }
}
