//! Splits the data into the documents on which a filter runs: JSON values, lines, or rows of a
//! table.

use jaq_json::{Val, read};
use memchr::memchr;
use spillgate_artifact::Layout;
use spillgate_text::line_end;

use super::table::Table;
use super::text::too_deep;
use crate::protocol::Format;

/// A document of the data.
pub(crate) enum Document<'a> {
    /// A line within the depth limit; it may or may not be JSON.
    Text(&'a [u8]),
    /// A parsed value.
    Value(Val),
    /// Data that is not a document, and the reason.
    Bad(String),
}

/// The documents of the data, in order. Unreadable documents are counted and left out.
pub(crate) struct Documents<'a> {
    rest: Box<dyn Iterator<Item = Document<'a>> + 'a>,
    /// Number of documents so far, including unreadable ones.
    pub(crate) seen: u64,
    /// Number of documents that could not be read.
    pub(crate) bad: u64,
    /// The number of the first unreadable document, counted from 1, and what is wrong with it.
    pub(crate) first_bad: Option<(u64, String)>,
}

impl<'a> Documents<'a> {
    /// Splits `data` into documents. Lines that nest deeper than `depth` count as unreadable. If
    /// the data is a table, `table` contains its header and the types of its columns.
    pub(crate) fn new(
        data: &'a [u8],
        format: Format,
        table: Option<&'a Table<'a>>,
        depth: usize,
    ) -> Self {
        let rest: Box<dyn Iterator<Item = Document<'a>> + 'a> = match format {
            Format::Json => Box::new(values(data)),
            Format::Ndjson => Box::new(lines(data, depth)),
            Format::Table { .. } => {
                let rows = table.into_iter().flat_map(Table::rows);
                Box::new(rows.map(|row| row.map_or_else(Document::Bad, Document::Value)))
            }
            Format::Lines { layout } => Box::new(view_lines(data, layout)),
        };
        Self {
            rest,
            seen: 0,
            bad: 0,
            first_bad: None,
        }
    }

    /// Returns the next document, unparsed if possible.
    pub(crate) fn next_document(&mut self) -> Option<Document<'a>> {
        loop {
            self.seen += 1;
            match self.rest.next() {
                Some(Document::Bad(why)) => self.is_bad(why),
                Some(document) => return Some(document),
                None => {
                    self.seen -= 1;
                    return None;
                }
            }
        }
    }

    /// Returns the next document, parsed.
    pub(crate) fn next_value(&mut self) -> Option<Val> {
        loop {
            match self.next_document()? {
                Document::Value(value) => return Some(value),
                Document::Text(text) => match read::parse_single(text) {
                    Ok(value) => return Some(value),
                    Err(error) => self.is_bad(error.to_string()),
                },
                Document::Bad(_) => {}
            }
        }
    }

    /// Records that the latest document could not be read.
    pub(crate) fn is_bad(&mut self, why: String) {
        self.bad += 1;
        self.first_bad.get_or_insert((self.seen, why));
    }
}

/// Returns the values of a text in order. The first error ends the iteration.
fn values(data: &[u8]) -> impl Iterator<Item = Document<'_>> {
    let mut values = Some(read::parse_many(data));
    std::iter::from_fn(move || match values.as_mut()?.next()? {
        Ok(value) => Some(Document::Value(value)),
        Err(error) => {
            values = None;
            Some(Document::Bad(error.to_string()))
        }
    })
}

/// Returns the lines that are not blank.
fn lines(data: &[u8], depth: usize) -> impl Iterator<Item = Document<'_>> {
    let mut rest = data;
    let lines = std::iter::from_fn(move || {
        let end = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then(|| line.trim_ascii())
    });
    let document = move |line| match too_deep(line, depth) {
        Some(_) => Document::Bad(format!("nests deeper than {depth} levels")),
        None => Document::Text(line),
    };
    lines.filter(|line| !line.is_empty()).map(document)
}

/// Returns view lines as strings, without their newlines.
fn view_lines(data: &[u8], layout: Layout) -> impl Iterator<Item = Document<'_>> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let end = line_end(rest, layout, true)?;
        let (line, after) = rest.split_at(end);
        rest = after;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(Document::Value(Val::utf8_str(line.to_vec())))
    })
}
