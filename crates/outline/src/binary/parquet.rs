//! Reads the columns and the number of rows of a Parquet table from its footer.
//!
//! The footer is a Thrift structure in the compact protocol
//! (`https://parquet.apache.org/docs/file-format/metadata/`). Fields that are not shown are skipped.

use std::io;

use spillgate_artifact::ByteSource;

use super::LINES;
use crate::parts::{counted, grouped};
use crate::{EntryKind, OutlineEntry, note};

/// Maximum size of a footer, in bytes. The footer of a table with many row groups has several
/// megabytes.
const FOOTER: u64 = 16 << 20;
/// Number of bytes after the footer: the length of the footer and a mark.
const END: u64 = 8;
/// Maximum nesting depth of a structure that is skipped.
const DEPTH: usize = 32;
/// Physical types by their number.
const TYPES: [&str; 8] = [
    "boolean",
    "int32",
    "int64",
    "int96",
    "float",
    "double",
    "bytes",
    "fixed bytes",
];
/// Types of texts, times and numbers by the number of the converted type.
const CONVERTED: [(u64, &str); 19] = [
    (0, "text"),
    (1, "map"),
    (3, "list"),
    (4, "enum"),
    (5, "decimal"),
    (6, "date"),
    (7, "time"),
    (8, "time"),
    (9, "timestamp"),
    (10, "timestamp"),
    (11, "uint8"),
    (12, "uint16"),
    (13, "uint32"),
    (14, "uint64"),
    (15, "int8"),
    (16, "int16"),
    (19, "JSON"),
    (20, "BSON"),
    (21, "interval"),
];
/// The same types by the number of the logical type, which newer files contain. Some files do not
/// contain the converted type.
const LOGICAL: [(u64, &str); 12] = [
    (1, "text"),
    (2, "map"),
    (3, "list"),
    (4, "enum"),
    (5, "decimal"),
    (6, "date"),
    (7, "time"),
    (8, "timestamp"),
    (12, "JSON"),
    (13, "BSON"),
    (14, "UUID"),
    (15, "float16"),
];
/// The numbers of repetition types: a value may be missing, or there may be several values.
const OPTIONAL: u64 = 1;
const REPEATED: u64 = 2;

/// Returns the columns; `None` if the footer cannot be read.
pub(super) fn of(raw: &dyn ByteSource) -> io::Result<Option<Vec<OutlineEntry>>> {
    let Some(end) = raw.len().checked_sub(END) else {
        return Ok(None);
    };
    let last = raw.bytes(end, raw.len())?;
    let length = u64::from(u32::from_le_bytes([last[0], last[1], last[2], last[3]]));
    if !last.ends_with(b"PAR1") || length > FOOTER || length > end {
        return Ok(None);
    }
    let footer = raw.bytes(end - length, end)?;
    Ok(Footer::of(&footer).map(Footer::render))
}

#[derive(Default)]
struct Footer {
    rows: u64,
    by: String,
    columns: Vec<Column>,
    count: u64,
}

#[derive(Default)]
struct Column {
    name: String,
    physical: Option<u64>,
    converted: Option<u64>,
    logical: Option<u64>,
    repetition: u64,
    children: u64,
}

impl Footer {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut footer = Self::default();
        let mut reader = Compact { bytes };
        let mut id = 0;
        while let Some(kind) = reader.field(&mut id)? {
            match (id, kind) {
                (2, LIST) => {
                    let (count, _) = reader.list()?;
                    footer.count = count.saturating_sub(1); // the first is the root
                    for at in 0..count {
                        let column = Column::of(&mut reader)?;
                        if at > 0 && footer.columns.len() < LINES {
                            footer.columns.push(column);
                        }
                    }
                }
                (3, I64) => footer.rows = reader.integer()?,
                (6, BINARY) => footer.by = reader.text()?,
                _ => reader.skip(kind, DEPTH)?,
            }
        }
        Some(footer)
    }

    fn render(self) -> Vec<OutlineEntry> {
        let by = match self.by.is_empty() {
            true => String::new(),
            false => format!("; made by {}", self.by),
        };
        let mut shown = vec![note(format!(
            "Parquet table: {}, {}{by}",
            counted(&grouped(self.rows), "row"),
            counted(&grouped(self.count), "column")
        ))];
        // The children of a group follow it.
        let mut open: Vec<u64> = Vec::new();
        for (at, column) in self.columns.into_iter().enumerate() {
            let depth = open.len().min(DEPTH);
            shown.push(OutlineEntry::new(
                1 + at,
                depth,
                EntryKind::Place,
                column.described(),
            ));
            if let Some(left) = open.last_mut() {
                *left = left.saturating_sub(1);
            }
            if column.children > 0 && open.len() < DEPTH {
                open.push(column.children);
            }
            while open.last() == Some(&0) {
                open.pop();
            }
        }
        shown
    }
}

impl Column {
    fn of(reader: &mut Compact<'_>) -> Option<Self> {
        let mut column = Self::default();
        let mut id = 0;
        while let Some(kind) = reader.field(&mut id)? {
            match (id, kind) {
                (1, I32) => column.physical = Some(reader.integer()?),
                (3, I32) => column.repetition = reader.integer()?,
                (4, BINARY) => column.name = reader.text()?,
                (5, I32) => column.children = reader.integer()?,
                (6, I32) => column.converted = Some(reader.integer()?),
                (10, STRUCT) => {
                    let mut id = 0;
                    while let Some(kind) = reader.field(&mut id)? {
                        column.logical = Some(id);
                        reader.skip(kind, DEPTH)?;
                    }
                }
                _ => reader.skip(kind, DEPTH)?,
            }
        }
        Some(column)
    }

    fn described(&self) -> String {
        let named = |names: &'static [(u64, &'static str)], number: Option<u64>| {
            names.iter().find(|(known, _)| Some(*known) == number)
        };
        let converted = named(&CONVERTED, self.converted).or_else(|| named(&LOGICAL, self.logical));
        let physical = self.physical.and_then(|kind| usize::try_from(kind).ok());
        let kind = match (converted, physical.and_then(|kind| TYPES.get(kind))) {
            (Some((_, name)), _) | (None, Some(name)) => name,
            (None, None) => "group",
        };
        let repetition = match self.repetition {
            OPTIONAL => ", optional",
            REPEATED => ", repeated",
            _ => "",
        };
        format!("{}: {kind}{repetition}", self.name)
    }
}

/// Types of the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

struct Compact<'b> {
    bytes: &'b [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn take(&mut self, length: u64) -> Option<&[u8]> {
        let length = usize::try_from(length).ok()?;
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads an integer that is not negative; a negative one counts as 0.
    fn integer(&mut self) -> Option<u64> {
        let zigzag = self.varint()?;
        Some(if zigzag & 1 == 0 { zigzag >> 1 } else { 0 })
    }

    fn text(&mut self) -> Option<String> {
        let length = self.varint()?;
        let bytes = self.take(length)?;
        Some(String::from_utf8_lossy(&bytes[..bytes.len().min(LINES)]).into_owned())
    }

    /// Reads the type of the next field and sets its id; `Some(None)` at the end of a structure.
    #[expect(clippy::option_option, reason = "the end is not a fault")]
    fn field(&mut self, id: &mut u64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *id = match byte >> 4 {
            0 => self.integer()?,
            more => *id + u64::from(more),
        };
        Some(Some(byte & 0x0f))
    }

    /// Reads the length of a list and the type of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Some((count, byte & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 => {}
            3 => self.take(1).map(|_| ())?,
            4..=6 => self.varint().map(|_| ())?,
            7 => self.take(8).map(|_| ())?,
            BINARY => {
                let length = self.varint()?;
                self.take(length)?;
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                for _ in 0..count {
                    self.skip(element(kind), depth)?;
                }
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.skip(element(kinds >> 4), depth)?;
                    self.skip(element(kinds & 0x0f), depth)?;
                }
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// Returns the type of a list element. In a list a boolean takes one byte, as a field it takes
/// none.
fn element(kind: u8) -> u8 {
    if kind <= 2 { 3 } else { kind }
}
