//! Hides secrets in an entry that is shown to the user.
//!
//! An entry is shown with its variables unexpanded, so it contains no values of variables. Literal
//! values that may be secrets are hidden; in doubt, a value is hidden.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::variable;

const HIDDEN: &str = "[hidden]";

/// Tables whose values are usually secrets.
const SECRETIVE: [&str; 3] = ["env", "headers", "header"];

/// Substrings of names of secrets.
const WORDS: &str = "key|token|secret|passw|auth|cookie|credential|signature";

/// Words that mark a secret only if they stand alone: `pat` is also part of `path`.
const WHOLE: [&str; 4] = ["pat", "pass", "pw", "pwd"];

/// A numeric setting of Spillgate that looks like the name of a secret.
const HARMLESS: &str = "maxTokens";

/// Schemes that may precede a secret.
const SCHEMES: &str = "bearer|basic|token|apikey";

/// Hides possible secrets.
pub(super) fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let is_secret = SECRETIVE.contains(&&*key.to_lowercase()) && !are_names(value);
                match is_secret || is_secret_name(key) {
                    true => hide_all(value),
                    false => hide(value),
                }
            }
        }
        Value::Array(elements) => {
            let mut is_next = false;
            for element in elements {
                let is_this = is_next;
                is_next = element.as_str().is_some_and(is_secret_flag);
                match is_this {
                    true => hide_all(element),
                    false => hide(element),
                }
            }
        }
        Value::String(text) => *text = masked(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns whether the value is a list of variable names without values, such as the variables that
/// a program inherits.
fn are_names(value: &Value) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Z_][A-Z0-9_]*\*?$"));
    let is_name = |one: &Value| one.as_str().is_some_and(|text| NAME.is_match(text));
    value.as_array().is_some_and(|all| all.iter().all(is_name))
}

fn hide_all(value: &mut Value) {
    match value {
        // The name of a variable is not secret.
        Value::String(text) if variable(text).is_some() => {}
        Value::String(text) => HIDDEN.clone_into(text),
        Value::Object(members) => members.values_mut().for_each(hide_all),
        Value::Array(elements) => elements.iter_mut().for_each(hide_all),
        Value::Number(_) => *value = HIDDEN.into(),
        Value::Null | Value::Bool(_) => {}
    }
}

fn is_secret_name(name: &str) -> bool {
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern("[A-Z]?[a-z]+|[A-Z]+"));
    let lower = name.to_lowercase();
    let mut words = WORD.find_iter(name);
    if spillgate_config::camel(name) == HARMLESS {
        return false;
    }
    WORDS.split('|').any(|word| lower.contains(word))
        || words.any(|word| WHOLE.contains(&&*word.as_str().to_lowercase()))
}

/// Returns whether `text` is a flag, such as `--api-key`, whose value is the next argument and a
/// secret.
fn is_secret_flag(text: &str) -> bool {
    text.starts_with('-') && !text.contains('=') && is_secret_name(text)
}

/// Masks the secrets in a text: user and password of a URL, the value after a name such as
/// `api_key=`, and everything after `Authorization:`.
fn masked(text: &str) -> String {
    static USER: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^/@\s]+@"));
    static NAMED: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        let (whole, name) = (WHOLE.join("|"), r"[\w-]*");
        let name = format!(r"\b(?:{name}(?:{WORDS}){name}|(?:{name}[-_])?(?:{whole}))");
        let scheme = format!(r"(?:(?:{SCHEMES})\s+)?");
        [
            pattern(&format!(r"(?is)({name}\s*:\s*{scheme})(\S.*)$")),
            pattern(&format!(r"(?i)({name}\s*=\s*{scheme})([^\s&]+)")),
        ]
    });
    let mut text = USER.replace_all(text, "://[hidden]@").into_owned();
    for named in &*NAMED {
        let shown = named.replace_all(&text, |found: &Captures<'_>| {
            match variable(&found[2]).is_some() || &found[2] == HIDDEN {
                true => found[0].to_owned(),
                false => format!("{}{HIDDEN}", &found[1]),
            }
        });
        text = shown.into_owned();
    }
    text
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("invariant: the pattern is a constant")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_hidden() {
        for (given, shown) in [
            (
                json!({ "env": { "A": "x", "B": "${B}" }, "headers": { "X": "y" }, "apiKey": "z", "n": 5 }),
                json!({ "env": { "A": "[hidden]", "B": "${B}" }, "headers": { "X": "[hidden]" }, "apiKey": "[hidden]", "n": 5 }),
            ),
            (
                json!({ "env": ["CI", "CARGO_*"], "maxTokens": 5, "e": { "env": ["CI", "A=x"] } }),
                json!({ "env": ["CI", "CARGO_*"], "maxTokens": 5, "e": { "env": ["[hidden]", "[hidden]"] } }),
            ),
            (
                json!({ "url": "https://me:pass@example.com/a?q=${q}&api_key=abc&token=${T}" }),
                json!({ "url": "https://[hidden]@example.com/a?q=${q}&api_key=[hidden]&token=${T}" }),
            ),
            (
                json!({ "args": ["-y", "--token", "abc", "--api-key=abc", "--dir", "/srv"] }),
                json!({ "args": ["-y", "--token", "[hidden]", "--api-key=[hidden]", "--dir", "/srv"] }),
            ),
            (
                json!({ "args": ["--header", "Authorization: Bearer abc", "X-Auth:${A}", "--key", "${K}"] }),
                json!({ "args": ["--header", "Authorization: Bearer [hidden]", "X-Auth:${A}", "--key", "${K}"] }),
            ),
            (
                json!({ "args": ["--header", "Authorization: token ghp_X and more", "Cookie: a=b; c=d", "--pat", "X", "--path", "/p", "--pwd=X", "Authorization: ApiKey X", "X-Auth: two words", "pat: X"] }),
                json!({ "args": ["--header", "Authorization: token [hidden]", "Cookie: [hidden]", "--pat", "[hidden]", "--path", "/p", "--pwd=[hidden]", "Authorization: ApiKey [hidden]", "X-Auth: [hidden]", "pat: [hidden]"] }),
            ),
            (
                json!({ "token": ["X", { "a": 5, "b": "${B}", "c": true }], "auth": { "pw": "X", "user": "u" }, "login": { "pw": "X", "githubPat": "X", "path": "/p" } }),
                json!({ "token": ["[hidden]", { "a": "[hidden]", "b": "${B}", "c": true }], "auth": { "pw": "[hidden]", "user": "[hidden]" }, "login": { "pw": "[hidden]", "githubPat": "[hidden]", "path": "/p" } }),
            ),
        ] {
            let mut value = given;
            hide(&mut value);
            assert_eq!(value, shown);
        }
    }
}
