//! A text as it reads without JSON escapes, URL encoding and terminal colours, mapped back to its
//! bytes.

use std::borrow::Cow;

use memchr::memchr3;

/// The most backslashes before an escape: JSON in JSON needs 1, 3, 7 and so on.
const MOST_BACKSLASHES: usize = 15;
/// The most bytes of a terminal sequence.
const MOST_SEQUENCE: usize = 128;

/// What stood in the text where the view has one byte, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// A terminal sequence, of which the view has nothing.
    Terminal,
    /// An escape that begins with a backslash.
    Backslash,
    /// A URL-encoded byte.
    Percent,
}

#[derive(Debug, Clone, Copy)]
struct Escape {
    /// Where the byte is in the view.
    view: u32,
    /// Where the escape begins in the text.
    raw: u32,
    len: u16,
    code: Code,
}

impl Escape {
    fn bytes(self) -> usize {
        usize::from(self.code != Code::Terminal)
    }

    fn raw_end(self) -> usize {
        self.raw as usize + usize::from(self.len)
    }
}

/// A decoded text. Positions in it are smaller than 4 GiB.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    escapes: Vec<Escape>,
}

impl<'a> View<'a> {
    /// Decodes a text. Without escapes, the view is the text itself.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let mut view = Self {
            bytes: Cow::Borrowed(text),
            escapes: Vec::new(),
        };
        let mut decoded = Vec::new();
        let (mut at, mut copied) = (0, 0);
        while let Some(next) = memchr3(b'\\', b'%', 0x1b, &text[at..]) {
            let start = at + next;
            let (len, byte, code) = match text[start] {
                b'\\' => backslash(&text[start..]),
                b'%' => percent(&text[start..]),
                _ => (terminal(&text[start..]), None, Code::Terminal),
            };
            at = start + len;
            if byte.is_none() && code != Code::Terminal {
                continue;
            }
            if decoded.capacity() == 0 {
                decoded.reserve(text.len());
            }
            decoded.extend_from_slice(&text[copied..start]);
            view.escapes.push(Escape {
                view: u32::try_from(decoded.len()).unwrap_or(u32::MAX),
                raw: u32::try_from(start).unwrap_or(u32::MAX),
                len: u16::try_from(len).unwrap_or(u16::MAX),
                code,
            });
            decoded.extend(byte);
            copied = at;
        }
        if !view.escapes.is_empty() {
            decoded.extend_from_slice(&text[copied..]);
            view.bytes = Cow::Owned(decoded);
        }
        view
    }

    fn escape_at_or_before(&self, at: usize) -> Option<Escape> {
        let after = self.escapes.partition_point(|it| it.view as usize <= at);
        self.escapes.get(after.checked_sub(1)?).copied()
    }

    /// Returns where the byte `at` of the view begins in the text.
    pub(crate) fn raw_start(&self, at: usize) -> usize {
        match self.escape_at_or_before(at) {
            None => at,
            Some(it) if it.bytes() == 1 && it.view as usize == at => it.raw as usize,
            Some(it) => it.raw_end() + (at - it.view as usize - it.bytes()),
        }
    }

    /// Returns where the bytes before `at` end in the text.
    pub(crate) fn raw_end(&self, at: usize) -> usize {
        let Some(last) = at.checked_sub(1) else {
            return 0;
        };
        match self.escape_at_or_before(last) {
            Some(it) if it.bytes() == 1 && it.view as usize == last => it.raw_end(),
            _ => self.raw_start(last) + 1,
        }
    }

    /// Returns the first position of the view whose byte begins at `raw` or later in the text.
    pub(crate) fn position(&self, raw: usize) -> usize {
        let after = self.escapes.partition_point(|it| (it.raw as usize) < raw);
        match after.checked_sub(1).map(|index| self.escapes[index]) {
            None => raw,
            Some(it) => it.view as usize + it.bytes() + raw.saturating_sub(it.raw_end()),
        }
    }

    fn escape_of(&self, at: usize) -> Option<Escape> {
        self.escape_at_or_before(at)
            .filter(|it| it.bytes() == 1 && it.view as usize == at)
    }

    /// Returns whether the byte is URL-encoded in the text.
    pub(crate) fn is_percent(&self, at: usize) -> bool {
        let escape = self.escape_of(at);
        escape.is_some_and(|it| it.code == Code::Percent)
    }

    /// Returns how many bytes the text has for the byte `at`. A quote of a string in a string has
    /// more than a quote of the outer string.
    pub(crate) fn raw_len(&self, at: usize) -> usize {
        self.escape_of(at).map_or(1, |it| usize::from(it.len))
    }
}

/// Decodes what begins with a backslash: the number of bytes, and the byte that they stand for, if
/// they stand for an ASCII byte.
fn backslash(text: &[u8]) -> (usize, Option<u8>, Code) {
    let run = text.iter().take_while(|byte| **byte == b'\\').count();
    let rest = &text[run..];
    let kept = (run, None, Code::Backslash);
    if run > MOST_BACKSLASHES {
        return kept;
    }
    let hex = |digits: Option<&[u8]>| {
        let digits = std::str::from_utf8(digits?).ok()?;
        let valid = digits.bytes().all(|it| it.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| valid)
    };
    let (len, code) = match rest.first() {
        Some(b'n') => (1, Some(b'\n'.into())),
        Some(b'r') => (1, Some(b'\r'.into())),
        Some(b't') => (1, Some(b'\t'.into())),
        Some(b'b' | b'f') => (1, Some(b' '.into())),
        Some(quote @ (b'"' | b'\'' | b'/' | b'`')) => (1, Some(u32::from(*quote))),
        Some(b'u') => (5, hex(rest.get(1..5))),
        Some(b'x') => (3, hex(rest.get(1..3))),
        Some(b'e') if rest.get(1) == Some(&b'[') => (1, Some(0x1b)),
        Some(b'0') if rest.starts_with(b"033[") => (3, Some(0x1b)),
        _ => (0, None),
    };
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(0x1b) if rest.get(len) == Some(&b'[') => {
            let sequence = csi(&rest[len + 1..]);
            (run + len + 1 + sequence, None, Code::Terminal)
        }
        Some(byte) if byte.is_ascii() => (run + len, Some(byte), Code::Backslash),
        _ => kept,
    }
}

/// Decodes a URL-encoded byte, also one that is encoded several times (`%2541`).
fn percent(text: &[u8]) -> (usize, Option<u8>, Code) {
    let mut digits = 1;
    while digits < 9 && text[digits..].starts_with(b"25") {
        let next = text.get(digits + 2..digits + 4);
        if !next.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit)) {
            break;
        }
        digits += 2;
    }
    let hex = text.get(digits..digits + 2);
    let hex = hex.filter(|it| it.iter().all(u8::is_ascii_hexdigit));
    let byte = hex.and_then(|it| std::str::from_utf8(it).ok());
    match byte.and_then(|it| u8::from_str_radix(it, 16).ok()) {
        Some(byte) if byte.is_ascii() => (digits + 2, Some(byte), Code::Percent),
        _ => (1, None, Code::Percent),
    }
}

/// Returns the number of bytes of a terminal sequence.
fn terminal(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'[') => 2 + csi(&text[2..]),
        Some(b']') => {
            let body = &text[..text.len().min(MOST_SEQUENCE)];
            let end = body.iter().skip(2).position(|it| *it == 7 || *it == 0x1b);
            match end.map(|end| end + 2) {
                Some(end) if body[end] == 7 => end + 1,
                Some(end) if body.get(end + 1) == Some(&b'\\') => end + 2,
                _ => 2,
            }
        }
        // The next byte names a character set.
        Some(b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ')
            if text.get(2).is_some_and(u8::is_ascii_graphic) =>
        {
            3
        }
        Some(
            b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'H' | b'M' | b'N' | b'O' | b'P' | b'X'
            | b'Z' | b'\\' | b'^' | b'_' | b'c',
        ) => 2,
        // No sequence: what follows may be the beginning of a secret.
        _ => 1,
    }
}

/// Returns the number of bytes of a control sequence after `ESC [`.
fn csi(text: &[u8]) -> usize {
    let body = text.iter().take(MOST_SEQUENCE);
    let parameters = body.take_while(|it| (0x20..0x40).contains(*it)).count();
    let last = text.get(parameters);
    parameters + usize::from(last.is_some_and(|it| (0x40..0x7f).contains(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_mapped_back() {
        let cases: [(&str, &str); 18] = [
            ("plain", "plain"),
            (r"a\nb\\\u0041\/c", "a\nbA/c"),
            (r#"{\"k\":\\\"v\\\"}"#, r#"{"k":"v"}"#),
            ("a%41%2541%2", "aAA%2"),
            ("100%", "100%"),
            ("100% %zz %25", "100% %zz %"),
            ("\x1b[31mred\x1b[0m!", "red!"),
            ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\!", "link!"),
            (r"\u001b[1mx\x1b[0my\e[0mz\033[0m!", "xyz!"),
            (r"C:\Users\x", r"C:\Users\x"),
            (r"\u00e9\ud83d", r"\u00e9\ud83d"),
            (r"\", r"\"),
            ("%", "%"),
            ("\x1b", ""),
            ("\x1b(B\x1b)0\x1b%Gx\x1b7y\x1b=z\x1b(", "xyz("),
            ("\x1b-----BEGIN\x1bAKIA", "-----BEGINAKIA"),
            ("\x1b\u{e4}\x1b\x1b[0m\x1b\n", "\u{e4}\n"),
            (r"\d+\s", r"\d+\s"),
        ];
        for (text, want) in cases {
            let view = View::new(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&view.bytes), want, "{text}");
            let mut end = 0;
            for at in 0..view.bytes.len() {
                let raw = view.raw_start(at)..view.raw_end(at + 1);
                assert!(raw.start >= end && raw.end > raw.start, "{text} {at}");
                assert_eq!(view.position(raw.start), at, "{text} {at}");
                end = raw.end;
            }
            assert!(end <= text.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn positions_never_panic(text in "[\\\\%u0041x25nr\"a-c\x1b\\[m]{0,60}") {
            let view = View::new(text.as_bytes());
            for raw in 0..=text.len() {
                assert!(view.position(raw) <= view.bytes.len());
            }
            for at in 0..view.bytes.len() {
                assert!(view.raw_end(at + 1) <= text.len());
                assert!(view.raw_start(at) < view.raw_end(at + 1));
            }
        }
    }
}
