//! Reads the tables of an `SQLite` database from its schema.
//!
//! The schema is a table whose root is the first page (`https://sqlite.org/fileformat2.html`).

use std::io;

use spillgate_artifact::ByteSource;

use super::{LINES, integer};
use crate::parts::{counted, grouped};
use crate::{EntryKind, OutlineEntry, note};

/// Maximum number of pages of the schema that are read.
const PAGES: usize = 256;
/// Size of the file header, in bytes. The first page begins with it.
const HEADER: usize = 100;
/// The numbers of the kinds of table pages.
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;
/// Maximum number of bytes that are read of a statement that creates a table.
const STATEMENT: usize = 4000;

/// Returns the tables with the statements that create them; `None` if the header cannot be read.
pub(super) fn of(raw: &dyn ByteSource) -> io::Result<Option<Vec<OutlineEntry>>> {
    let head = raw.bytes(0, HEADER as u64)?;
    let Some(size) = integer(&head, 16).map(u16::from_be_bytes) else {
        return Ok(None);
    };
    let size: u64 = match size {
        1 => 65_536,
        size => u64::from(size),
    };
    if size < 512 {
        return Ok(None);
    }
    // Some bytes at the end of each page may be reserved.
    let reserved = head.get(20).copied().unwrap_or(0);
    let mut schema = Schema {
        usable: size - u64::from(reserved),
        ..Schema::default()
    };
    let mut open = vec![1u64];
    let mut read = 0;
    while let Some(page) = open.pop() {
        let start = (page - 1).saturating_mul(size);
        if start >= raw.len() || read == PAGES {
            continue;
        }
        read += 1;
        let bytes = raw.bytes(start, start + size)?;
        let children = schema.page(&bytes, if page == 1 { HEADER } else { 0 });
        let room = PAGES.saturating_sub(open.len());
        open.extend(children.unwrap_or_default().into_iter().take(room).rev());
    }
    Ok(Some(schema.render(raw.len() / size)))
}

#[derive(Default)]
struct Schema {
    /// Number of bytes of a page that are used.
    usable: u64,
    tables: Vec<(String, String)>,
    /// The numbers of tables, indexes, views and triggers.
    counts: [u64; 4],
}

const KINDS: [&str; 4] = ["table", "index", "view", "trigger"];

impl Schema {
    /// Reads a page, and returns the pages below it.
    fn page(&mut self, bytes: &[u8], at: usize) -> Option<Vec<u64>> {
        let kind = *bytes.get(at)?;
        let cells = usize::from(u16::from_be_bytes(integer(bytes, at + 3)?));
        let header = if kind == INTERIOR { 12 } else { 8 };
        let mut children = Vec::new();
        for cell in 0..cells {
            let place = integer(bytes, at + header + 2 * cell).map(u16::from_be_bytes);
            let Some(place) = place.map(usize::from) else {
                break;
            };
            match kind {
                INTERIOR => {
                    let child = integer(bytes, place).map(u32::from_be_bytes);
                    children.extend(child.map(u64::from).filter(|&child| child > 0));
                }
                LEAF => {
                    let _ = self.cell(bytes.get(place..)?);
                }
                _ => return None,
            }
        }
        if kind == INTERIOR {
            let last = integer(bytes, at + 8).map(u32::from_be_bytes);
            children.extend(last.map(u64::from).filter(|&child| child > 0));
        }
        Some(children)
    }

    /// Reads a row of the schema: type, name, table, root page, statement. A long statement
    /// continues on other pages, but its part on this page is enough.
    fn cell(&mut self, cell: &[u8]) -> Option<()> {
        let (payload, rest) = varint(cell)?;
        let (_, record) = varint(rest)?;
        let local = usize::try_from(self.local(payload)).ok()?;
        let record = &record[..record.len().min(local)];
        let (length, mut types) = varint(record)?;
        let mut at = usize::try_from(length).ok()?;
        let mut fields: [&[u8]; 5] = [b""; 5];
        for field in &mut fields {
            let (kind, rest) = varint(types)?;
            types = rest;
            let size = match kind {
                0..=4 => usize::try_from(kind).ok()?,
                5 => 6,
                6 | 7 => 8,
                8..=11 => 0,
                kind => usize::try_from((kind - 12) / 2).ok()?,
            };
            let from = at.min(record.len());
            at = at.checked_add(size)?;
            *field = &record[from..at.min(record.len())];
        }
        let kind = KINDS.iter().position(|kind| kind.as_bytes() == fields[0])?;
        self.counts[kind] += 1;
        if kind % 2 == 0 && self.tables.len() < LINES {
            let text = |field: &[u8]| {
                String::from_utf8_lossy(&field[..field.len().min(STATEMENT)]).into_owned()
            };
            let view = if KINDS[kind] == "view" { "view " } else { "" };
            let name = format!("{view}{}", text(fields[1]));
            self.tables.push((name, text(fields[4])));
        }
        Some(())
    }

    /// Returns how many bytes of a row are in its page, by the rule of the format.
    fn local(&self, payload: u64) -> u64 {
        let most = self.usable.saturating_sub(35);
        if payload <= most {
            return payload;
        }
        let least = (self.usable.saturating_sub(12) * 32 / 255).saturating_sub(23);
        let some = least + (payload - least.min(payload)) % self.usable.saturating_sub(4).max(1);
        if some <= most { some } else { least }
    }

    fn render(self, pages: u64) -> Vec<OutlineEntry> {
        let counts = KINDS.iter().zip(self.counts);
        let counts = counts.filter(|&(_, count)| count > 0);
        let counts: Vec<String> = counts
            .map(|(kind, count)| match (*kind, count) {
                ("index", 2..) => format!("{} indexes", grouped(count)),
                _ => counted(&grouped(count), kind),
            })
            .collect();
        let counts = match counts.is_empty() {
            true => "no tables".to_owned(),
            false => counts.join(", "),
        };
        let pages = counted(&grouped(pages), "page");
        let mut shown = vec![note(format!("SQLite database: {counts}; {pages}"))];
        for (at, (name, statement)) in self.tables.into_iter().enumerate() {
            let text = format!("{name}{}", columns(&statement));
            shown.push(OutlineEntry::new(1 + at, 0, EntryKind::Place, text));
        }
        shown
    }
}

/// Returns the columns of the statement that creates a table, on one line.
fn columns(statement: &str) -> String {
    let Some(from) = statement.find('(') else {
        return String::new();
    };
    let words: Vec<&str> = statement[from..].split_whitespace().collect();
    // The rest of a long statement is on other pages.
    let more = if statement.ends_with(')') { "" } else { "…" };
    words.join(" ") + more
}

/// Reads an integer of variable length. Returns it and the bytes after it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for at in 0..9 {
        let byte = *bytes.get(at)?;
        if at == 8 {
            return Some(((value << 8) | u64::from(byte), &bytes[9..]));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
