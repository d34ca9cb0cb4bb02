//! Decodes a JSON string, and maps decoded text to its raw bytes.

use memchr::memchr;

/// Returns the text of a JSON string, which is given with its quotes. Returns `None` if it is not a
/// JSON string. Unpaired surrogates, which some JavaScript servers send, become U+FFFD.
#[must_use]
pub fn decode_json_string(quoted: &[u8]) -> Option<String> {
    if let Ok(text) = serde_json::from_slice::<String>(quoted) {
        return Some(text);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(quoted);
    let bytes = serde::Deserializer::deserialize_bytes(&mut deserializer, WtfBytes).ok()?;
    deserializer.end().ok()?;
    Some(replace_surrogates(&bytes))
}

/// Receives a string with unpaired surrogates. `serde_json` decodes such a string only as bytes, in
/// which each surrogate is three bytes from `ED A0` to `ED BF`.
struct WtfBytes;

impl serde::de::Visitor<'_> for WtfBytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_str<E>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }
}

/// Length of a surrogate in the output of `serde_json`, in bytes.
const SURROGATE_BYTES: usize = 3;

fn replace_surrogates(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (valid, after) = match std::str::from_utf8(rest) {
            Ok(valid) => (valid, &[][..]),
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or_default(), after)
            }
        };
        text.push_str(valid);
        if !after.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        rest = &after[after.len().min(SURROGATE_BYTES)..];
    }
    text
}

/// Returns the offset in `inside` (a JSON string without its quotes) that corresponds to the offset
/// `offset` of the decoded text.
#[must_use]
pub fn raw_offset(inside: &[u8], offset: u64) -> u64 {
    let (mut raw, mut left) = (0usize, offset);
    while left > 0 && raw < inside.len() {
        let plain = memchr(b'\\', &inside[raw..]).unwrap_or(inside.len() - raw);
        if plain as u64 >= left {
            return raw as u64 + left;
        }
        left -= plain as u64;
        raw += plain;
        let (written, decoded) = escape(&inside[raw..]);
        if decoded > left {
            break;
        }
        left -= decoded;
        raw += written;
    }
    raw as u64
}

/// Returns the length of the escape at the start of `inside`, and the length of its decoded text,
/// in bytes.
fn escape(inside: &[u8]) -> (usize, u64) {
    let unit = |at: usize| {
        let digits = inside.get(at + 2..at + 6)?;
        let is_unit = inside.get(at..at + 2)? == b"\\u";
        let digits = std::str::from_utf8(digits).ok()?;
        is_unit.then(|| u32::from_str_radix(digits, 16).ok())?
    };
    match unit(0) {
        None => (2, 1),
        Some(0xd800..=0xdbff) if matches!(unit(6), Some(0xdc00..=0xdfff)) => (12, 4),
        Some(code) => {
            let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            (6, c.len_utf8() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes() {
        let cases = [
            ("", Some("")),
            (r#"a\n\"b\""#, Some("a\n\"b\"")),
            (r"\ud83d\ude00", Some("😀")),
            (r"x\ud83dy", Some("x\u{fffd}y")),
            (r"\udead\ud83d", Some("\u{fffd}\u{fffd}")),
            (r"漢\u6f22", Some("漢漢")),
            ("a\"b", None),
            (r"\q", None),
        ];
        for (inside, want) in cases {
            let quoted = format!("\"{inside}\"");
            assert_eq!(decode_json_string(quoted.as_bytes()).as_deref(), want);
        }
    }

    proptest! {
        #[test]
        fn every_character_is_found_again(text in "([a-z]{0,3}|[\n\"\\\\\u{1}]|[é漢🚀]){0,30}", ascii: bool) {
            let mut inside = serde_json::to_string(&text).unwrap();
            if ascii {
                inside = inside.chars().map(|c| match c {
                    ' '..='~' => c.to_string(),
                    _ => c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect(),
                }).collect();
            }
            let inside = &inside.as_bytes()[1..inside.len() - 1];
            for (at, _) in text.char_indices() {
                let raw = usize::try_from(raw_offset(inside, at as u64)).unwrap();
                let rest = [b"\"", &inside[raw..], b"\""].concat();
                let rest = decode_json_string(&rest);
                prop_assert_eq!(rest.as_deref(), Some(&text[at..]));
            }
            prop_assert_eq!(raw_offset(inside, text.len() as u64), inside.len() as u64);
        }
    }
}
