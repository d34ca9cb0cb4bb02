//! Parses YAML, with protection against hostile files.
//!
//! The parser builds on granit-parser's events. It counts nesting and expanded aliases while the
//! tree grows, so that it refuses a YAML bomb before the tree is large.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use crate::node::{DEEPEST, MAX_FILE_BYTES, Malformed, Member, Node, NodeKind, Position, Text};

/// Maximum size of a tree in bytes with aliases expanded: eight times the maximum file size.
const BUDGET: usize = 8 * MAX_FILE_BYTES;

/// Size in bytes that is counted for a node in addition to its text: about the node's size in
/// memory.
const NODE: usize = 64;

/// Parses `text`, which starts on line `first_line` of the file and contains at most one document.
/// Returns an empty table if it contains none.
pub fn parse(text: &str, first_line: usize) -> Result<Node, Malformed> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        lines_before: first_line.saturating_sub(1),
        spent: 0,
        anchors: HashMap::new(),
    };
    let mut found = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            _ if found.is_some() => {
                let what = "a second document begins here";
                return reader.place(&span).wrong(what);
            }
            event => found = Some(reader.node(event, span, 0)?),
        }
    }
    Ok(found.unwrap_or_else(Node::empty))
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    lines_before: usize,
    spent: usize,
    /// The values of anchors, with their cost.
    anchors: HashMap<usize, (Node, usize)>,
}

impl<'t> Reader<'t> {
    fn place(&self, span: &Span) -> Position {
        Position {
            line: self.lines_before + span.start.line(),
            column: span.start.col() + 1,
        }
    }

    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Malformed> {
        let next = self.parser.next_event().transpose();
        next.or_else(|error| {
            let place = Position {
                line: self.lines_before + error.marker().line(),
                column: error.marker().col() + 1,
            };
            place.wrong(format!("this is not YAML: {}", error.kind()))
        })
    }

    fn needed(&mut self) -> Result<(Event<'t>, Span), Malformed> {
        let next = self.next()?.map(Ok);
        next.unwrap_or_else(|| Position::START.wrong("it ends too early"))
    }

    fn spend(&mut self, cost: usize, place: Position) -> Result<(), Malformed> {
        self.spent = self.spent.saturating_add(cost);
        match self.spent > BUDGET {
            true => place.wrong("it has too many values after its aliases are expanded"),
            false => Ok(()),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Malformed> {
        let place = self.place(&span);
        if depth > DEEPEST {
            return place.wrong(format!("it is nested more than {DEEPEST} levels deep"));
        }
        let before = self.spent;
        self.spend(NODE, place)?;
        let (anchor, kind) = match event {
            Event::Alias(id) => return self.alias(id, place),
            Event::Scalar(text, style, anchor, tag) => {
                self.spend(text.len(), place)?;
                check_tag(tag.as_deref(), place)?;
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let kind = match is_plain {
                    true => plain(&text),
                    false => NodeKind::Text(Text::from(text.into_owned())),
                };
                (anchor, kind)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), place)?;
                (anchor, NodeKind::List(self.elements(depth)?))
            }
            Event::MappingStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), place)?;
                (anchor, NodeKind::Table(self.table(depth)?))
            }
            _ => return place.wrong("there is no value here"),
        };
        let node = Node::new(place, kind);
        if anchor > 0 {
            // The value is stored a second time for the anchor, and this copy counts, too.
            let cost = self.spent - before;
            self.spend(cost, place)?;
            self.anchors.insert(anchor, (node.clone(), cost));
        }
        Ok(node)
    }

    fn alias(&mut self, id: usize, place: Position) -> Result<Node, Malformed> {
        let Some((_, cost)) = self.anchors.get(&id) else {
            return place.wrong("this alias is inside the value that it refers to");
        };
        let cost = *cost;
        self.spend(cost, place)?;
        let node = self.anchors[&id].0.clone();
        Ok(Node { at: place, ..node })
    }

    fn elements(&mut self, depth: usize) -> Result<Vec<Node>, Malformed> {
        let mut elements = Vec::new();
        loop {
            match self.needed()? {
                (Event::SequenceEnd, _) => return Ok(elements),
                (event, span) => elements.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn table(&mut self, depth: usize) -> Result<Vec<Member>, Malformed> {
        let mut lines: HashMap<String, usize> = HashMap::new();
        let mut members = Vec::new();
        loop {
            let (event, span) = self.needed()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(members);
            }
            let at = self.place(&span);
            let Event::Scalar(key, ..) = event else {
                return at.wrong("a key must be a text");
            };
            let key = key.into_owned();
            self.spend(key.len(), at)?;
            if let Some(line) = lines.insert(key.clone(), at.line) {
                return at.wrong(format!("the key {key:?} is also on line {line}"));
            }
            let (event, span) = self.needed()?;
            let node = self.node(event, span, depth + 1)?;
            members.push(Member { key, at, node });
        }
    }
}

/// Checks a tag. Tags can request any type; only `!!str`, `!!map` and `!!seq` are supported.
fn check_tag(tag: Option<&Tag>, place: Position) -> Result<(), Malformed> {
    match tag {
        None => Ok(()),
        Some(tag)
            if ["str", "map", "seq"]
                .iter()
                .any(|of| tag.is_yaml_core_schema_tag(of)) =>
        {
            Ok(())
        }
        Some(_) => place.wrong("tags such as this one are not supported"),
    }
}

/// Interprets a plain scalar by the core schema of YAML 1.2.
pub fn plain(text: &str) -> NodeKind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeKind::Null,
        "true" | "True" | "TRUE" => NodeKind::Bool(true),
        "false" | "False" | "FALSE" => NodeKind::Bool(false),
        _ => {
            let whole = text.parse::<i64>().ok().map(serde_json::Number::from);
            let whole = whole.or_else(|| Some(text.parse::<u64>().ok()?.into()));
            let starts = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            let float = || text.parse::<f64>().ok().filter(|_| starts);
            match whole.or_else(|| serde_json::Number::from_f64(float()?)) {
                Some(number) => NodeKind::Number((&number).into()),
                None => NodeKind::Text(text.to_owned().into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_becomes_a_tree() {
        let text = "a: &x [1, -2, 2.5, 0x10]\nb: *x\nc: {d: 'true', e: yes, f: ~}\ng: |\n  two\n  lines\nh: !!str 5\n";
        let node = parse(text, 1).unwrap();
        insta::assert_snapshot!(node.value(), @r#"{"a":[1,-2,2.5,"0x10"],"b":[1,-2,2.5,"0x10"],"c":{"d":"true","e":"yes","f":null},"g":"two\nlines\n","h":"5"}"#);
        assert_eq!(
            node.find(&["c", "e"]).unwrap().at,
            Position {
                line: 3,
                column: 16
            }
        );
        assert_eq!(parse("# nothing\n", 1).unwrap().value().to_string(), "{}");
    }

    #[test]
    fn hostile_or_broken_texts_are_refused_with_their_place() {
        let bomb = |levels: usize| {
            let mut text = "l0: &l0 [xxxxxxxxxxxxxxxx]\n".to_owned();
            for level in 1..levels {
                let before = vec![format!("*l{}", level - 1); 10].join(", ");
                text += &format!("l{level}: &l{level} [{before}]\n");
            }
            text
        };
        let deep = format!("a: {}1{}", "[".repeat(100), "]".repeat(100));
        let deeper = "[".repeat(100_000);
        let texts = [
            bomb(12).as_str(),
            "a: &a [*a]",
            deep.as_str(),
            deeper.as_str(),
            "a: 1\n---\nb: 2",
            "a: 1\nb: 2\na: 3",
            "? [a, b]\n: 1",
            "a: !!binary aGk=",
            "a: !python/object:os.system x",
            "a: [1, 2",
            "a: b: c",
            "a: *nowhere",
        ]
        .map(|text| match parse(text, 5) {
            Ok(_) => panic!("{text:.80}"),
            Err(error) => error.to_string(),
        });
        insta::assert_snapshot!(texts.join("\n"), @r#"
        10:15: it has too many values after its aliases are expanded
        5:8: this alias is inside the value that it refers to
        5:68: it is nested more than 64 levels deep
        5:256: this is not YAML: recursion limit exceeded
        7:1: a second document begins here
        7:1: the key "a" is also on line 5
        5:3: a key must be a text
        5:13: tags such as this one are not supported
        5:29: tags such as this one are not supported
        5:4: this is not YAML: unclosed bracket '['
        5:5: this is not YAML: mapping values are not allowed in this context
        5:4: this is not YAML: while parsing node, found unknown anchor
        "#);
    }
}
