//! Lays out single-line JSON on many lines.

use std::io;

use memchr::memchr2;

use crate::ViewSink;

/// Lays out valid JSON with one member or element per line and two spaces per level.
///
/// Only white space between tokens changes. Every token keeps its bytes, so numbers, escapes and
/// duplicate keys stay as the tool wrote them. This type does not check whether the text is JSON; a
/// parser must do this before or afterwards.
#[derive(Debug, Default)]
pub struct JsonLayout {
    /// Bytes read so far.
    position: u64,
    depth: usize,
    /// The state of the lexer after the last byte.
    state: LexerState,
    /// Whether the next token begins a new line.
    breaks: bool,
    /// Whether the last token opened an object or array. If the next token closes it, both tokens
    /// stay on one line.
    opened: bool,
    /// Whether a token has been written.
    begun: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LexerState {
    #[default]
    Gap,
    /// A number, `true`, `false` or `null`.
    Word,
    Text,
    /// The lexer is after a backslash in a string.
    Escape,
}

impl JsonLayout {
    /// Returns a layout that continues at offset `origin`, where a line of depth `depth` begins.
    #[must_use]
    pub fn starting_at(origin: u64, depth: usize) -> Self {
        Self {
            position: origin,
            depth,
            ..Self::default()
        }
    }

    /// Takes the next bytes of the JSON.
    pub fn feed(&mut self, mut json: &[u8], sink: &mut dyn ViewSink) -> io::Result<()> {
        while let Some(&byte) = json.first() {
            let taken = match self.state {
                LexerState::Text => self.text(json, sink)?,
                LexerState::Escape => {
                    self.state = LexerState::Text;
                    sink.text(&json[..1])?;
                    1
                }
                LexerState::Gap | LexerState::Word => self.token(byte, json, sink)?,
            };
            self.position += taken as u64;
            json = &json[taken..];
        }
        Ok(())
    }

    /// Writes a string up to its closing quote, an escape or the end of the bytes.
    fn text(&mut self, json: &[u8], sink: &mut dyn ViewSink) -> io::Result<usize> {
        let found = memchr2(b'"', b'\\', json);
        let taken = found.map_or(json.len(), |at| at + 1);
        sink.text(&json[..taken])?;
        match found.map(|at| json[at]) {
            Some(b'"') => self.state = LexerState::Gap,
            Some(_) => self.state = LexerState::Escape,
            None => {}
        }
        Ok(taken)
    }

    fn token(&mut self, byte: u8, json: &[u8], sink: &mut dyn ViewSink) -> io::Result<usize> {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.state = LexerState::Gap,
            b'{' | b'[' => {
                self.begin(sink)?;
                sink.text(&json[..1])?;
                self.depth += 1;
                self.opened = true;
                self.breaks = true;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.breaks = !self.opened;
                self.begin(sink)?;
                sink.text(&json[..1])?;
            }
            b',' => {
                sink.text(b",")?;
                self.state = LexerState::Gap;
                self.breaks = true;
            }
            b':' => {
                sink.text(b": ")?;
                self.state = LexerState::Gap;
            }
            b'"' => {
                self.begin(sink)?;
                sink.text(b"\"")?;
                self.state = LexerState::Text;
            }
            _ => return self.word(json, sink),
        }
        Ok(1)
    }

    fn word(&mut self, json: &[u8], sink: &mut dyn ViewSink) -> io::Result<usize> {
        let taken = json
            .iter()
            .position(|b| b",:]}\" \t\r\n{[".contains(b))
            .unwrap_or(json.len());
        if self.state == LexerState::Gap {
            self.begin(sink)?;
            self.state = LexerState::Word;
        }
        sink.text(&json[..taken])?;
        Ok(taken)
    }

    /// Begins a token, on a new line if required.
    fn begin(&mut self, sink: &mut dyn ViewSink) -> io::Result<()> {
        const SPACES: &[u8] = &[b' '; 64];
        self.state = LexerState::Gap;
        self.opened = false;
        let first = !std::mem::replace(&mut self.begun, true);
        if !std::mem::take(&mut self.breaks) && !first {
            return Ok(());
        }
        if !first {
            sink.text(b"\n")?;
        }
        sink.line(self.position);
        let mut indent = self.depth * 2;
        while indent > 0 {
            let part = indent.min(SPACES.len());
            sink.text(&SPACES[..part])?;
            indent -= part;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Default)]
    struct Collected {
        text: Vec<u8>,
        origins: Vec<u64>,
    }

    impl ViewSink for Collected {
        fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.text.extend_from_slice(bytes);
            Ok(())
        }

        fn line(&mut self, origin: u64) {
            self.origins.push(origin);
        }
    }

    fn lay_out(json: &str, step: usize) -> (String, Vec<u64>) {
        let (mut sink, mut layout) = (Collected::default(), JsonLayout::default());
        for part in json.as_bytes().chunks(step) {
            layout.feed(part, &mut sink).unwrap();
        }
        (String::from_utf8(sink.text).unwrap(), sink.origins)
    }

    #[test]
    fn cases() {
        let cases = [
            ("1", "1"),
            ("{}", "{}"),
            ("[ ]", "[]"),
            ("[1,2]", "[\n  1,\n  2\n]"),
            (
                r#"{"a":{"b":[]},"c":1.50}"#,
                "{\n  \"a\": {\n    \"b\": []\n  },\n  \"c\": 1.50\n}",
            ),
            (r#" [ "a\",:{" , null ] "#, "[\n  \"a\\\",:{\",\n  null\n]"),
            ("[[],[{}]]", "[\n  [],\n  [\n    {}\n  ]\n]"),
        ];
        for (json, want) in cases {
            assert_eq!(lay_out(json, 1).0, want);
        }
    }

    #[test]
    fn lines_know_where_they_came_from() {
        let (text, origins) = lay_out(r#"{"a":1, "b":[2]}"#, 100);
        assert_eq!(text.lines().count(), origins.len());
        assert_eq!(origins, [0, 1, 8, 13, 14, 15]);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: \n漢\u{1f680}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map("[a-z\"]{0,4}", inner, 0..5)
                    .prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_value_and_the_layout_are_serdes(value in any_json(), step in 1usize..9) {
            let (text, _) = lay_out(&value.to_string(), step);
            prop_assert_eq!(&text, &serde_json::to_string_pretty(&value).unwrap());
            prop_assert_eq!(lay_out(&text, step).0, text);
        }
    }
}
