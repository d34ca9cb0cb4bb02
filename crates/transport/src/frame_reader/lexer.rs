//! A lexer that finds strings, containers and words in a stream of JSON.
//!
//! The lexer is not a parser: the receiver of a frame parses its values. A relay that cannot hold a
//! frame in memory only needs to know where its parts begin and end.

use memchr::memchr2;

/// A lexical element of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// `{` or `[`.
    Open(u8),
    /// `}` or `]`.
    Close(u8),
    /// The quote that begins a string.
    StringBegins,
    /// A part of a string, without its quotes.
    Inside,
    /// The quote that ends a string.
    StringEnds,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// Whitespace.
    Gap,
    /// A part of a number or a literal.
    Word,
    /// Invalid JSON: an unknown escape.
    Odd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Within {
    #[default]
    Gap,
    Text,
    /// The lexer is after a backslash in a string.
    Escape,
}

/// Splits JSON into tokens. The JSON arrives in blocks, and blocks may end anywhere.
#[derive(Debug, Default)]
pub(crate) struct Lexer {
    within: Within,
}

impl Lexer {
    /// Returns the first token of `json` and its length. `json` must not be empty.
    pub(crate) fn next(&mut self, json: &[u8]) -> (Token, usize) {
        match self.within {
            Within::Gap => self.between(json),
            Within::Escape => {
                self.within = Within::Text;
                match is_escape(json[0]) {
                    true => (Token::Inside, 1),
                    false => (Token::Odd, 1),
                }
            }
            Within::Text => self.inside(json),
        }
    }

    /// Returns the first token of `json`, which begins inside a string. Valid escapes are parts of
    /// the token, because a log has one at the end of each line.
    fn inside(&mut self, json: &[u8]) -> (Token, usize) {
        let mut from = 0;
        while let Some(more) = memchr2(b'"', b'\\', &json[from..]) {
            let at = from + more;
            match (json[at], json.get(at + 1)) {
                (b'"', _) if at == 0 => {
                    self.within = Within::Gap;
                    return (Token::StringEnds, 1);
                }
                (b'"', _) => return (Token::Inside, at),
                (_, Some(&escaped)) if is_escape(escaped) => from = at + 2,
                _ => {
                    self.within = Within::Escape;
                    return (Token::Inside, at + 1);
                }
            }
        }
        (Token::Inside, json.len())
    }

    fn between(&mut self, json: &[u8]) -> (Token, usize) {
        let run = |is: fn(u8) -> bool| json.iter().position(|&b| !is(b)).unwrap_or(json.len());
        match json[0] {
            byte @ (b'{' | b'[') => (Token::Open(byte), 1),
            byte @ (b'}' | b']') => (Token::Close(byte), 1),
            b',' => (Token::Comma, 1),
            b':' => (Token::Colon, 1),
            b'"' => {
                self.within = Within::Text;
                (Token::StringBegins, 1)
            }
            b' ' | b'\t' | b'\r' | b'\n' => (Token::Gap, run(is_gap)),
            _ => (Token::Word, run(is_word)),
        }
    }
}

/// Whether this byte may follow a backslash in a string.
fn is_escape(byte: u8) -> bool {
    matches!(
        byte,
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u'
    )
}

fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_word(byte: u8) -> bool {
    !is_gap(byte) && !b"{}[],:\"".contains(&byte)
}

/// Returns the offset of the member value that is incomplete at the end of `start`, the beginning
/// of a frame. The member belongs to the message itself or, in a batch, to one of the messages.
/// `None` if no such value is incomplete.
pub(crate) fn open_member(start: &[u8]) -> Option<usize> {
    let (mut lexer, mut at) = (Lexer::default(), 0);
    let (mut depth, mut message_depth) = (0usize, 1usize);
    let mut value = Value::None;
    while at < start.len() {
        let (token, length) = lexer.next(&start[at..]);
        match token {
            Token::Open(byte) => {
                if depth == 0 && byte == b'[' {
                    message_depth = 2;
                }
                depth += 1;
            }
            Token::Close(_) => depth = depth.saturating_sub(1),
            Token::Odd => return None,
            _ => {}
        }
        let is_member = depth == message_depth;
        match token {
            Token::Colon if is_member => value = Value::Next,
            Token::Open(_) if depth == message_depth + 1 => begin(&mut value, at),
            Token::StringBegins if is_member => begin(&mut value, at),
            // The value is complete, or it is a number or a literal, which is too short to make the
            // message large.
            Token::Close(_) | Token::StringEnds | Token::Word if is_member => value = Value::None,
            Token::Close(_) if depth < message_depth => value = Value::None,
            _ => {}
        }
        at += length;
    }
    match value {
        Value::At(at) => Some(at),
        Value::None | Value::Next => None,
    }
}

/// The position of the lexer relative to the value of a member.
enum Value {
    None,
    /// The next token begins the value.
    Next,
    /// The value began at this offset.
    At(usize),
}

/// Records that a value begins at `at`, if a colon precedes it.
fn begin(value: &mut Value, at: usize) {
    if matches!(value, Value::Next) {
        *value = Value::At(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_member() {
        let cases = [
            (r#"{"id":1,"result":{"content":["#, Some(17)),
            (r#"{"id":1,"result":"te"#, Some(17)),
            (r#"{"id":1,"result":"te\""#, Some(17)),
            (r#" { "result" : [ {}, "#, Some(14)),
            (r#"{"result":{},"id":"7"#, Some(18)),
            (r#"{"result":{},"id"#, None),
            (r#"{"result":"a","par"#, None),
            (r#"{"result":12"#, None),
            (r#"[{"id":1,"result":{}},{"result":{"a":"#, Some(32)),
            (r#"[[{"id":"#, None),
            (r#"{"a":{"b":"\q"#, None),
            ("no json at all", None),
            ("", None),
        ];
        for (start, want) in cases {
            assert_eq!(open_member(start.as_bytes()), want, "{start}");
        }
    }

    #[test]
    fn tokens_do_not_depend_on_the_blocks() {
        let json = r#"{"a\"\\\u00e9":[1.5e3, true],"b":"\\"} "#;
        let kinds = |step: usize| {
            let (mut lexer, mut kinds) = (Lexer::default(), Vec::new());
            for mut block in json.as_bytes().chunks(step) {
                while !block.is_empty() {
                    let (token, length) = lexer.next(block);
                    kinds.extend(std::iter::repeat_n(token, length));
                    block = &block[length..];
                }
            }
            kinds
        };
        for step in 1..json.len() {
            assert_eq!(kinds(step), kinds(json.len()), "{step}");
        }
    }
}
