//! Parses JSON.
//!
//! Comments and trailing commas are accepted, because editors accept and write them in
//! configuration files.

use std::collections::HashMap;

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::lines::Lines;
use crate::node::{DEEPEST, Malformed, Member, Node, NodeKind, Position, Text};

/// The accepted extensions of JSON: comments and trailing commas.
pub const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses `text`; returns an empty table if it contains only comments.
pub fn parse(text: &str) -> Result<Node, Malformed> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).or_else(|error| {
        let place = Position {
            line: error.line_display(),
            column: error.column_display(),
        };
        place.wrong(format!("this is not JSON: {}", error.kind()))
    })?;
    let lines = Lines::of(text);
    match parsed.value {
        None => Ok(Node::empty()),
        Some(value) => node(&lines, value, 0),
    }
}

fn node(lines: &Lines<'_>, value: Ast<'_>, depth: usize) -> Result<Node, Malformed> {
    let at = lines.place(value.start());
    if depth > DEEPEST {
        return at.wrong(format!("it is nested more than {DEEPEST} levels deep"));
    }
    let kind = match value {
        Ast::NullKeyword(_) => NodeKind::Null,
        Ast::BooleanLit(literal) => NodeKind::Bool(literal.value),
        Ast::NumberLit(literal) => {
            let number: Result<serde_json::Number, _> = literal.value.parse();
            let number = number.or_else(|_| at.wrong(format!("{} is no number", literal.value)));
            NodeKind::Number((&number?).into())
        }
        Ast::StringLit(literal) => NodeKind::Text(Text::from(literal.value.into_owned())),
        Ast::Array(array) => {
            let elements = array.elements.into_iter();
            let elements = elements.map(|element| node(lines, element, depth + 1));
            NodeKind::List(elements.collect::<Result<_, _>>()?)
        }
        Ast::Object(object) => {
            let mut seen: HashMap<String, usize> = HashMap::new();
            let mut members = Vec::with_capacity(object.properties.len());
            for property in object.properties {
                let at = lines.place(property.range.start);
                let key = property.name.into_string();
                if let Some(line) = seen.insert(key.clone(), at.line) {
                    return at.wrong(format!("the key {key:?} is also on line {line}"));
                }
                let node = node(lines, property.value, depth + 1)?;
                members.push(Member { key, at, node });
            }
            NodeKind::Table(members)
        }
    };
    Ok(Node::new(at, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_becomes_a_tree() {
        let text = "// ours\n{\n  \"a\": [1, -2.5, \"x\\n\", null,],\n  \"b\": {\"é\": 1, \"c\": true},\n}\n";
        let node = parse(text).unwrap();
        insta::assert_snapshot!(node.value(), @r#"{"a":[1,-2.5,"x\n",null],"b":{"c":true,"é":1}}"#);
        let place = |path: &[&str]| node.find(path).unwrap().at;
        assert_eq!(place(&["a"]), Position { line: 3, column: 3 });
        assert_eq!(
            place(&["b", "c"]),
            Position {
                line: 4,
                column: 17
            }
        );
        assert_eq!(parse(" // nothing").unwrap().value().to_string(), "{}");
    }

    #[test]
    fn hostile_or_broken_texts_are_refused_with_their_place() {
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100), "]".repeat(100));
        let deeper = "[".repeat(100_000);
        let texts = [
            deep.as_str(),
            deeper.as_str(),
            "{\"a\": 1,\n \"a\": 2}",
            "{\"a\": 1",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": 0x10}",
            "{\"a\": 1}\n{\"b\": 1}",
        ]
        .map(|text| match parse(text) {
            Ok(_) => panic!("{text:.80}"),
            Err(error) => error.to_string(),
        });
        insta::assert_snapshot!(texts.join("\n"), @r#"
        1:71: it is nested more than 64 levels deep
        1:513: this is not JSON: Maximum nesting depth exceeded
        2:2: the key "a" is also on line 1
        1:1: this is not JSON: Unterminated object
        1:2: this is not JSON: Expected string for object property
        1:2: this is not JSON: Single-quoted strings are not allowed
        1:8: this is not JSON: Expected comma
        1:7: this is not JSON: Hexadecimal numbers are not allowed
        2:1: this is not JSON: Text cannot contain more than one JSON value
        "#);
    }
}
