//! Finds the parts of a question that occur nowhere in the text, or only inside longer words.
//!
//! A page says that an identifier is not in the text only after the whole text was searched for
//! each way to write it.

use std::fmt::Write;
use std::io;

use spillgate_artifact::ByteSource;
use spillgate_text::View;

use crate::candidates::Candidate;
use crate::needles::Needles;
use crate::question::{Question, Term, Terms};
use crate::rank::Ranked;
use crate::scan::WINDOW;
use crate::words::{Stems, camel_parts};

/// Bytes that are read again with the next window, so that no window border cuts an identifier. The
/// longest spelling of an identifier is shorter.
const OVERLAP: u64 = 1 << 10;

/// Returns the identifiers of the question that the text does not contain, not even inside a word
/// or in another spelling. `seen` holds the terms that it contains.
pub(crate) fn absent(view: &View, question: &Question, seen: Terms) -> io::Result<Vec<String>> {
    let stems = Stems::new();
    let is_seen = |identifier: &String| {
        let lower = identifier.to_lowercase();
        // Another form of a word is that word.
        let form = question.by_stem.get(&stems.stem(&lower));
        if form.is_some_and(|&at| seen >> at & 1 == 1) {
            return true;
        }
        question.terms.iter().enumerate().any(|(at, term)| {
            seen >> at & 1 == 1
                && matches!(term, Term::Word(text) | Term::Phrase(text) if *text == lower)
        })
    };
    let mut absent: Vec<String> = question.identifiers.clone();
    absent.retain(|identifier| !is_seen(identifier));
    absent = without(absent, view.source(), each_spelling)?;
    // In JSON a path is written as its keys.
    without(absent, view.source(), |identifier| {
        keys(identifier).into_iter().collect()
    })
}

/// Takes the identifiers out of `absent` that the bytes of a binary contain, and returns them: its text
/// lacks what a terminal would take for control sequences.
pub(crate) fn in_bytes(
    absent: &mut Vec<String>,
    bytes: &dyn ByteSource,
) -> io::Result<Vec<String>> {
    let all = std::mem::take(absent);
    *absent = without(all.clone(), bytes, each_spelling)?;
    Ok(all
        .into_iter()
        .filter(|one| !absent.contains(one))
        .collect())
}

/// Each spelling of an identifier, as a way to write it.
fn each_spelling(identifier: &str) -> Vec<Vec<String>> {
    let all = spellings(identifier).into_iter();
    all.map(|one| vec![one]).collect()
}

/// Returns the identifiers without those for which the text contains all texts of one of its
/// `ways`.
fn without(
    identifiers: Vec<String>,
    source: &dyn ByteSource,
    ways: impl Fn(&str) -> Vec<Vec<String>>,
) -> io::Result<Vec<String>> {
    let ways: Vec<Vec<Vec<String>>> = identifiers.iter().map(|one| ways(one)).collect();
    let mut missing: Vec<String> = ways.iter().flatten().flatten().cloned().collect();
    missing.sort_unstable();
    missing.dedup();
    let (mut base, mut buffer) = (0, Vec::new());
    let mut needles = needles(&missing);
    while base < source.len() && !missing.is_empty() {
        let window = source.window(base, base + WINDOW + OVERLAP, &mut buffer)?;
        while let Some((at, ..)) = needles.find(window, 0) {
            missing.remove(at);
            if missing.is_empty() {
                break;
            }
            needles = self::needles(&missing);
        }
        base += WINDOW;
    }
    let holds = |texts: &Vec<String>| !texts.iter().any(|text| missing.contains(text));
    let of_each = identifiers.into_iter().zip(ways);
    let absent = of_each.filter(|(_, ways)| !ways.iter().any(holds));
    Ok(absent.map(|(identifier, _)| identifier).collect())
}

fn needles(texts: &[String]) -> Needles {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Needles::new(&texts)
}

/// Returns the ways in which a text may write an identifier. Upper and lower case of ASCII letters
/// are the same.
fn spellings(identifier: &str) -> Vec<String> {
    let mut all = vec![identifier.to_owned()];
    if !identifier.is_ascii() {
        all.extend([identifier.to_lowercase(), identifier.to_uppercase()]);
    }
    // In the strings of JSON, and in those of JSON that escapes slashes.
    for at in 0..all.len() {
        all.extend([in_json(&all[at], false), in_json(&all[at], true)]);
    }
    // In addresses, whole and as a part.
    all.extend([
        percent(identifier, b""),
        percent(identifier, b"/"),
        percent(identifier, b"/:@+~$#"),
    ]);
    // As it was before it was put into an address.
    all.extend(decoded(identifier));
    all.sort_unstable();
    all.dedup();
    all
}

fn in_json(text: &str, escapes_slashes: bool) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            '/' if escapes_slashes => escaped.push_str("\\/"),
            _ if char.is_ascii() => escaped.push(char),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    write!(escaped, "\\u{unit:04x}").expect("writing to a string");
                }
            }
        }
    }
    escaped
}

fn percent(text: &str, kept: &[u8]) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || kept.contains(&byte) {
            true => escaped.push(char::from(byte)),
            false => write!(escaped, "%{byte:02x}").expect("writing to a string"),
        }
    }
    escaped
}

/// Returns a text without percent encoding; `None` if it has none.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    let mut is_encoded = false;
    for part in parts {
        let code = part.get(..2).map(|code| u8::from_str_radix(code, 16));
        if let Some(Ok(byte)) = code {
            bytes.push(byte);
            bytes.extend_from_slice(&part.as_bytes()[2..]);
            is_encoded = true;
        } else {
            bytes.push(b'%');
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    let decoded = String::from_utf8(bytes).ok()?;
    (is_encoded && !decoded.is_empty()).then_some(decoded)
}

/// Returns the keys of which a path like `server.max_size` consists, as JSON writes them; `None` if
/// it is none.
fn keys(identifier: &str) -> Option<Vec<String>> {
    let steps: Vec<&str> = identifier.split('.').collect();
    let is_key = |step: &&str| {
        step.starts_with(|char: char| char.is_alphabetic() || char == '_')
            && !step.contains(['"', '\\'])
    };
    let is_path = steps.len() > 1 && steps.iter().all(is_key);
    is_path.then(|| steps.iter().map(|step| format!("\"{step}\":")).collect())
}

/// Returns how the text writes absent identifiers otherwise: `parse_header` for `parseHeader`.
pub(crate) fn respelled(view: &View, absent: &[String]) -> io::Result<Vec<String>> {
    let spellings: Vec<String> = absent.iter().flat_map(|one| respellings(one)).collect();
    let mut found: Vec<String> = Vec::new();
    if spellings.is_empty() {
        return Ok(found);
    }
    let needles = needles(&spellings);
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let (mut base, mut buffer) = (0, Vec::new());
    while base < view.bytes() && found.len() < absent.len() {
        let window = view
            .source()
            .window(base, base + WINDOW + OVERLAP, &mut buffer)?;
        let mut from = 0;
        while let Some((_, start, end)) = needles.find(window, from) {
            from = start + 1;
            let before = start.checked_sub(1).and_then(|at| window.get(at));
            if is_part(before) || is_part(window.get(end)) {
                continue;
            }
            let text = String::from_utf8_lossy(&window[start..end]).into_owned();
            if !found.iter().any(|one| one.eq_ignore_ascii_case(&text)) {
                found.push(text);
            }
            if found.len() == absent.len() {
                break;
            }
        }
        base += WINDOW;
    }
    Ok(found)
}

/// Returns the other ways to join the parts of an identifier; none if it has one part.
fn respellings(identifier: &str) -> Vec<String> {
    /// Fewest letters of a part.
    const LEAST: usize = 2;
    let parts = identifier.split(['_', '-']).flat_map(camel_parts);
    let parts: Vec<&str> = parts.collect();
    let is_word =
        |part: &&str| part.len() >= LEAST && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let starts = parts
        .iter()
        .all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()));
    if parts.len() < 2 || !starts || !parts.iter().all(is_word) {
        return Vec::new();
    }
    let joined = ["_", "-", ""].map(|sign| parts.join(sign));
    let others = joined.into_iter();
    others
        .filter(|one| !one.eq_ignore_ascii_case(identifier))
        .collect()
}

/// Returns the first lines in which words of the question are parts of longer words, and how many
/// such lines there are; for a question none of whose words stands in the text by itself.
pub(crate) fn inside_words(view: &View, question: &Question) -> io::Result<(Vec<Ranked>, u64)> {
    /// Most lines that are shown.
    const LINES: usize = 5;
    /// Shorter texts are parts of too many words.
    const LEAST: usize = 4;
    let long = |needle: &&String| needle.len() >= LEAST;
    let needles: Vec<&str> = question
        .needles
        .iter()
        .filter(long)
        .map(String::as_str)
        .collect();
    let (mut found, mut total) = (Vec::new(), 0);
    if needles.is_empty() {
        return Ok((found, total));
    }
    let needles = Needles::new(&needles);
    let (mut base, mut buffer) = (0, Vec::new());
    while base < view.bytes() {
        let window = view
            .source()
            .window(base, base + WINDOW + OVERLAP, &mut buffer)?;
        let mut at = 0;
        while let Some((_, start, _)) = needles.find(window, at) {
            // The next window counts what begins in it.
            if start as u64 >= WINDOW {
                break;
            }
            total += 1;
            let hit = base + start as u64;
            if found.len() < LINES
                && let Some(line) = view.line_at(hit)?
            {
                found.push(line_of(line.start, line.end, hit));
            }
            at = memchr::memchr(b'\n', &window[start..]).map_or(window.len(), |end| start + end);
        }
        base += WINDOW;
    }
    Ok((found, total))
}

fn line_of(start: u64, end: u64, hit: u64) -> Ranked {
    Ranked {
        candidate: Candidate {
            start,
            end,
            terms: 1,
            rank: 1.0,
            // Each line counts as different from the others.
            template: start,
            json: None,
        },
        score: 1.0,
        first_hit: hit.saturating_sub(start),
        is_literal: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_texts_write_identifiers() {
        let cases: [(&str, &[&str]); 4] = [
            ("abc_1", &["abc_1"]),
            ("a/b@c", &["a%2fb%40c", "a/b%40c", "a/b@c", "a\\/b@c"]),
            (
                "Caf\u{e9}",
                &[
                    "CAF\\u00c9",
                    "CAF\u{c9}",
                    "Caf%c3%a9",
                    "Caf\\u00e9",
                    "Caf\u{e9}",
                    "caf\\u00e9",
                    "caf\u{e9}",
                ],
            ),
            ("x%2Fy%", &["x%252Fy%25", "x%2Fy%", "x/y%"]),
        ];
        for (identifier, want) in cases {
            assert_eq!(spellings(identifier), want, "{identifier}");
        }
    }

    #[test]
    fn identifiers_in_other_spellings() {
        let cases: [(&str, &[&str]); 6] = [
            ("parseHeader", &["parse_Header", "parse-Header"]),
            ("parse_header", &["parse-header", "parseheader"]),
            ("max-size", &["max_size", "maxsize"]),
            ("header", &[]),
            ("abc_1", &[]),
            ("1.2.3", &[]),
        ];
        for (identifier, want) in cases {
            assert_eq!(respellings(identifier), want, "{identifier}");
        }
    }

    #[test]
    fn paths_are_written_as_keys() {
        assert_eq!(
            keys("server.max_size").unwrap().join(""),
            r#""server":"max_size":"#
        );
        for other in ["max_size", "1.2.3", "a..b", "a.1"] {
            assert_eq!(keys(other), None, "{other}");
        }
    }
}
