//! Splits trees into passages: XML, and the snapshots of pages that browser tools print.
//!
//! An element with its children is one passage if it is small. The opening line of a larger one
//! stands above its children like a heading. So a row, a card or a record is found with all that is
//! in it.

use crate::blocks::{Blocks, Heading, TextBlock};
use crate::markup::{Part, parts};

/// An element with its children is one passage up to this many bytes, about 250 tokens.
const SMALL: usize = 900;
/// Most open elements; those in deeper ones belong to them.
const DEEPEST: usize = 256;

/// An element, or a text between elements.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// First byte.
    start: usize,
    /// The byte after its own tag or line.
    own_end: usize,
    /// The byte after its children.
    end: usize,
    depth: usize,
    /// Where the name of the element or line begins, and the byte after the name.
    name: (usize, usize),
}

/// Returns the passages of XML.
pub(crate) fn of_xml(text: &[u8]) -> Blocks {
    let mut nodes: Vec<Node> = Vec::new();
    // The names of the open elements and the numbers of their nodes.
    let mut open: Vec<(Vec<u8>, usize)> = Vec::new();
    for (start, end, part) in parts(text) {
        let node = |depth| Node {
            start,
            own_end: end,
            end,
            depth,
            name: (start, start),
        };
        match part {
            Part::Start(name, is_empty) => {
                let length = name.len();
                let mut node = node(open.len());
                node.name = (start + 1, (start + 1 + length).min(end));
                if !is_empty && open.len() < DEEPEST {
                    open.push((name, nodes.len()));
                }
                nodes.push(node);
            }
            Part::End(name) => {
                if let Some(depth) = open.iter().rposition(|one| one.0 == name) {
                    for (_, at) in open.drain(depth..) {
                        nodes[at].end = end;
                    }
                }
            }
            // The HTML tokenizer takes a CDATA section for a comment.
            Part::Text(_) | Part::Note => {
                if !text[start..end].trim_ascii().is_empty() {
                    nodes.push(node(open.len()));
                }
            }
        }
    }
    for (_, at) in open {
        nodes[at].end = text.len();
    }
    grouped(text, &nodes)
}

/// Returns the passages of a snapshot of a page: a line for each element, its children indented.
pub(crate) fn of_snapshot(text: &[u8]) -> Blocks {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let body = line[indent..].trim_ascii_end();
        if !body.is_empty() {
            while open.last().is_some_and(|&at| nodes[at].depth >= indent) {
                let closed = open.pop().unwrap_or(0);
                nodes[closed].end = start;
            }
            // The role follows `- ` or `uid=1_2 `.
            let lead = memchr::memchr(b' ', body).map_or(0, |blank| blank + 1);
            let role = body[lead..]
                .iter()
                .take_while(|byte| byte.is_ascii_alphabetic());
            let name = start + indent + lead;
            let name = (name, name + role.count());
            if open.len() < DEEPEST {
                open.push(nodes.len());
            }
            nodes.push(Node {
                start,
                own_end: end,
                end,
                depth: indent,
                name,
            });
        }
        start = end;
    }
    for at in open {
        nodes[at].end = text.len();
    }
    grouped(text, &nodes)
}

/// Makes small elements passages with their children, and joins leaves of one parent until the name
/// of the first one recurs.
fn grouped(text: &[u8], nodes: &[Node]) -> Blocks {
    let mut found = Blocks::default();
    let mut open: Vec<(usize, usize)> = Vec::new();
    // Depth and name of the first leaf of the passage before.
    let mut leaves: Option<(usize, (usize, usize))> = None;
    let name = |(start, end): (usize, usize)| &text[start..end];
    let mut at = 0;
    while let Some(node) = nodes.get(at) {
        while open.last().is_some_and(|(depth, _)| *depth >= node.depth) {
            open.pop();
        }
        let heading = open.last().map(|(_, heading)| *heading);
        let is_leaf = nodes.get(at + 1).is_none_or(|next| next.start >= node.end);
        let is_small = is_leaf || node.end - node.start <= SMALL;
        let (start, end) = (node.start, if is_small { node.end } else { node.own_end });
        let joins = is_leaf
            && leaves.is_some_and(|(depth, first)| {
                depth == node.depth && name(first) != name(node.name)
            });
        match found.all.last_mut() {
            Some(last) if joins && last.heading == heading && end - last.start <= SMALL => {
                last.end = end;
            }
            _ => {
                found.all.push(TextBlock {
                    start,
                    end,
                    heading,
                });
                leaves = is_leaf.then_some((node.depth, node.name));
            }
        }
        at += 1;
        if is_small {
            at += nodes[at..]
                .iter()
                .take_while(|next| next.start < end)
                .count();
        } else {
            open.push((node.depth, found.headings.len()));
            found.headings.push(Heading {
                start,
                end,
                above: heading,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, found: &Blocks) -> String {
        let line = |start: usize, end: usize| {
            let words: Vec<&str> = text[start..end].split_whitespace().collect();
            words.join(" ")
        };
        let lines = found.all.iter().map(|block| {
            let above = block.heading.map(|at| found.headings[at]);
            let above = above
                .map(|one| line(one.start, one.end))
                .unwrap_or_default();
            format!("[{above}] {:.60}", line(block.start, block.end))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn xml_has_records() {
        let filler = "x".repeat(1000);
        let text = format!(
            "<?xml version=\"1.0\"?><list n='2'><row id=\"1\"><price>9</price></row>\
             <row id=\"2\"><price>8</price><note><![CDATA[a < b]]></note></row><name>n</name><size>3</size><big>{filler}</big></list>"
        );
        insta::assert_snapshot!(shown(&text, &of_xml(text.as_bytes())), @r#"
        [] <?xml version="1.0"?>
        [] <list n='2'>
        [<list n='2'>] <row id="1"><price>9</price></row>
        [<list n='2'>] <row id="2"><price>8</price><note><![CDATA[a < b]]></note></
        [<list n='2'>] <name>n</name>
        [<list n='2'>] <size>3</size>
        [<list n='2'>] <big>
        [<big>] xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        "#);
    }

    #[test]
    fn snapshots_have_rows_and_cards() {
        let filler = "- text: ".to_owned() + &"word ".repeat(200);
        let text = format!(
            "- main [ref=e1]:\n  - heading \"Lamp A\" [ref=e2]\n  - text: 9.99\n  - heading \"Lamp B\" [ref=e3]\n  - text: 8.50\n  \
             - table [ref=e4]:\n    - row \"x\" [ref=e5]:\n      - cell \"x\"\n      - cell \"7\"\n    - row \"y\":\n      - cell \"8\"\n  {filler}\n"
        );
        insta::assert_snapshot!(shown(&text, &of_snapshot(text.as_bytes())), @r#"
        [] - main [ref=e1]:
        [- main [ref=e1]:] - heading "Lamp A" [ref=e2] - text: 9.99
        [- main [ref=e1]:] - heading "Lamp B" [ref=e3] - text: 8.50
        [- main [ref=e1]:] - table [ref=e4]: - row "x" [ref=e5]: - cell "x" - cell "7" 
        [- main [ref=e1]:] - text: word word word word word word word word word word wo
        "#);
    }

    #[test]
    fn hostile_trees_have_passages_in_order() {
        let deep = "<a>".repeat(3000) + &"</a>".repeat(2000);
        let stairs: String = (0..600).map(|at| " ".repeat(at) + "- x:\n").collect();
        let texts = [
            "",
            "<",
            "</a>",
            "<a",
            "<a><b></a></b>",
            "<![CDATA[",
            " \n",
            "-",
            "é\n é",
            &deep,
            &stairs,
        ];
        for text in texts {
            for found in [of_xml(text.as_bytes()), of_snapshot(text.as_bytes())] {
                let ends = found.all.iter().flat_map(|one| [one.start, one.end]);
                let ends: Vec<usize> = ends.collect();
                let is_inside = ends.iter().all(|end| *end <= text.len());
                assert!(ends.is_sorted() && is_inside, "{text:.20?}");
            }
        }
    }
}
