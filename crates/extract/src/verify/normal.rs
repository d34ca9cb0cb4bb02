//! Computes the normal form of texts. Texts that differ only in white space and escapes have the
//! same normal form.
//!
//! A model may quote JSON compactly although the view is laid out, decoded although the view has
//! escapes, and in one line although the view has two. The normal form removes these differences:
//!
//! - White space is removed. Between two letters or digits, one space is kept, so that `12 34` does
//!   not become `1234`.
//! - Backslashes are removed, together with a following `n`, `r` or `t`, which stand for white
//!   space.
//! - `\u00e9` becomes the character that it stands for.
//!
//! A text is processed block by block. For each byte of the normal form, its position in the text
//! is kept.

/// Length of `uXXXX`.
const UNIT: usize = 5;

/// Brings a text to its normal form.
#[derive(Debug, Default)]
pub(super) struct Normaliser {
    /// The normal form so far.
    pub bytes: Vec<u8>,
    /// For each byte of the normal form, its position in the original text.
    pub origins: Vec<u64>,
    /// Whether white space followed the last byte.
    is_apart: bool,
    /// Whether the last character was a letter or digit.
    was_word: bool,
    /// Whether the last byte was a backslash.
    is_escaped: bool,
    /// The first half of a surrogate pair, if the second half has not been read.
    high: Option<u16>,
}

/// Returns the normal form of a whole text.
pub(super) fn normal(text: &[u8]) -> Normaliser {
    let mut normal = Normaliser::default();
    normal.feed(text, 0, true);
    normal
}

impl Normaliser {
    /// Processes `text`, which begins at byte `base` of the original text. Stops before bytes whose
    /// meaning depends on later bytes, such as half an escape. Returns how many bytes were
    /// processed.
    pub(super) fn feed(&mut self, text: &[u8], base: u64, at_end: bool) -> usize {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let origin = base + at as u64;
            let rest = &text[at..];
            at += match byte {
                b'\\' => {
                    self.is_escaped = true;
                    1
                }
                b'n' | b'r' | b't' if self.is_escaped => self.space(),
                b'u' if self.is_escaped => {
                    if rest.len() < UNIT && !at_end {
                        return at;
                    }
                    self.unit(rest, origin)
                }
                b' ' | b'\t' | b'\n' | b'\r' => self.space(),
                0..0x80 => {
                    self.put(&[byte], byte.is_ascii_alphanumeric(), origin);
                    1
                }
                _ => match character(rest) {
                    None if rest.len() < 4 && !at_end => return at,
                    found => self.character(found, byte, origin),
                },
            };
        }
        at
    }

    /// Removes all but the last `keep` bytes of the normal form.
    pub(super) fn keep(&mut self, keep: usize) {
        let gone = self.bytes.len().saturating_sub(keep);
        self.bytes.drain(..gone);
        self.origins.drain(..gone.min(self.origins.len()));
    }

    fn space(&mut self) -> usize {
        self.is_apart = true;
        self.is_escaped = false;
        1
    }

    /// Handles a `u` after a backslash. If four hex digits follow, it is an escaped character.
    fn unit(&mut self, rest: &[u8], origin: u64) -> usize {
        let digits = rest
            .get(1..UNIT)
            .and_then(|digits| str::from_utf8(digits).ok());
        let Some(unit) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) else {
            self.put(b"u", true, origin);
            return 1;
        };
        self.is_escaped = false;
        let units: &[u16] = match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => {
                self.high = Some(unit);
                return UNIT;
            }
            (Some(high), 0xdc00..=0xdfff) => &[high, unit],
            _ => &[unit],
        };
        let decoded = char::decode_utf16(units.iter().copied()).next();
        match decoded {
            Some(Ok(c)) if c.is_whitespace() => {
                self.space();
            }
            Some(Ok(c)) => {
                let is_word = is_word(c);
                self.put(c.encode_utf8(&mut [0; 4]).as_bytes(), is_word, origin);
            }
            _ => {}
        }
        UNIT
    }

    fn character(&mut self, found: Option<char>, byte: u8, origin: u64) -> usize {
        match found {
            Some(c) if c.is_whitespace() => {
                self.space();
                c.len_utf8()
            }
            Some(c) => {
                self.put(c.encode_utf8(&mut [0; 4]).as_bytes(), is_word(c), origin);
                c.len_utf8()
            }
            None => {
                self.put(&[byte], false, origin);
                1
            }
        }
    }

    fn put(&mut self, bytes: &[u8], is_word: bool, origin: u64) {
        if std::mem::take(&mut self.is_apart) && self.was_word && is_word {
            self.bytes.push(b' ');
            self.origins.push(origin);
        }
        self.bytes.extend_from_slice(bytes);
        self.origins.extend(bytes.iter().map(|_| origin));
        self.was_word = is_word;
        self.is_escaped = false;
    }
}

/// Returns whether white space next to the character separates words. Some scripts do not use white
/// space.
fn is_word(c: char) -> bool {
    c < '\u{2e80}' && c.is_alphanumeric()
}

/// Returns the first character of `bytes`.
fn character(bytes: &[u8]) -> Option<char> {
    let start = &bytes[..bytes.len().min(4)];
    let valid = match str::from_utf8(start) {
        Ok(valid) => valid,
        Err(error) => str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn form(text: &str) -> String {
        String::from_utf8(normal(text.as_bytes()).bytes).unwrap()
    }

    #[test]
    fn forms() {
        let cases = [
            ("{\n  \"a\": [1, 2]\n}", r#"{"a":[1,2]}"#),
            ("12 34", "12 34"),
            ("disk  quota\n   exceeded", "disk quota exceeded"),
            (r#"say \"hi\"\n\tnow"#, r#"say"hi"now"#),
            (r"one\ntwo", "one two"),
            (r"caf\u00e9 \ud83d\ude00", "café😀"),
            (r"C:\\new\\dir", "C:ewdir"),
            (r"C:\new\dir", "C:ewdir"),
            ("東 京", "東京"),
            (r"\u12", "u12"),
            (r"\\\\u0041", "A"),
            ("a\u{a0}b ", "a b"),
        ];
        for (text, want) in cases {
            assert_eq!(form(text), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn blocks_do_not_matter(
            text in r#"([a-z ]{0,4}|\\|\\u00e9|\\ud83d\\ude00|\\n|[é漢🚀"]|\n){0,20}"#,
            step in 1usize..9,
        ) {
            let mut stream = Normaliser::default();
            let (mut rest, mut base) = (Vec::new(), 0);
            let blocks: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
            for (at, block) in blocks.iter().enumerate() {
                rest.extend_from_slice(block);
                let taken = stream.feed(&rest, base, at + 1 == blocks.len());
                rest.drain(..taken);
                base += taken as u64;
            }
            let whole = normal(text.as_bytes());
            prop_assert_eq!(stream.bytes, whole.bytes);
            prop_assert_eq!(stream.origins, whole.origins);
        }

        #[test]
        fn a_decoded_quote_has_the_form_of_its_json(text in "[a-z0-9 \n\t\"é🚀{}:,]{0,30}") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(form(&json[1..json.len() - 1]), form(&text));
        }
    }
}
