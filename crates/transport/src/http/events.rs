//! A decoder for streams of server-sent events of any size.
//!
//! The decoder returns data in the pieces in which they arrive. It buffers only the other fields,
//! which are short. The grammar is section 9.2.5 of the HTML standard.

use std::time::Duration;

/// Maximum number of bytes buffered of a field's name, or of a value other than data. Event ids
/// usually have a few dozen bytes; a longer id could not be sent back in a header.
const MOST_GATHERED: usize = 4096;

/// The next part of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// More data of the current event.
    Data(&'a [u8]),
    /// The event is complete.
    End(Tags),
}

/// The fields of an event other than its data.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// The type of the event; `None` means `message`.
    pub kind: Option<String>,
    /// The id of the event.
    pub id: Option<String>,
    /// The delay before the client reopens a broken stream.
    pub retry: Option<Duration>,
}

impl Tags {
    /// Whether the event's data, if any, are a message.
    pub(crate) fn is_message(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "message")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    Other,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// The decoder is in the name of a field.
    Name,
    /// The decoder is after the colon of a field, where one space is skipped.
    Colon,
    /// The decoder is in the value of a field.
    Value,
}

/// Decodes a stream of server-sent events.
#[derive(Debug)]
pub struct Decoder {
    place: Place,
    field: Field,
    /// The name or value that is being buffered.
    word: Vec<u8>,
    /// Whether the last line ended with a carriage return. A following line feed then belongs to
    /// the same line end.
    after_return: bool,
    /// Whether this is the first line, which may begin with a byte order mark.
    is_first: bool,
    has_data: bool,
    tags: Tags,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            place: Place::Name,
            field: Field::Other,
            word: Vec::new(),
            after_return: false,
            is_first: true,
            has_data: false,
            tags: Tags::default(),
        }
    }
}

impl Decoder {
    /// Returns the next piece in `bytes` and advances `bytes` past it; `None` if more bytes are
    /// needed.
    pub fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let piece = match self.place {
                Place::Name => self.name(bytes),
                Place::Colon => self.colon(bytes),
                Place::Value => self.value(bytes),
            };
            if piece.is_some() {
                return piece;
            }
        }
        None
    }

    fn name<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        let end = memchr::memchr3(b':', b'\n', b'\r', bytes);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        self.gather(part);
        *bytes = rest;
        let &stop = rest.first()?;
        let word = std::mem::take(&mut self.word);
        let mut name = word.as_slice();
        if std::mem::take(&mut self.is_first) {
            name = name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name);
        }
        self.field = match name {
            b"data" => Field::Data,
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"retry" => Field::Retry,
            _ => Field::Other,
        };
        if stop == b':' {
            *bytes = &rest[1..];
            self.place = Place::Colon;
            return None;
        }
        self.end_line(bytes);
        if name.is_empty() {
            self.has_data = false;
            return Some(Piece::End(std::mem::take(&mut self.tags)));
        }
        self.set(&[]); // a name without a colon has an empty value
        None
    }

    fn colon<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        *bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
        self.place = Place::Value;
        // A line feed separates the lines of data.
        (self.field == Field::Data && self.has_data).then_some(Piece::Data(b"\n"))
    }

    fn value<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        let end = memchr::memchr2(b'\n', b'\r', bytes);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        *bytes = rest;
        if self.field == Field::Data && !part.is_empty() {
            self.has_data = true;
            return Some(Piece::Data(part));
        }
        self.gather(part);
        if !rest.is_empty() {
            self.end_line(bytes);
            let word = std::mem::take(&mut self.word);
            self.set(&word);
        }
        None
    }

    /// Buffers a part of a name or value. Keeps at most one byte more than the limit, which shows
    /// that the limit is exceeded.
    fn gather(&mut self, part: &[u8]) {
        let room = (MOST_GATHERED + 1).saturating_sub(self.word.len());
        self.word.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn end_line(&mut self, bytes: &mut &[u8]) {
        self.after_return = bytes[0] == b'\r';
        *bytes = &bytes[1..];
        self.place = Place::Name;
    }

    fn set(&mut self, value: &[u8]) {
        let Ok(text) = std::str::from_utf8(value) else {
            return;
        };
        if text.len() > MOST_GATHERED {
            return;
        }
        match self.field {
            Field::Event => self.tags.kind = (!text.is_empty()).then(|| text.to_owned()),
            Field::Id if !text.contains('\0') => {
                self.tags.id = (!text.is_empty()).then(|| text.to_owned());
            }
            Field::Retry if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.tags.retry = text.parse().ok().map(Duration::from_millis);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a stream that arrives in chunks of `size` bytes. Returns each event's type, id,
    /// delay in milliseconds and data.
    fn decode(stream: &[u8], size: usize) -> Vec<String> {
        let mut decoder = Decoder::default();
        let (mut events, mut data) = (Vec::new(), Vec::new());
        for mut chunk in stream.chunks(size) {
            while let Some(piece) = decoder.next(&mut chunk) {
                match piece {
                    Piece::Data(bytes) => data.extend_from_slice(bytes),
                    Piece::End(tags) => {
                        let text = String::from_utf8(std::mem::take(&mut data)).unwrap();
                        let retry = tags.retry.map(|retry| retry.as_millis());
                        events.push(format!("{:?} {:?} {retry:?} {text:?}", tags.kind, tags.id));
                    }
                }
            }
            assert!(chunk.is_empty());
        }
        events
    }

    #[test]
    fn streams_in_chunks_of_any_size() {
        let cases: [(&str, &[&str]); 13] = [
            ("data: {}\n\n", &[r#"None None None "{}""#]),
            (
                "\u{feff}id: 1\r\nretry: 20\r\ndata:\r\n\r\n",
                &[r#"None Some("1") Some(20) """#],
            ),
            (
                "event: message\rdata:a\r\rdata: b\r\r",
                &[r#"Some("message") None None "a""#, r#"None None None "b""#],
            ),
            (
                "data: a\ndata:  b\ndata\ndata: c\n\n",
                &[r#"None None None "a\n b\nc""#],
            ),
            ("data\ndata: x\n\n", &[r#"None None None "x""#]),
            (": hello\n\n", &[r#"None None None """#]),
            ("id\ndata: x\n\n", &[r#"None None None "x""#]),
            ("id: a\0b\nretry: 1s\n\n", &[r#"None None None """#]),
            (
                "retry: 7\nretry: +5\nretry: x\n\n",
                &[r#"None None Some(7) """#],
            ),
            ("foo: bar\ndatas: x\n\n", &[r#"None None None """#]),
            ("data: not the end\n", &[]),
            ("data: x\nid: late\n\n", &[r#"None Some("late") None "x""#]),
            (
                "id: 1\n\ndata: x\n\n",
                &[r#"None Some("1") None """#, r#"None None None "x""#],
            ),
        ];
        for (stream, want) in cases {
            for size in [1, 2, 3, 7, 4096] {
                assert_eq!(decode(stream.as_bytes(), size), want, "{stream:?} {size}");
            }
        }
    }

    #[test]
    fn only_data_may_be_long() {
        let long = "x".repeat(3 * MOST_GATHERED);
        let stream = format!("id: {long}\n{long}: 1\nevent: {long}\ndata: {long}\n\n");
        let want = format!("None None None {long:?}");
        assert_eq!(decode(stream.as_bytes(), 1000), [want]);
    }
}
