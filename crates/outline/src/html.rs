//! Outlines an HTML page by its headings, landmarks, tables and forms.
//!
//! The page is tokenized as in browsers, so broken markup is no problem. No tree is built.

use std::io;

use html5gum::{DefaultEmitter, IoReader, StartTag, Token, Tokenizer};
use spillgate_artifact::ReadRange;
use spillgate_text::View;

use crate::parts::{counted, grouped};
use crate::{OutlineEntry, located, note};

/// Maximum number of bytes that are read. Pages have at most a few megabytes.
const LOOKED_AT: u64 = 32 << 20;
/// Maximum number of elements that are kept.
const MOST: usize = 400;
/// Maximum number of characters of a text.
const TEXT: usize = 100;
/// Maximum number of header cells of a table, or of fields of a form.
const CELLS: usize = 10;

/// Returns the title and the number of links, images, paragraphs and scripts, then the headings,
/// landmarks, tables and forms in order, with line numbers.
pub(crate) fn outline(view: &View) -> io::Result<Vec<OutlineEntry>> {
    let range = ReadRange::new(view.source(), 0, LOOKED_AT);
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut page = Page::default();
    for token in Tokenizer::new_with_emitter(IoReader::new(range), emitter) {
        match token? {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&tag.name),
            Token::String(text) => page.text(&text),
            _ => {}
        }
    }
    let mut lines = Vec::new();
    if view.bytes() > LOOKED_AT {
        lines.push(note(format!("(of the first {} MiB)", LOOKED_AT >> 20)));
    }
    if !page.title.trim().is_empty() {
        lines.push(note(format!("title: {}", one_line(&page.title))));
    }
    let counts: Vec<String> = page
        .counts
        .iter()
        .zip(COUNTED)
        .filter(|(count, _)| **count > 0)
        .map(|(count, (_, name))| format!("{} {name}", grouped(*count)))
        .collect();
    if !counts.is_empty() {
        lines.push(note(counts.join(", ")));
    }
    for element in page.elements {
        if let Some((order, text)) = element.entry() {
            lines.push(located(view, element.offset as u64, order, text)?);
        }
    }
    Ok(lines)
}

/// The elements that are counted, and their names in the outline.
const COUNTED: [(&[u8], &str); 4] = [
    (b"a", "links"),
    (b"img", "images"),
    (b"p", "paragraphs"),
    (b"script", "scripts"),
];

#[derive(Debug, Default)]
struct Page {
    title: String,
    in_title: bool,
    counts: [u64; COUNTED.len()],
    elements: Vec<PageElement>,
    /// The heading that is being read.
    heading: Option<usize>,
    /// Open tables, innermost last, and whether a header cell is open.
    tables: Vec<usize>,
    in_cell: bool,
    form: Option<usize>,
}

#[derive(Debug)]
struct PageElement {
    offset: usize,
    kind: ElementKind,
}

#[derive(Debug)]
enum ElementKind {
    Heading(usize, String),
    Landmark(String),
    Table {
        name: String,
        header: Vec<String>,
        rows: u64,
    },
    Form {
        name: String,
        fields: Vec<String>,
    },
}

impl PageElement {
    /// Returns the rank, the depth and the text; `None` for a heading without text.
    fn entry(&self) -> Option<((usize, usize), String)> {
        match &self.kind {
            ElementKind::Heading(level, text) => {
                let text = one_line(text);
                let entry = ((*level, level - 1), format!("h{level} {text}"));
                (!text.is_empty()).then_some(entry)
            }
            ElementKind::Landmark(name) => Some(((3, 0), name.clone())),
            ElementKind::Table { name, header, rows } => {
                // In the markup, the header is a row as well.
                let rows = rows.saturating_sub(u64::from(!header.is_empty()));
                let header: Vec<String> = header.iter().map(|cell| one_line(cell)).collect();
                let header = match header.is_empty() {
                    true => String::new(),
                    false => format!(": {}", header.join(" | ")),
                };
                Some((
                    (2, 0),
                    format!("{name}, {}{header}", counted(&grouped(rows), "row")),
                ))
            }
            ElementKind::Form { name, fields } => {
                Some(((3, 0), format!("{name}: {}", fields.join(", "))))
            }
        }
    }
}

impl Page {
    fn start(&mut self, tag: &StartTag<usize>) {
        let name: &[u8] = &tag.name;
        for (count, (counted, _)) in self.counts.iter_mut().zip(COUNTED) {
            *count += u64::from(name == counted);
        }
        match name {
            b"title" => self.in_title = self.title.is_empty(),
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                let level = usize::from(name[1] - b'0');
                self.heading = self.add(tag, ElementKind::Heading(level, String::new()));
            }
            b"main" | b"nav" | b"header" | b"footer" | b"aside" | b"article" | b"section" => {
                // Landmarks without a name are left out: they are numerous, and headings say more.
                if let Some(name) = named(tag, name == b"main" || name == b"nav") {
                    self.add(tag, ElementKind::Landmark(name));
                }
            }
            b"table" => {
                let kind = ElementKind::Table {
                    name: named(tag, true).unwrap_or_default(),
                    header: Vec::new(),
                    rows: 0,
                };
                let element = self.add(tag, kind);
                self.tables.extend(element);
            }
            b"tr" | b"th" => self.cell(name == b"th"),
            b"form" => {
                let kind = ElementKind::Form {
                    name: named(tag, true).unwrap_or_default(),
                    fields: Vec::new(),
                };
                self.form = self.add(tag, kind);
            }
            b"input" | b"select" | b"textarea" => self.field(tag),
            _ => {}
        }
    }

    fn add(&mut self, tag: &StartTag<usize>, kind: ElementKind) -> Option<usize> {
        if self.elements.len() >= MOST {
            return None;
        }
        self.elements.push(PageElement {
            offset: tag.span.start,
            kind,
        });
        Some(self.elements.len() - 1)
    }

    fn cell(&mut self, is_header: bool) {
        let Some(&at) = self.tables.last() else {
            return;
        };
        if let ElementKind::Table { header, rows, .. } = &mut self.elements[at].kind {
            *rows += u64::from(!is_header);
            // Header cells in later rows name their row.
            self.in_cell = is_header && *rows <= 1 && header.len() < CELLS;
            if self.in_cell {
                header.push(String::new());
            }
        }
    }

    fn field(&mut self, tag: &StartTag<usize>) {
        let name = tag.attributes.get(&b"name"[..]);
        if let (Some(name), Some(at)) = (name, self.form)
            && let ElementKind::Form { fields, .. } = &mut self.elements[at].kind
            && fields.len() < CELLS
        {
            fields.push(one_line(&String::from_utf8_lossy(name)));
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"title" => self.in_title = false,
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => self.heading = None,
            b"th" | b"tr" | b"thead" => self.in_cell = false,
            b"table" => {
                self.tables.pop();
                self.in_cell = false;
            }
            b"form" => self.form = None,
            _ => {}
        }
    }

    fn text(&mut self, text: &[u8]) {
        let at = self.heading.or(self.tables.last().copied());
        let into = match at.map(|at| &mut self.elements[at].kind) {
            _ if self.in_title => Some(&mut self.title),
            Some(ElementKind::Heading(_, into)) => Some(into),
            Some(ElementKind::Table { header, .. }) if self.in_cell => header.last_mut(),
            _ => None,
        };
        if let Some(into) = into
            && into.len() < 4 * TEXT
        {
            let room = text.len().min(4 * TEXT);
            into.push_str(&String::from_utf8_lossy(&text[..room]));
        }
    }
}

/// Returns a tag with its id, label or class, as a CSS selector.
fn named(tag: &StartTag<usize>, always: bool) -> Option<String> {
    let get = |name: &[u8]| {
        let value = tag.attributes.get(name)?;
        let value = one_line(&String::from_utf8_lossy(value));
        (!value.is_empty()).then_some(value)
    };
    let name = String::from_utf8_lossy(&tag.name).into_owned();
    if let Some(id) = get(b"id") {
        return Some(format!("{name}#{id}"));
    }
    if let Some(label) = get(b"aria-label") {
        return Some(format!("{name} \"{label}\""));
    }
    if let (true, Some(class)) = (always, get(b"class")) {
        return Some(format!("{name}.{}", class.replace(' ', ".")));
    }
    always.then_some(name)
}

/// Returns the text on one line, cut if it is long.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut cut: String = line.chars().take(TEXT).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}
