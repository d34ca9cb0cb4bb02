//! Outlines an XML document by its elements, their attributes and their counts.

use std::io::{self, BufReader};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use spillgate_artifact::ReadRange;
use spillgate_text::View;

use crate::parts::grouped;
use crate::values::Values;
use crate::{EntryKind, OutlineEntry, note};

/// Maximum number of bytes of a document that are read.
pub(crate) const LOOKED_AT: u64 = 32 << 20;
/// Maximum number of levels whose elements are distinguished.
const DEPTH: usize = 12;
/// Maximum number of different elements that are distinguished in a document.
const NODES: usize = 4096;
/// Maximum number of different elements that are distinguished in one element.
const CHILDREN: usize = 64;
/// Maximum number of attributes of an element that are examined.
const ATTRIBUTES: usize = 12;
/// Maximum number of values that are shown of an attribute.
const NAMED: usize = 3;
/// Maximum number of characters of such a value.
const NAMED_CHARS: usize = 32;

/// Returns a reader for the beginning of a document. The reader accepts some invalid markup.
pub(crate) fn reader(view: &View) -> Reader<BufReader<ReadRange<'_>>> {
    let range = ReadRange::new(view.source(), 0, LOOKED_AT);
    let mut reader = Reader::from_reader(BufReader::with_capacity(64 << 10, range));
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    reader
}

/// Returns the element tree. Elements with the same name and the same parent are merged.
pub(crate) fn outline(view: &View) -> io::Result<Vec<OutlineEntry>> {
    let mut reader = reader(view);
    let mut tree = Tree::new();
    let mut buffer = Vec::new();
    let is_whole = loop {
        buffer.clear();
        let at = reader.buffer_position();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => tree.start(&tag, at),
            Ok(Event::Empty(tag)) => {
                tree.start(&tag, at);
                tree.end();
            }
            Ok(Event::End(_)) => tree.end(),
            Ok(Event::Text(text)) => tree.text(&text, at),
            Ok(Event::CData(text)) => tree.text(&text, at),
            Ok(Event::Eof) => break true,
            Ok(_) => {}
            Err(quick_xml::Error::Io(error)) => return Err(io::Error::other(error)),
            // Keep the tree of the elements before the error.
            Err(_) => break false,
        }
    };
    let mut lines = Vec::new();
    if view.bytes() > LOOKED_AT {
        lines.push(note(format!("(of the first {} MiB)", LOOKED_AT >> 20)));
    } else if !is_whole {
        lines.push(note("(as far as it can be read)".to_owned()));
    }
    for &child in &tree.nodes[0].children {
        tree.render(child, 0, &mut lines);
    }
    Ok(lines)
}

#[derive(Debug, Default)]
struct Node {
    name: String,
    count: u64,
    attributes: Vec<(String, u64, Values)>,
    children: Vec<usize>,
    texts: u64,
    text: Values,
}

#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    /// The nodes of the open elements; `None` for an element that is not distinguished.
    open: Vec<Option<usize>>,
    /// Number of open elements that are too deep to be kept.
    deeper: u64,
}

impl Tree {
    fn new() -> Self {
        Self {
            nodes: vec![Node::default()],
            open: vec![Some(0)],
            deeper: 0,
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, offset: u64) {
        if self.open.len() > DEPTH || self.deeper > 0 {
            self.deeper += 1;
            return;
        }
        let parent = self.open.last().copied().flatten();
        let name = String::from_utf8_lossy(tag.name().as_ref().as_ref()).into_owned();
        let node = parent.and_then(|parent| self.child(parent, name));
        self.open.push(node);
        let Some(node) = node.map(|node| &mut self.nodes[node]) else {
            return;
        };
        node.count += 1;
        for attribute in tag.attributes().with_checks(false).flatten() {
            let name = String::from_utf8_lossy(attribute.key.as_ref().as_ref()).into_owned();
            let at = node
                .attributes
                .iter()
                .position(|(known, ..)| *known == name);
            let at = match at {
                Some(at) => at,
                None if node.attributes.len() >= ATTRIBUTES => continue,
                None => {
                    node.attributes.push((name, 0, Values::default()));
                    node.attributes.len() - 1
                }
            };
            node.attributes[at].1 += 1;
            node.attributes[at]
                .2
                .add(attribute.value.as_ref().as_ref(), offset);
        }
    }

    fn child(&mut self, parent: usize, name: String) -> Option<usize> {
        let children = &self.nodes[parent].children;
        // Most documents repeat the same elements, so the latest nodes are searched first.
        let known = children
            .iter()
            .rev()
            .find(|&&at| self.nodes[at].name == name);
        if let Some(&known) = known {
            return Some(known);
        }
        if self.nodes.len() >= NODES || children.len() >= CHILDREN {
            return None;
        }
        self.nodes.push(Node {
            name,
            ..Node::default()
        });
        let at = self.nodes.len() - 1;
        self.nodes[parent].children.push(at);
        Some(at)
    }

    fn end(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else if self.open.len() > 1 {
            self.open.pop();
        }
    }

    fn text(&mut self, text: &str, offset: u64) {
        let text = text.trim();
        if text.is_empty() || self.deeper > 0 {
            return;
        }
        if let Some(node) = self.open.last().copied().flatten() {
            let node = &mut self.nodes[node];
            node.texts += 1;
            node.text.add(text.as_bytes(), offset);
        }
    }

    fn render(&self, at: usize, depth: usize, lines: &mut Vec<OutlineEntry>) {
        let node = &self.nodes[at];
        let mut text = format!("<{}>", node.name);
        if node.count > 1 {
            text.push_str(&format!(" {}×", grouped(node.count)));
        }
        for (name, count, values) in &node.attributes {
            let rare = if *count < node.count { "?" } else { "" };
            text.push_str(&format!(" @{name}{rare}{}", describe(values, *count)));
        }
        if node.texts > 0 {
            text.push_str(&format!(" text{}", describe(&node.text, node.texts)));
        }
        let entry = OutlineEntry::new(depth * 2, depth, EntryKind::Place, text);
        lines.push(entry);
        for &child in &node.children {
            self.render(child, depth + 1, lines);
        }
    }
}

/// Returns the values of an attribute or of texts: all of them if there are few, otherwise
/// examples.
fn describe(values: &Values, count: u64) -> String {
    let texts: Vec<String> = values
        .examples()
        .take(NAMED)
        .map(|value| shown(&String::from_utf8_lossy(value)))
        .collect();
    match values.distinct() {
        Some(distinct) if distinct <= NAMED => format!("={}", texts.join("|")),
        Some(distinct) if (distinct as u64) < count => {
            format!("={}|… ({distinct} distinct)", texts.join("|"))
        }
        _ => format!("={}…", texts[0]),
    }
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(NAMED_CHARS).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    let cut = cut.escape_debug().to_string();
    format!("\"{}{more}\"", cut.replace("\\'", "'"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    fn shown(text: &str) -> String {
        texts(&outline(&view_of(text)).unwrap())
    }

    #[test]
    fn elements_with_attributes_and_texts() {
        let suites: String = (0..30)
            .map(|i| {
                format!(
                    "<testcase name=\"t{i}\" time=\"0.1\"{}",
                    match i {
                        7 => "><failure message=\"no\">at <b/>line 1</failure></testcase>\n",
                        _ => "/>\n",
                    }
                )
            })
            .collect();
        let text = format!(
            "<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"a&amp;b\" tests=\"30\">\n{suites}</testsuite></testsuites>"
        );
        assert_snapshot!(shown(&text), @r#"
        <testsuites>
          <testsuite> @name="a&amp;b" @tests="30"
            <testcase> 30× @name="t0"… @time="0.1"
              <failure> @message="no" text="at"|"line 1"
                <b>
        "#);
        assert_snapshot!(shown("<a><b>1</a></c><d x=1 y><e"), @r#"
        (as far as it can be read)
        <a>
          <b> text="1"
        <d>
        "#);
        assert_eq!(shown(&"<x>".repeat(100_000)).lines().count(), DEPTH);
    }
}
