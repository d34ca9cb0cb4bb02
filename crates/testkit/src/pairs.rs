//! Pairs of generated texts that differ only in their secrets.
//!
//! With marks in place of the secrets, both texts read the same. So whatever is shown of one must be
//! shown of the other, too; a difference tells something about a secret. That also holds for what
//! a filter computes from a text, in which the secret itself cannot be recognised.

use proptest::prelude::*;
use serde_json::json;

/// Two texts that differ only in their secrets.
#[derive(Debug, Clone)]
pub struct Pair {
    /// One text.
    pub one: String,
    /// The other text. Its secrets have the same lengths and places.
    pub other: String,
    /// The secrets of the one text.
    pub secrets: Vec<String>,
}

impl Pair {
    /// Returns all pieces of eight bytes of the secrets of the one text, without the lines that frame
    /// a key and the names of passwords.
    #[must_use]
    pub fn pieces(&self) -> Vec<&[u8]> {
        let lines = self.secrets.iter().flat_map(|secret| secret.lines());
        let lines = lines.filter(|line| !line.starts_with("-----"));
        let values = lines.map(|line| line.split_once('=').map_or(line, |(_, value)| value));
        values
            .flat_map(|value| value.as_bytes().windows(8))
            .collect()
    }
}

/// Returns two secrets of the same rule and length.
fn secrets() -> impl Strategy<Value = (String, String)> {
    let kinds = [
        "AKIA[A-Z2-7]{16}",
        "ghp_[A-Za-z0-9]{36}",
        "sk_live_[A-Za-z0-9]{24}",
        "xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}",
        "password=[a-zA-Z0-9]{12}!",
        "-----BEGIN PRIVATE KEY-----\n([A-Za-z0-9+/]{64}\n){4}-----END PRIVATE KEY-----",
    ];
    let two = kinds.map(|kind| (kind, kind).boxed());
    proptest::strategy::Union::new(two)
}

/// Returns pairs of texts with one to four secrets of formats that issuers publish: a log, laid-out
/// JSON, JSON on one line, a table, or assignments.
pub fn pairs() -> impl Strategy<Value = Pair> {
    let secrets = prop::collection::vec((secrets(), 0usize..60), 1..5);
    (secrets, 0usize..5, 0usize..3).prop_map(|(secrets, form, wide)| {
        let text = |which: fn(&(String, String)) -> &String| {
            let at = |row: usize| {
                let of_row = secrets.iter().filter(move |(_, at)| *at == row);
                let of_row: Vec<&str> = of_row.map(|(both, _)| which(both).as_str()).collect();
                of_row.join(" then ")
            };
            formed(form, wide, at)
        };
        Pair {
            one: text(|both| &both.0),
            other: text(|both| &both.1),
            secrets: secrets.iter().map(|(both, _)| both.0.clone()).collect(),
        }
    })
}

/// Returns a text of 60 rows in one of five forms. `secrets` returns the secrets of a row.
fn formed(form: usize, wide: usize, secrets: impl Fn(usize) -> String) -> String {
    let filler = "the quick brown fox jumps over the lazy dog ".repeat(1 + 12 * wide);
    let rows = (0..60).map(|row| format!("{filler}{row} {}", secrets(row)));
    match form {
        0 => rows.map(|row| row + "\n").collect(),
        1 => format!("{:#}", json!(rows.collect::<Vec<_>>())),
        2 => {
            let records = rows.map(|row| json!({"id": row.len() % 7, "text": row}));
            json!(records.collect::<Vec<_>>()).to_string()
        }
        3 => {
            let rows = rows.map(|row| format!("7,\"{}\"\n", row.replace('\n', " ")));
            format!("id,text\n{}", rows.collect::<String>())
        }
        _ => {
            let rows = rows.enumerate();
            rows.map(|(at, row)| format!("SETTING_{at}={row}\n"))
                .collect()
        }
    }
}

/// A random text that consists of the given pieces, such as a filter of them.
pub fn chains(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let chain = prop::collection::vec(prop::sample::select(pieces), 1..5);
    chain.prop_map(|steps| steps.join(" | "))
}
