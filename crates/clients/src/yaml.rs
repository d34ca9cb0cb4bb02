//! YAML: parsing, with the byte range of each value.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::{Map, Value};
use spillgate_config::Position;
use spillgate_config::yaml::plain;

use crate::document::Trouble;

/// A value and the byte range it was read from.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: Range<usize>,
    pub(crate) what: What,
}

/// The content of a node.
#[derive(Debug)]
pub(crate) enum What {
    Scalar(Value),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// An alias of the value with this anchor.
    Alias(usize),
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: Node,
    pub(crate) node: Node,
}

impl Member {
    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(&self.key.what, What::Scalar(Value::String(key)) if key == name)
    }
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.what {
            What::Table(members) => members
                .iter()
                .find(|member| member.is(key))
                .map(|member| &member.node),
            _ => None,
        }
    }

    pub(crate) fn value(&self) -> Value {
        match &self.what {
            What::Scalar(value) => value.clone(),
            What::List(elements) => elements.iter().map(Self::value).collect(),
            What::Alias(id) => Value::from(format!("*{id}")),
            What::Table(members) => {
                let members = members.iter().map(|member| {
                    let key = match member.key.value() {
                        Value::String(key) => key,
                        key => key.to_string(),
                    };
                    (key, member.node.value())
                });
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

pub(crate) fn parse(text: &str) -> Result<Value, Trouble> {
    let node = read(text)?;
    Ok(node.map_or(Value::Object(Map::new()), |node| node.value()))
}

/// Maximum nesting; deeper configurations do not occur.
const DEEPEST: usize = 100;

/// Parses the document in `text`; `None` if it is empty.
pub(crate) fn read(text: &str) -> Result<Option<Node>, Trouble> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        text,
    };
    let mut found = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            _ if found.is_some() => return Err(Trouble::form("it holds several documents")),
            event => found = Some(reader.node(&event, span, 0)?),
        }
    }
    Ok(found)
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    text: &'t str,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Trouble> {
        let malformed = |error: ScanError| Trouble::Malformed {
            line: error.marker().line(),
            message: error.kind().to_string(),
        };
        self.parser.next_event().transpose().map_err(malformed)
    }

    fn needed(&mut self) -> Result<(Event<'t>, Span), Trouble> {
        self.next()?
            .ok_or_else(|| Trouble::form("it ends too early"))
    }

    fn node(&mut self, event: &Event<'t>, span: Span, depth: usize) -> Result<Node, Trouble> {
        let range = |span: &Span| {
            span.byte_range()
                .filter(|range| range.end <= self.text.len())
                .ok_or_else(|| Trouble::form("the parser reports no position for a value"))
        };
        let mut at = range(&span)?;
        if depth > DEEPEST {
            return Err(Trouble::form("it is nested too deeply"));
        }
        let what = match event {
            Event::Alias(id) => What::Alias(*id),
            Event::Scalar(text, style, _, tag) => {
                let is_plain = *style == ScalarStyle::Plain && tag.is_none();
                What::Scalar(match is_plain {
                    true => spillgate_config::Node::new(Position::START, plain(text)).value(),
                    false => Value::from(text.as_ref()),
                })
            }
            Event::SequenceStart(..) => {
                let mut elements = Vec::new();
                loop {
                    match self.needed()? {
                        (Event::SequenceEnd, span) => {
                            at = whole(at, span.byte_range(), elements.last(), self.text);
                            break What::List(elements);
                        }
                        (event, span) => elements.push(self.node(&event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut members: Vec<Member> = Vec::new();
                loop {
                    match self.needed()? {
                        (Event::MappingEnd, span) => {
                            let last = members.last().map(|member| &member.node);
                            at = whole(at, span.byte_range(), last, self.text);
                            break What::Table(members);
                        }
                        (event, span) => {
                            let key = self.node(&event, span, depth + 1)?;
                            let (event, span) = self.needed()?;
                            let node = self.node(&event, span, depth + 1)?;
                            members.push(Member { key, node });
                        }
                    }
                }
            }
            _ => return Err(Trouble::form("the parser reports no position for a value")),
        };
        Ok(Node { at, what })
    }
}

/// Returns the range of a collection. A collection in brackets ends at its closing bracket, a
/// collection in block style at its last value.
fn whole(
    start: Range<usize>,
    end: Option<Range<usize>>,
    last: Option<&Node>,
    text: &str,
) -> Range<usize> {
    let in_brackets = text[start.start..].starts_with(['[', '{']);
    let end = match (in_brackets, end, last) {
        (true, Some(end), _) => end.end,
        (_, _, Some(last)) => last.at.end,
        (_, _, None) => start.end,
    };
    start.start..end.max(start.start)
}
