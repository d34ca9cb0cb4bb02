//! Detects the encoding of a text from its bytes: UTF-8, UTF-16 or a legacy encoding.

use chardetng::EncodingDetector;
use encoding_rs::{DecoderResult, UTF_16BE, UTF_16LE};

use crate::kind::{Sample, is_binary};
use crate::magic;

/// The byte order mark of UTF-8.
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// The byte order marks of UTF-16.
const UTF16_BOMS: [(&encoding_rs::Encoding, &[u8]); 2] =
    [(UTF_16LE, b"\xff\xfe"), (UTF_16BE, b"\xfe\xff")];

/// In UTF-16 without a byte order mark, at least one in this many units must be a space, a digit or
/// another of the first 256 characters.
const PLAIN_UNITS: usize = 8;

/// The encoding of a text, as far as its first bytes show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    form: Form,
    /// Bytes of the byte order mark.
    mark: u64,
    /// The size of the sample without its byte order mark, in bytes, and the size of its text in
    /// UTF-8.
    sampled: (u64, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The first bytes are ASCII. The rest may have any encoding that contains ASCII.
    Ascii,
    Utf8,
    /// UTF-16, or a legacy encoding that contains ASCII.
    Other(&'static encoding_rs::Encoding),
}

/// A decoded part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText {
    /// The characters.
    pub text: String,
    /// The encoding of the bytes, if it is not plain UTF-8.
    pub from: Option<&'static str>,
    /// Number of sequences that are not characters; each became U+FFFD.
    pub invalid: usize,
}

impl Encoding {
    /// Returns the encoding of the text that begins with `sample`.
    ///
    /// # Errors
    ///
    /// If the bytes are not text, returns their format, if it is known.
    pub fn of(sample: Sample<'_>) -> Result<Self, Option<&'static str>> {
        let head = sample.head;
        if let Some(format) = magic::certain(head) {
            return Err(Some(format));
        }
        let marked = UTF16_BOMS.iter().find(|(_, bom)| head.starts_with(bom));
        let (form, mark) = match marked {
            Some((encoding, bom)) => (Form::Other(encoding), bom.len()),
            None if head.starts_with(UTF8_BOM) => (Form::Utf8, UTF8_BOM.len()),
            None => match form(sample) {
                Some(form) => (form, 0),
                None => return Err(magic::format(head)),
            },
        };
        let text = form.decode(&head[mark..]).text;
        match text.contains('\0') {
            true => Err(magic::format(head)),
            false => Ok(Self {
                form,
                mark: mark as u64,
                sampled: ((head.len() - mark) as u64, text.len() as u64),
            }),
        }
    }

    /// Returns the encoding if it is certainly not UTF-8.
    #[must_use]
    pub fn other(&self) -> Option<&'static encoding_rs::Encoding> {
        match self.form {
            Form::Ascii | Form::Utf8 => None,
            Form::Other(encoding) => Some(encoding),
        }
    }

    /// Returns the length of the byte order mark in bytes.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// Returns the minimum size in UTF-8 of a text that has `bytes` bytes in this encoding.
    #[must_use]
    pub fn least(&self, bytes: u64) -> u64 {
        match self.form {
            // Replacing invalid sequences never makes the text shorter.
            Form::Ascii | Form::Utf8 => bytes,
            // A unit of UTF-16 becomes at least one byte.
            Form::Other(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => bytes / 2,
            // Four bytes of GB 18030 can become a character of three bytes.
            Form::Other(_) => bytes / 4 * 3,
        }
    }

    /// Estimates, from the sample, the size in UTF-8 of a text that has `bytes` bytes in this
    /// encoding.
    #[must_use]
    pub fn about(&self, bytes: u64) -> u64 {
        let (sampled, text) = self.sampled;
        match self.form {
            Form::Ascii | Form::Utf8 => bytes,
            Form::Other(_) if sampled == 0 => bytes,
            Form::Other(_) => {
                let scaled = u128::from(bytes) * u128::from(text) / u128::from(sampled);
                u64::try_from(scaled)
                    .unwrap_or(u64::MAX)
                    .max(self.least(bytes))
            }
        }
    }

    /// Decodes bytes that begin at the offset `start` of their file.
    #[must_use]
    pub fn decode(&self, bytes: &[u8], start: u64) -> DecodedText {
        let mark = usize::try_from(self.mark.saturating_sub(start)).unwrap_or(usize::MAX);
        let mark = mark.min(bytes.len());
        let mut decoded = self.form.decode(&bytes[mark..]);
        if mark > 0 && self.form == Form::Utf8 {
            decoded.from = Some("UTF-8 with a byte order mark");
        }
        decoded
    }
}

impl Form {
    fn decode(self, bytes: &[u8]) -> DecodedText {
        let encoding = match self {
            Self::Other(encoding) => encoding,
            Self::Utf8 => return utf8(bytes),
            // The first bytes that are not ASCII may be after the sample.
            Self::Ascii => {
                let sample = Sample {
                    head: bytes,
                    complete: true,
                };
                return match one_byte_form(sample) {
                    Some(form @ Self::Other(_)) => form.decode(bytes),
                    _ => utf8(bytes),
                };
            }
        };
        let (text, _) = encoding.decode_without_bom_handling(bytes);
        DecodedText {
            invalid: text.matches('\u{fffd}').count(),
            text: text.into_owned(),
            from: Some(encoding.name()),
        }
    }
}

fn utf8(bytes: &[u8]) -> DecodedText {
    let invalid = bytes
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty());
    DecodedText {
        invalid: invalid.count(),
        text: String::from_utf8_lossy(bytes).into_owned(),
        from: None,
    }
}

/// Returns the encoding of a text without a byte order mark; `None` if it is not text.
fn form(sample: Sample<'_>) -> Option<Form> {
    match sample.head.contains(&0) {
        true => utf16(sample.head),
        false => one_byte_form(sample),
    }
}

/// Detects UTF-16 without a byte order mark: zero bytes occur in only one half of the units, and
/// the decoded text contains no characters that only binary data contain.
fn utf16(head: &[u8]) -> Option<Form> {
    let (units, _) = head.as_chunks::<2>();
    let zeros = |half: usize| units.iter().filter(|unit| unit[half] == 0).count();
    let (encoding, plain) = match (zeros(0), zeros(1)) {
        (0, plain) => (UTF_16LE, plain),
        (plain, 0) => (UTF_16BE, plain),
        _ => return None,
    };
    // In lists separated by NULs (`find -print0`), the pairs without a NUL are ASCII.
    let is_ascii = |byte: &u8| (0x20..0x7f).contains(byte);
    let others = || units.iter().filter(|unit| !unit.contains(&0));
    let is_list = plain * 2 < units.len() && others().all(|unit| unit.iter().all(is_ascii));
    let form = Form::Other(encoding);
    let decoded = form.decode(&head[..units.len() * 2]).text;
    // The sample may end inside a surrogate pair.
    let decoded = decoded.trim_end_matches('\u{fffd}');
    (!is_list && plain * PLAIN_UNITS >= units.len() && is_text(decoded)).then_some(form)
}

/// Detects UTF-8, or a legacy encoding that contains ASCII. In legacy text, at most one in seven
/// characters is valid UTF-8 by chance. If the share is larger, the text is damaged UTF-8.
fn one_byte_form(sample: Sample<'_>) -> Option<Form> {
    let head = whole_lines(sample);
    if head.is_ascii() {
        return (!is_binary(sample)).then_some(Form::Ascii);
    }
    let (mut valid, mut invalid) = (0, 0);
    for chunk in head.utf8_chunks() {
        valid += chunk
            .valid()
            .chars()
            .filter(|char| !char.is_ascii())
            .count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    if valid * 2 <= invalid
        && let Some(encoding) = legacy(head)
    {
        return Some(Form::Other(encoding));
    }
    (!is_binary(sample)).then_some(Form::Utf8)
}

/// Returns a legacy encoding in which all of `bytes` are text.
fn legacy(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let mut detector = EncodingDetector::new();
    detector.feed(bytes, false);
    let encoding = detector.guess(None, false);
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let most = decoder.max_utf8_buffer_length_without_replacement(bytes.len())?;
    let mut text = String::with_capacity(most);
    // The sample may end inside a character.
    let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, false);
    (result == DecoderResult::InputEmpty && is_text(&text)).then_some(encoding)
}

/// Returns a sample without its last line, because the sample may end inside a character. If the
/// sample has only one line, removes only its last character.
fn whole_lines(sample: Sample<'_>) -> &[u8] {
    let head = sample.head;
    if sample.complete {
        return head;
    }
    let last = memchr::memrchr(b'\n', head).map(|last| last + 1);
    // Whether a multi-byte character begins at this offset.
    let begins = |at: &usize| head[*at] >= 0xc0;
    let character = || (head.len().saturating_sub(3)..head.len()).rfind(begins);
    &head[..last.or_else(character).unwrap_or(head.len())]
}

/// Returns whether the text contains no characters that only binary data contain.
fn is_text(text: &str) -> bool {
    let is_odd = |char: char| {
        (char.is_control() && !"\t\n\r\x08\x0c\x1b\u{85}".contains(char)) || char == '\u{fffd}'
    };
    !text.contains(is_odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the encoding's name, the text, and the minimum size of 100 bytes in UTF-8. Returns
    /// `None` if the bytes are not text.
    fn read(bytes: &[u8]) -> Option<(Option<&'static str>, String, u64)> {
        let sample = Sample {
            head: bytes,
            complete: true,
        };
        let encoding = Encoding::of(sample).ok()?;
        let decoded = encoding.decode(bytes, 0);
        Some((decoded.from, decoded.text, encoding.least(100)))
    }

    #[test]
    fn texts_with_and_without_a_mark() {
        let text = "one line of text\nand another\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        // A text followed by half a unit.
        let cut = [&little[..], b"x"].concat();
        for (bytes, from, least) in [
            (text.as_bytes().to_vec(), None, 100),
            (
                marked(b"\xef\xbb\xbf", text.as_bytes()),
                Some("UTF-8 with a byte order mark"),
                100,
            ),
            (little.clone(), Some("UTF-16LE"), 50),
            (big.clone(), Some("UTF-16BE"), 50),
            (marked(b"\xff\xfe", &little), Some("UTF-16LE"), 50),
            (marked(b"\xfe\xff", &big), Some("UTF-16BE"), 50),
        ] {
            let (found, decoded, fewest) = read(&bytes).unwrap();
            assert_eq!((found, decoded.as_str(), fewest), (from, text, least));
        }
        let (from, decoded, _) = read(&cut).unwrap();
        assert_eq!(from, Some("UTF-16LE"));
        assert!(decoded.starts_with(text));
        // Words separated by NULs are not UTF-16.
        assert_ne!(
            read(b"a\0bb\0cccc\0dddddd\0ee\0").and_then(|found| found.0),
            Some("UTF-16LE")
        );
    }
}
