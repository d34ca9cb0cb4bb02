//! Encodings in which a tool's output may hold a secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::marked::Marked;

/// Escapes a text for a JSON string.
pub(super) fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a string is JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

/// Escapes a text for a JSON string as writers do that care for HTML: `=`, `<`, `>`, `&` and quotes
/// become `\u003d` and so on.
pub(super) fn json_for_html(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '=' | '<' | '>' | '&' | '\'' | '"' | '+' => format!("\\u{:04x}", u32::from(c)),
            _ => json(c.encode_utf8(&mut [0; 4])),
        })
        .collect()
}

/// Escapes a text for a JSON string, slashes, too.
pub(super) fn json_with_slashes(text: &str) -> String {
    json(text).replace('/', "\\/")
}

/// Encodes a text for a part of a URL.
pub(super) fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Escapes a text for a byte string of Python.
pub(super) fn python(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\'', "\\'")
        .replace('\t', "\\t")
}

/// Escapes a text for HTML.
pub(super) fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns a text in base64, with the padding.
pub(super) fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

/// Returns the text in base64. The mark covers all letters that hold a bit of the secret. With
/// `columns`, a line break follows each so many letters.
pub(super) fn marked_base64(text: &Marked, columns: Option<usize>) -> Marked {
    let (start, end) = (text.before.len(), text.before.len() + text.secret.len());
    let letters = base64(&text.text());
    let breaks = |letter: usize| columns.map_or(0, |columns| letter / columns);
    let (first, last) = (start * 8 / 6, (end * 8).div_ceil(6) - 1);
    let wrapped: String = letters
        .char_indices()
        .flat_map(|(at, letter)| {
            let is_break = at > 0 && columns.is_some_and(|columns| at % columns == 0);
            is_break.then_some('\n').into_iter().chain([letter])
        })
        .collect();
    let (from, to) = (first + breaks(first), last + breaks(last) + 1);
    Marked {
        before: wrapped[..from].to_owned(),
        secret: wrapped[from..to].to_owned(),
        after: wrapped[to..].to_owned(),
    }
}
