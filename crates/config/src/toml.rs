//! Parses TOML.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use crate::lines::Lines;
use crate::node::{Malformed, Member, Node, NodeKind, Number, Position};

/// The key of the table that represents a date or time in serde's data model (`toml_datetime`).
const DATE: &str = "$__toml_private_datetime";

/// Parses `text`. The parser limits the nesting.
///
/// # Errors
/// If it is not TOML, with the parser's message.
pub fn parse(text: &str) -> Result<Node, Malformed> {
    let lines = Lines::of(text);
    let document = Document::parse(text);
    let document = document.or_else(|error| lines.start(error.span()).wrong(error.message()))?;
    let members = members(&lines, document.as_table());
    Ok(Node::new(Position::START, members))
}

/// Returns the members of a table, each at the position of its key. If the member is a table with a
/// header, this is the position of the key in the header.
fn members(lines: &Lines<'_>, table: &dyn TableLike) -> NodeKind {
    let members = table.iter().map(|(name, item)| {
        let key = table.get_key_value(name).and_then(|(key, _)| key.span());
        let at = lines.start(key.or_else(|| item.span()));
        Member::new(name, at, node(lines, item))
    });
    NodeKind::Table(members.collect())
}

fn node(lines: &Lines<'_>, item: &Item) -> Node {
    let kind = match item {
        Item::None => NodeKind::Null,
        Item::Value(value) => return of_value(lines, value),
        Item::Table(table) => members(lines, table),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            let tables = tables.map(|one| Node::new(lines.start(one.span()), members(lines, one)));
            NodeKind::List(tables.collect())
        }
    };
    Node::new(lines.start(item.span()), kind)
}

fn of_value(lines: &Lines<'_>, value: &Value) -> Node {
    let at = lines.start(value.span());
    let kind = match value {
        Value::String(text) => NodeKind::Text(text.value().clone().into()),
        Value::Integer(number) => NodeKind::Number(Number::Signed(*number.value())),
        Value::Float(number) => NodeKind::Number(Number::Float(*number.value())),
        Value::Boolean(value) => NodeKind::Bool(*value.value()),
        Value::Datetime(date) => {
            let text = NodeKind::Text(date.value().to_string().into());
            NodeKind::Table(vec![Member::new(DATE, at, Node::new(at, text))])
        }
        Value::Array(elements) => {
            let elements = elements.iter().map(|element| of_value(lines, element));
            NodeKind::List(elements.collect())
        }
        Value::InlineTable(table) => members(lines, table),
    };
    Node::new(at, kind)
}

impl Lines<'_> {
    /// Returns the start of a span.
    fn start(&self, span: Option<Range<usize>>) -> Position {
        self.place(span.map_or(0, |span| span.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_becomes_a_tree() {
        let text = "a = [1, -2.5, \"x\\n\"]\n[b.c]\n\"é\" = true\nd = {e = 1979-05-27}\n[[f]]\ng = 1\n[[f]]\n";
        let node = parse(text).unwrap();
        insta::assert_snapshot!(node.value(), @r#"{"a":[1,-2.5,"x\n"],"b":{"c":{"d":{"e":{"$__toml_private_datetime":"1979-05-27"}},"é":true}},"f":[{"g":1},{}]}"#);
        let places = [
            &["a"][..],
            &["b"],
            &["b", "c"],
            &["b", "c", "é"],
            &["b", "c", "d", "e"],
        ]
        .map(|path| node.find(path).unwrap().at)
        .map(|at| format!("{}:{}", at.line, at.column));
        insta::assert_snapshot!(places.join(" "), @"1:1 2:2 2:4 3:1 4:6");
        assert_eq!(parse("# nothing\n").unwrap(), Node::empty());
    }

    #[test]
    fn broken_texts_are_refused_with_their_place() {
        let deep = format!("a = {}{}", "[".repeat(100), "]".repeat(100));
        let texts = [
            "a = 1\na = 2\n",
            "a = 1\n\nb = \n",
            "[a\n",
            "a = 99999999999999999999",
            &deep,
        ];
        let texts = texts.map(|text| match parse(text) {
            Ok(_) => panic!("{text:.80}"),
            Err(error) => error.to_string(),
        });
        insta::assert_snapshot!(texts.join("\n"), @"
        2:1: duplicate key
        3:5: string values must be quoted, expected literal string
        1:3: unclosed table, expected `]`
        1:5: integer number overflowed
        1:85: cannot recurse further; max recursion depth met
        ");
    }
}
