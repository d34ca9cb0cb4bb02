//! Classifies response bodies and extracts their readable text.

use mime::Mime;
use reqwest::Url;

use crate::charset::decoded;
use crate::html;

/// Bytes examined to guess the content type if the server's is missing or invalid.
const LOOKED_AT: usize = 1 << 10;

/// Text types that do not begin with `text/`, and suffixes of text types (RFC 6839).
const TEXT_TYPES: [&str; 12] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];
const TEXT_ENDINGS: [&str; 3] = ["json", "xml", "yaml"];

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// A web page. It is converted to Markdown.
    Html,
    /// Text. It is not converted.
    Text,
    /// Anything else. It is not readable.
    Binary,
}

impl BodyKind {
    /// Classifies a body by its `Content-Type` and its first bytes. A body that is declared as
    /// text but contains NUL bytes is binary.
    #[must_use]
    pub fn of(content_type: &str, beginning: &[u8]) -> Self {
        let beginning = &beginning[..beginning.len().min(LOOKED_AT)];
        let said = Self::declared(content_type);
        let is_utf16 = beginning.starts_with(b"\xff\xfe")
            || beginning.starts_with(b"\xfe\xff")
            || charset(content_type).is_some_and(|name| name.starts_with("utf-16"));
        match said {
            Some(Self::Binary) => Self::Binary,
            _ if beginning.contains(&0) && !is_utf16 => Self::Binary,
            Some(said) => said,
            None => {
                let start = String::from_utf8_lossy(beginning);
                let start = start.trim_start_matches('\u{feff}').trim_start();
                let is_html = ["<!doctype html", "<html"].iter().any(|sign| {
                    start
                        .get(..sign.len())
                        .is_some_and(|start| start.eq_ignore_ascii_case(sign))
                });
                if is_html { Self::Html } else { Self::Text }
            }
        }
    }

    fn declared(content_type: &str) -> Option<Self> {
        let mime: Mime = content_type.parse().ok()?;
        let ending = mime.suffix().map(|suffix| suffix.as_str());
        Some(match mime.essence_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            essence if TEXT_TYPES.contains(&essence) => Self::Text,
            _ if mime.type_() == mime::TEXT => Self::Text,
            _ if ending.is_some_and(|ending| TEXT_ENDINGS.contains(&ending)) => Self::Text,
            _ => Self::Binary,
        })
    }
}

fn charset(content_type: &str) -> Option<String> {
    let mime: Mime = content_type.parse().ok()?;
    let charset = mime.get_param(mime::CHARSET)?;
    Some(charset.as_str().to_ascii_lowercase())
}

/// The readable text of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableText {
    /// The page's title, on one line.
    pub title: Option<String>,
    /// The text: Markdown made from a page, or the unchanged text.
    pub text: String,
    /// The encoding in which some bytes were invalid, if any.
    pub wrong_in: Option<&'static str>,
}

/// Returns the readable text of `bytes`, whose kind must not be [`BodyKind::Binary`]. With
/// `is_raw`, returns the unchanged source of a page.
#[must_use]
pub fn readable(
    bytes: &[u8],
    content_type: &str,
    kind: BodyKind,
    is_raw: bool,
    url: &Url,
) -> ReadableText {
    let is_html = kind == BodyKind::Html;
    let decoded = decoded(bytes, charset(content_type).as_deref(), is_html);
    let (title, text) = match is_html && !is_raw {
        true => html::markdown(&decoded.text, url),
        false => (None, decoded.text),
    };
    ReadableText {
        title,
        text,
        wrong_in: decoded.wrong_in,
    }
}

#[cfg(test)]
mod tests {
    use super::BodyKind;

    #[test]
    fn what_a_body_is() {
        use BodyKind::{Binary, Html, Text};
        for (said, beginning, kind) in [
            ("text/html; charset=utf-8", "", Html),
            ("TEXT/HTML", "", Html),
            ("application/xhtml+xml", "", Html),
            ("text/plain", "<html>", Text),
            ("text/markdown", "", Text),
            ("application/json", "{}", Text),
            ("application/ld+json", "{}", Text),
            ("application/atom+xml", "", Text),
            ("image/svg+xml", "", Text),
            ("application/pdf", "%PDF-1.7", Binary),
            ("image/png", "\u{fffd}PNG", Binary),
            ("application/octet-stream", "text", Binary),
            ("text/plain", "a\0b", Binary),
            ("text/plain; charset=utf-16le", "a\0b\0", Text),
            ("", "<!DOCTYPE HTML>", Html),
            ("", "\u{feff}\n <html lang=en>", Html),
            ("nonsense", "words", Text),
            ("", "a\0b", Binary),
        ] {
            assert_eq!(
                BodyKind::of(said, beginning.as_bytes()),
                kind,
                "{said} {beginning}"
            );
        }
    }
}
