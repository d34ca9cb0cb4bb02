//! Checks the depth of JSON texts and repairs invalid escapes in them before they are parsed.

use std::borrow::Cow;

use memchr::{memchr2, memmem};

/// Returns the position at which a text nests deeper than `limit`; `None` if it does not. Brackets
/// in strings do not count. It must be called before a parser, because parsers recurse.
pub(crate) fn too_deep(json: &[u8], limit: usize) -> Option<usize> {
    /// Maximum length, in bytes, of a text whose brackets are counted first. A longer text is
    /// likely to have too many brackets.
    const SHORT: usize = 16 << 10;
    // A text cannot nest deeper than its number of brackets, which can be counted quickly.
    let opens = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte | 0x20 == b'{').count();
    if json.len() <= limit || json.len() <= SHORT && opens(json) <= limit {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at += string_length(&json[at..]),
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return Some(at - 1);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Returns the number of bytes up to and including the quote that ends a string.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        // Most strings are so short that starting an optimized search takes longer than this loop.
        let near = text[at..]
            .iter()
            .take(16)
            .position(|&b| b == b'"' || b == b'\\');
        let found = near.or_else(|| {
            let far = (at + 16).min(text.len());
            memchr2(b'"', b'\\', &text[far..]).map(|found| far - at + found)
        });
        match found {
            Some(found) if text[at + found] == b'"' => return at + found + 1,
            Some(found) => at += found + 2,
            None => return text.len(),
        }
        if at >= text.len() {
            return text.len();
        }
    }
}

/// How an escape `\uXXXX` begins.
pub(crate) const ESCAPE: &[u8] = b"\\u";

/// Returns the text with U+FFFD in place of each escaped surrogate without its other half.
/// JavaScript servers send such escapes, but parsers reject them.
pub(crate) fn without_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let mut fixed = Cow::Borrowed(json);
    let mut after = 0;
    for at in memmem::find_iter(json, ESCAPE) {
        let Some(high) = unit(json, at).filter(|_| at >= after && is_escape(json, at)) else {
            continue;
        };
        let is_half = match high {
            0xd800..=0xdbff => match unit(json, at + 6) {
                Some(0xdc00..=0xdfff) => {
                    after = at + 12;
                    false
                }
                _ => true,
            },
            0xdc00..=0xdfff => true,
            _ => false,
        };
        if is_half {
            fixed.to_mut()[at + 2..at + 6].copy_from_slice(b"fffd");
        }
    }
    fixed
}

/// Returns the code unit of the escape `\uXXXX` at `at`.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Returns whether the backslash at `at` is not itself escaped.
fn is_escape(json: &[u8], at: usize) -> bool {
    let before = json[..at].iter().rev().take_while(|&&b| b == b'\\').count();
    before.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_that_of_brackets_outside_strings() {
        let deep = |json: &str, limit| too_deep(json.as_bytes(), limit);
        assert_eq!(deep("[[[]]]", 3), None);
        assert_eq!(deep("[[[]]]", 2), Some(2));
        assert_eq!(deep(r#"{"a":[{}],"b":[{}]}"#, 3), None);
        assert_eq!(
            deep(r#"["[[[[","\"[[[\\","{{{{{{{{{{{{{{{{{{{{{{{{{{{{"]"#, 1),
            None
        );
        assert_eq!(deep(r#"["[[[[","a\\"[[]]"#, 2), Some(14));
        let unended = format!("[\"{}\\", "x".repeat(40));
        assert_eq!(deep(&unended, 1), None);
    }

    #[test]
    fn lone_halves_become_replacement_characters() {
        let cases = [
            (r#""\ud83d\ude80""#, r#""\ud83d\ude80""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (
                r#""\ud83d\ud83d\ude80\ude80""#,
                r#""\ufffd\ud83d\ude80\ufffd""#,
            ),
            (r#""\\ud83d \\\ud83d""#, r#""\\ud83d \\\ufffd""#),
            (r#""\u00e9\u"#, r#""\u00e9\u"#),
        ];
        for (json, want) in cases {
            assert_eq!(without_lone_surrogates(json.as_bytes()), want.as_bytes());
        }
    }
}
