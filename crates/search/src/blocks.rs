//! Splits documents into passages, each with the headings above it.
//!
//! A passage is a paragraph, an item of a list, a term with its definition, a row or a small
//! element with its children. What stands above it with less indentation, and the headings, say
//! what it is about.

use spillgate_artifact::ContentKind;
use spillgate_outline::is_page;

use crate::markup::{Part, is_inline, parts};
use crate::tree::{of_snapshot, of_xml};

/// An element or item with its children is one passage up to this many bytes of text, about 120
/// tokens.
const SMALL: usize = 480;
/// A paragraph is cut at the end of a line beyond this many bytes.
const LARGE: usize = 900;
/// Most levels of headings and items above a passage.
const DEEPEST: usize = 64;

/// The passages of a document.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// In the order of the text; none overlaps another.
    pub all: Vec<TextBlock>,
    /// What stands above passages.
    pub headings: Vec<Heading>,
    /// The text with blanks in place of tags, if it is markup.
    pub shown: Option<Vec<u8>>,
}

/// A passage: a range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextBlock {
    /// First byte, and the byte after the last one.
    pub start: usize,
    pub end: usize,
    /// The number of the heading or item above it.
    pub heading: Option<usize>,
}

/// A heading, or the first line of an item with others below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heading {
    /// First byte, and the byte after the last one.
    pub start: usize,
    pub end: usize,
    /// The number of the heading above it.
    pub above: Option<usize>,
}

/// Returns the passages of a document.
pub(crate) fn blocks(text: &[u8], kind: ContentKind) -> Blocks {
    match kind {
        ContentKind::Html => of_markup(text),
        ContentKind::Xml => of_xml(text),
        _ if is_page(text) => of_snapshot(text),
        _ => of_text(text),
    }
}

/// An open heading or item.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Headings have levels below zero, items the bytes of their indentation.
    level: i64,
    heading: usize,
}

/// Collects the passages of a text in lines.
#[derive(Debug, Default)]
struct Splitter {
    found: Blocks,
    open: Vec<Open>,
}

impl Splitter {
    /// Opens a heading or item, below those of lower levels.
    fn open(&mut self, level: i64, start: usize, end: usize) {
        while self.open.last().is_some_and(|one| one.level >= level) {
            self.open.pop();
        }
        if self.open.len() < DEEPEST {
            let above = self.open.last().map(|one| one.heading);
            let heading = self.found.headings.len();
            self.found.headings.push(Heading { start, end, above });
            self.open.push(Open { level, heading });
        }
    }

    fn above(&self, level: i64) -> Option<usize> {
        let mut open = self.open.iter().rev();
        open.find(|one| one.level < level).map(|one| one.heading)
    }
}

/// A line of a text.
#[derive(Debug, Clone, Copy)]
struct TextLine {
    start: usize,
    /// The byte after its line break.
    end: usize,
    indent: usize,
    kind: LineKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    /// `# heading`, with its level.
    Heading(usize),
    /// A line of `=` or `-` below a heading.
    Underline(usize),
    /// The first line of an item of a list.
    Item,
    /// A row of a Markdown table.
    Row,
    Other,
}

fn line_kind(line: &[u8]) -> LineKind {
    let line = line.trim_ascii();
    let Some(&first) = line.first() else {
        return LineKind::Blank;
    };
    let run = line.iter().take_while(|byte| **byte == first).count();
    let after = line.get(run);
    match first {
        b'#' if run <= 6 && after.is_none_or(|byte| *byte == b' ') => LineKind::Heading(run),
        b'=' | b'-' | b'~' | b'*' | b'"' | b'^' if run == line.len() && run >= 3 => {
            LineKind::Underline(usize::from(first != b'='))
        }
        b'*' | b'-' | b'+' | b'\xe2' if is_marked(line) => LineKind::Item,
        b'0'..=b'9' | b'(' if is_numbered(line) => LineKind::Item,
        b'|' => LineKind::Row,
        _ => LineKind::Other,
    }
}

/// Returns whether a text is one of lists and headings: most of its lines are such.
pub(crate) fn is_listed(text: &[u8]) -> bool {
    /// Fewer lines say nothing.
    const LEAST: usize = 20;
    let (mut all, mut listed) = (0, 0);
    for line in text.split(|byte| *byte == b'\n') {
        match line_kind(line) {
            LineKind::Blank => {}
            LineKind::Item | LineKind::Heading(_) | LineKind::Underline(_) => {
                (all, listed) = (all + 1, listed + 1);
            }
            _ => all += 1,
        }
    }
    all >= LEAST && listed * 3 >= all * 2
}

fn is_marked(line: &[u8]) -> bool {
    let bullet = ["* ", "- ", "+ ", "• ", "– "];
    bullet
        .iter()
        .any(|bullet| line.starts_with(bullet.as_bytes()))
}

/// Whether a line begins like `1. `, `12) ` or `(3) `.
fn is_numbered(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"(").unwrap_or(line);
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=3).contains(&digits)
        && matches!(line.get(digits), Some(b'.' | b')'))
        && line.get(digits + 1) == Some(&b' ')
}

fn lines(text: &[u8]) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        let blanks = line.iter().take_while(|byte| b" \t".contains(byte));
        let indent = blanks.map(|byte| if *byte == b'\t' { 8 } else { 1 }).sum();
        lines.push(TextLine {
            start,
            end,
            indent,
            kind: line_kind(line),
        });
        start = end;
    }
    lines
}

/// Returns the passages of plain text or Markdown.
fn of_text(text: &[u8]) -> Blocks {
    let lines = lines(text);
    let mut splitter = Splitter::default();
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        let below = lines.get(at + 1);
        match (line.kind, below.map(|below| below.kind)) {
            (LineKind::Blank, _) => at += 1,
            (LineKind::Heading(level), _) => {
                splitter.open(
                    i64::try_from(level).unwrap_or(0) - 100,
                    line.start,
                    line.end,
                );
                at += heading(&mut splitter, line, line.end, 1);
            }
            (LineKind::Other | LineKind::Item, Some(LineKind::Underline(level)))
                if below.is_some_and(|below| below.indent <= line.indent + 1) =>
            {
                let end = below.map_or(line.end, |below| below.end);
                splitter.open(i64::try_from(level).unwrap_or(0) - 99, line.start, end);
                at += heading(&mut splitter, line, end, 2);
            }
            _ => at = paragraph(&mut splitter, &lines, at),
        }
    }
    joined(splitter.found, text)
}

/// Adds a heading as a passage of its own. Returns how many lines it has.
fn heading(splitter: &mut Splitter, line: TextLine, end: usize, count: usize) -> usize {
    let above = splitter.open.iter().rev().nth(1).map(|one| one.heading);
    splitter.found.all.push(TextBlock {
        start: line.start,
        end,
        heading: above,
    });
    count
}

/// Adds the paragraph, item or row that begins at line `at`. Returns the line after it.
fn paragraph(splitter: &mut Splitter, lines: &[TextLine], at: usize) -> usize {
    let first = lines[at];
    let level = i64::try_from(first.indent).unwrap_or(0);
    let mut end = at + 1;
    while let Some(line) = lines.get(end) {
        let is_long = line.end - first.start > LARGE;
        let before = lines[end - 1];
        let goes_on = match line.kind {
            LineKind::Other => line.indent >= first.indent.min(before.indent),
            LineKind::Underline(_) => true,
            _ => false,
        };
        // A line less indented than the one before begins something else, unless only the first
        // line of a paragraph is indented.
        let is_outdented = line.indent + 2 <= before.indent && end > at + 1;
        let is_titled = line.kind == LineKind::Other
            && lines
                .get(end + 1)
                .is_some_and(|below| matches!(below.kind, LineKind::Underline(_)));
        if first.kind == LineKind::Row || !goes_on || is_outdented || is_long || is_titled {
            break;
        }
        end += 1;
    }
    let block = TextBlock {
        start: first.start,
        end: lines[end - 1].end,
        heading: splitter.above(level),
    };
    splitter.found.all.push(block);
    // Lines that are indented more deeply, and the rest of a long paragraph, become children of this
    // block.
    if first.kind != LineKind::Row {
        splitter.open(level, first.start, first.end);
    }
    end
}

/// Joins passages with what they belong to: a heading, a line that ends with a colon, and short
/// items of one list.
fn joined(mut found: Blocks, text: &[u8]) -> Blocks {
    let mut blocks: Vec<TextBlock> = Vec::with_capacity(found.all.len());
    for block in found.all {
        let size = |one: &TextBlock| one.end - one.start;
        let is_row = text[block.start] == b'|';
        match blocks.last_mut() {
            Some(last) if !is_row && text[last.start] != b'|' => {
                let gap = &text[last.end..block.start];
                let is_beside = gap.iter().all(u8::is_ascii_whitespace);
                let lead = text[last.start..last.end].trim_ascii_end();
                let is_lead = lead.ends_with(b":") || is_heading(&found.headings, last);
                let is_new = is_heading(&found.headings, &block) && !is_below(text, &block);
                let both = size(last) + size(&block);
                let is_list = gap.is_empty() && both <= SMALL;
                if !is_new && is_beside && (is_list || is_lead && both <= LARGE) {
                    last.end = block.end;
                    continue;
                }
                blocks.push(block);
            }
            _ => blocks.push(block),
        }
    }
    found.all = blocks;
    found
}

/// Whether a passage is a heading, and nothing else.
fn is_heading(headings: &[Heading], block: &TextBlock) -> bool {
    let at = headings.partition_point(|one| one.start < block.start);
    headings
        .get(at)
        .is_some_and(|one| (one.start, one.end) == (block.start, block.end))
}

/// Whether a passage is indented or an item: such a line is no title.
fn is_below(text: &[u8], block: &TextBlock) -> bool {
    let line = &text[block.start..block.end];
    line.first().is_some_and(|byte| b" \t".contains(byte)) || line_kind(line) == LineKind::Item
}

/// Elements that are rows: what they contain is not divided.
const ROWS: [&[u8]; 3] = [b"tr", b"option", b"dt"];
const HEADINGS: [&[u8]; 6] = [b"h1", b"h2", b"h3", b"h4", b"h5", b"h6"];

/// An open element.
struct Element {
    name: Vec<u8>,
    start: usize,
    /// How many passages were before it, and bytes of text.
    blocks: usize,
    text: usize,
}

/// Returns the passages of HTML.
fn of_markup(text: &[u8]) -> Blocks {
    let mut shown = text.to_vec();
    let mut splitter = Splitter::default();
    let mut elements: Vec<Element> = Vec::new();
    // The text since the last border: its first byte, the byte after it, and how much.
    let mut run: Option<(usize, usize)> = None;
    let (mut at, mut length) = (0, 0);
    let blank = |shown: &mut [u8]| {
        let all = shown.iter_mut().filter(|byte| **byte != b'\n');
        all.for_each(|byte| *byte = b' ');
    };
    for (start, end, part) in parts(text) {
        blank(&mut shown[at.min(start)..start]);
        at = end;
        match part {
            Part::Text(_) => {
                let said = text[start..end].trim_ascii().len();
                if said > 0 {
                    length += said + 1;
                    run = Some((run.map_or(start, |run| run.0), end));
                }
            }
            Part::Start(name, is_empty) => {
                blank(&mut shown[start..end]);
                if is_inline(&name) || is_empty || within_row(&elements) && name != b"tr" {
                    continue;
                }
                flush(&mut splitter, &mut run);
                // Elements whose ends may be left out.
                if [&b"p"[..], b"li", b"tr", b"dt", b"dd", b"option"].contains(&&*name)
                    && elements.last().is_some_and(|last| last.name == name)
                {
                    close(&mut splitter, &mut elements, start, length, text);
                }
                if elements.len() < DEEPEST * 4 {
                    elements.push(Element {
                        name,
                        start,
                        blocks: splitter.found.all.len(),
                        text: length,
                    });
                }
            }
            Part::End(name) => {
                blank(&mut shown[start..end]);
                let depth = elements.iter().rposition(|one| one.name == name);
                let Some(depth) = depth.filter(|_| !is_inline(&name)) else {
                    continue;
                };
                flush(&mut splitter, &mut run);
                while elements.len() > depth {
                    close(&mut splitter, &mut elements, end, length, text);
                }
            }
            Part::Note => blank(&mut shown[start..end]),
        }
    }
    flush(&mut splitter, &mut run);
    let end = at.min(text.len());
    blank(&mut shown[end..]);
    let mut found = splitter.found;
    found.shown = Some(shown);
    let shown = found.shown.clone().unwrap_or_default();
    led(found, &shown)
}

fn within_row(elements: &[Element]) -> bool {
    elements.iter().any(|one| ROWS.contains(&&*one.name))
}

fn flush(splitter: &mut Splitter, run: &mut Option<(usize, usize)>) {
    if let Some((start, end)) = run.take() {
        let heading = splitter.above(0);
        splitter.found.all.push(TextBlock {
            start,
            end,
            heading,
        });
    }
}

/// Closes the innermost element: a small one is one passage.
fn close(
    splitter: &mut Splitter,
    elements: &mut Vec<Element>,
    end: usize,
    length: usize,
    text: &[u8],
) {
    let Some(element) = elements.pop() else {
        return;
    };
    let blocks = &mut splitter.found.all;
    let is_large = length - element.text > SMALL;
    if blocks.len() <= element.blocks || is_large {
        return;
    }
    let level = HEADINGS.iter().position(|name| *name == element.name);
    let start = element.start;
    if let Some(level) = level {
        blocks.truncate(element.blocks);
        let level = i64::try_from(level).unwrap_or(0) - 100;
        splitter.open(level, start, end);
        let above = splitter.open.iter().rev().nth(1).map(|one| one.heading);
        splitter.found.all.push(TextBlock {
            start,
            end,
            heading: above,
        });
        return;
    }
    let later = splitter.found.headings.iter().rev();
    let within = later.take_while(|one| one.start >= start).count();
    // A section that begins with its heading belongs together, one of several does not.
    if within <= 1 {
        let heading = blocks[element.blocks].heading;
        blocks.truncate(element.blocks);
        let (start, end) = trimmed(text, start, end);
        blocks.push(TextBlock {
            start,
            end,
            heading,
        });
    }
}

fn trimmed(text: &[u8], start: usize, end: usize) -> (usize, usize) {
    let all = &text[start..end];
    let lead = all.len() - all.trim_ascii_start().len();
    (start + lead, start + all.trim_ascii_end().len().max(lead))
}

/// Joins passages of markup with what they lead to: a heading, a term or a line that ends with a
/// colon.
fn led(mut found: Blocks, shown: &[u8]) -> Blocks {
    let mut blocks: Vec<TextBlock> = Vec::with_capacity(found.all.len());
    for block in found.all {
        if let Some(last) = blocks.last_mut() {
            let said = |one: &TextBlock| {
                let words = shown[one.start..one.end].split(u8::is_ascii_whitespace);
                words
                    .map(|word| word.len() + usize::from(!word.is_empty()))
                    .sum::<usize>()
            };
            let lead = shown[last.start..last.end].trim_ascii();
            let is_lead = lead.ends_with(b":") || is_heading(&found.headings, last);
            let fits = said(last) + said(&block) <= LARGE;
            if is_lead && fits && !is_heading(&found.headings, &block) {
                last.end = block.end;
                continue;
            }
        }
        blocks.push(block);
    }
    found.all = blocks;
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The passages of a text, each with the headings above it.
    fn shown(text: &str, kind: ContentKind) -> String {
        let found = blocks(text.as_bytes(), kind);
        let squeezed = |start: usize, end: usize| {
            let words: Vec<&str> = text[start..end].split_whitespace().collect();
            words.join(" ")
        };
        let mut lines = Vec::new();
        for block in &found.all {
            let mut above = Vec::new();
            let mut next = block.heading.map(|at| found.headings[at]);
            while let Some(heading) = next {
                above.insert(0, squeezed(heading.start, heading.end));
                next = heading.above.map(|at| found.headings[at]);
            }
            lines.push(format!(
                "[{}] {}",
                above.join(" / "),
                squeezed(block.start, block.end)
            ));
        }
        lines.join("\n")
    }

    #[test]
    fn texts_have_passages_below_headings() {
        let text = "Manual\n======\n\nVariables\n---------\n\nThese are set:\n\n  FCEDIT\n      The editor.\n  HOME\n      The directory.\n\nThe end.\n\n# Last\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        insta::assert_snapshot!(shown(text, ContentKind::Text), @"
        [] Manual ======
        [Manual ======] Variables ---------
        [Manual ====== / Variables ---------] These are set: FCEDIT The editor. HOME The directory.
        [Manual ====== / Variables ---------] The end.
        [] # Last
        [# Last] | a | b |
        [# Last] |---|---|
        [# Last] | 1 | 2 |
        ");
        let long = "A sentence of forty bytes for the list. ".repeat(20);
        let text = format!("- first: {long}\n  - inner one {long}\n- second\n");
        let found = blocks(text.as_bytes(), ContentKind::Markdown);
        assert_eq!(found.all.len(), 2);
        assert_eq!(found.all[1].heading, Some(0));
    }

    #[test]
    fn elements_are_passages_with_their_children() {
        let text = "<html><head><title>Shop</title><style>p { x }</style></head><body><h1>Lamps</h1>\
            <div class=card><div>Lamp A</div><div>9.99</div></div><div class=card><div>Lamp B</div><div>8.50</div></div>\
            <table><tr><td>row<td>1<tr><td>row<td>2</table><p>It <b>is</b> lit by:<pre>oil &amp; gas</pre></body></html>";
        insta::assert_snapshot!(shown(&text.replace("lit", &"long ".repeat(120)), ContentKind::Html), @"
        [] <head><title>Shop</title><style>p { x }</style></head>
        [] <h1>Lamps</h1><div class=card><div>Lamp A</div><div>9.99</div></div>
        [<h1>Lamps</h1>] <div class=card><div>Lamp B</div><div>8.50</div></div>
        [<h1>Lamps</h1>] <table><tr><td>row<td>1<tr><td>row<td>2</table>
        [<h1>Lamps</h1>] It <b>is</b> long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long by:<pre>oil &amp; gas</pre>
        ");
    }

    #[test]
    fn hostile_texts_have_passages_in_order() {
        let texts = [
            "",
            "\n\n",
            "<",
            "<p",
            "</p></p><p>",
            "<script>a",
            "===\n===\n",
            "#\n",
            "- \n- ",
            "\u{e9}\u{e9}<b>\u{e9}</b",
            "|",
            "<!-- x",
            "a\n   b\n c\n-----",
        ];
        for text in texts {
            for kind in [ContentKind::Html, ContentKind::Markdown, ContentKind::Text] {
                let found = blocks(text.as_bytes(), kind);
                let ends: Vec<usize> = found
                    .all
                    .iter()
                    .flat_map(|one| [one.start, one.end])
                    .collect();
                assert!(
                    ends.is_sorted() && ends.iter().all(|end| *end <= text.len()),
                    "{text:?} {ends:?}"
                );
            }
        }
        let deep = "<div>".repeat(5000) + "x" + &"</div>".repeat(5000);
        assert_eq!(blocks(deep.as_bytes(), ContentKind::Html).all.len(), 1);
    }
}
