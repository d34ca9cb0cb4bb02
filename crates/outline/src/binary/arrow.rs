//! Reads the columns and the number of rows of an Arrow table (Feather, version 2) from its footer.
//!
//! The footer and the messages are `FlatBuffers`
//! (`https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format`). Existing libraries use
//! `unsafe` or depend on all of Arrow, but only a few fields are needed here.

use std::io;

use spillgate_artifact::ByteSource;

use super::{LINES, integer};
use crate::parts::{counted, grouped};
use crate::{EntryKind, OutlineEntry, note};

/// Maximum size of a footer, in bytes.
const FOOTER: u64 = 16 << 20;
/// Number of bytes that are read of the message before a batch of rows. They contain the tables of
/// the message, which precede its lists.
const MESSAGE: u64 = 4 << 10;
/// The mark at the end of the file.
const MARK: &[u8] = b"ARROW1";
/// Number of bytes after the footer: the length of the footer and the mark.
const END: u64 = 4 + MARK.len() as u64;
/// Maximum number of batches whose rows are counted.
const BATCHES: usize = 4096;
/// Size of a batch's entry in the footer, in bytes.
const BLOCK: usize = 24;
/// Maximum number of levels of nested columns.
const DEPTH: usize = 8;

/// Returns the columns; `None` if the footer cannot be read.
pub(super) fn of(raw: &dyn ByteSource) -> io::Result<Option<Vec<OutlineEntry>>> {
    let Some(end) = raw.len().checked_sub(END) else {
        return Ok(None);
    };
    let last = raw.bytes(end, raw.len())?;
    let length = u64::from(u32::from_le_bytes([last[0], last[1], last[2], last[3]]));
    if !last.ends_with(MARK) || length > FOOTER || length > end {
        return Ok(None);
    }
    let bytes = raw.bytes(end - length, end)?;
    let Some((footer, schema)) = Table::root(&bytes).and_then(|footer| {
        let schema = footer.table(1)?;
        Some((footer, schema))
    }) else {
        return Ok(None);
    };
    let mut columns = Columns::default();
    columns.add(schema, 1, 0);
    let batches = footer.vector(3).unwrap_or_default();
    let mut rows = 0u64;
    for at in 0..batches.count.min(BATCHES) {
        rows = rows.saturating_add(rows_of(raw, &batches, at)?.unwrap_or(0));
    }
    let rows = match batches.count > BATCHES {
        true => format!("more than {} rows", grouped(rows)),
        false => counted(&grouped(rows), "row"),
    };
    let batches = match batches.count {
        0 | 1 => String::new(),
        count => format!(" in {} batches", grouped(count as u64)),
    };
    let mut shown = vec![note(format!(
        "Arrow table: {rows}{batches}, {}",
        counted(&grouped(columns.count), "column")
    ))];
    let lines = columns.lines.into_iter().enumerate();
    shown.extend(
        lines.map(|(at, (depth, text))| OutlineEntry::new(1 + at, depth, EntryKind::Place, text)),
    );
    Ok(Some(shown))
}

/// Returns the number of rows of a batch.
fn rows_of(raw: &dyn ByteSource, batches: &Vector<'_>, at: usize) -> io::Result<Option<u64>> {
    let place = integer(batches.bytes, batches.at + at * BLOCK).map(u64::from_le_bytes);
    let Some(place) = place.filter(|&place| place < raw.len()) else {
        return Ok(None);
    };
    let bytes = raw.bytes(place, raw.len().min(place + MESSAGE))?;
    // The length precedes the message. Since version 0.15, a mark precedes the length.
    let skipped = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = bytes.get(skipped..).and_then(Table::root);
    let rows = message
        .and_then(|message| message.table(2))
        .and_then(|batch| batch.value(0))
        .map(i64::from_le_bytes);
    Ok(rows.and_then(|rows| u64::try_from(rows).ok()))
}

#[derive(Default)]
struct Columns {
    /// Number of columns of the first level.
    count: u64,
    lines: Vec<(usize, String)>,
}

impl Columns {
    /// Adds the columns that a field of a table lists.
    fn add(&mut self, table: Table<'_>, field: usize, depth: usize) {
        let listed = table.vector(field).unwrap_or_default();
        if depth == 0 {
            self.count = listed.count as u64;
        }
        for at in 0..listed.count.min(LINES) {
            if self.lines.len() == LINES || depth == DEPTH {
                return;
            }
            let Some(column) = listed.table(at) else {
                continue;
            };
            self.lines.push((depth, described(column)));
            self.add(column, 5, depth + 1);
        }
    }
}

/// Returns the name and the type of a column.
fn described(column: Table<'_>) -> String {
    let name = column.text(0).unwrap_or_default();
    let number = column.value(2).map_or(0, u8::from_le_bytes);
    let details = column.table(3);
    let small = |field| details.and_then(|details| details.value(field));
    let small = |field| small(field).map_or(0, i16::from_le_bytes);
    let whole = |field| details.and_then(|details| details.value(field));
    let whole = |field| whole(field).map_or(0, i32::from_le_bytes);
    let kind = match number {
        1 => "null".to_owned(),
        2 => {
            let is_signed = details.and_then(|details| details.value(1));
            let sign = if is_signed == Some([1]) { "" } else { "u" };
            format!("{sign}int{}", whole(0))
        }
        3 => ["float16", "float", "double"]
            .get(usize::try_from(small(0)).unwrap_or(0))
            .map_or("float", |name| name)
            .to_owned(),
        4 | 19 | 23 => "bytes".to_owned(),
        5 | 20 | 24 => "text".to_owned(),
        6 => "boolean".to_owned(),
        7 => format!("decimal({}, {})", whole(0), whole(1)),
        8 => "date".to_owned(),
        9 => "time".to_owned(),
        10 => match details.and_then(|details| details.text(1)) {
            Some(zone) => format!("timestamp ({zone})"),
            None => "timestamp".to_owned(),
        },
        11 => "interval".to_owned(),
        12 | 21 | 25 | 26 => "list".to_owned(),
        13 => "group".to_owned(),
        14 => "union".to_owned(),
        15 => "fixed bytes".to_owned(),
        16 => "fixed list".to_owned(),
        17 => "map".to_owned(),
        18 => "duration".to_owned(),
        22 => "run-end encoded".to_owned(),
        _ => "unknown type".to_owned(),
    };
    let dictionary = column.table(4).map_or("", |_| ", dictionary");
    let optional = match column.value(1) {
        Some([1]) => ", optional",
        _ => "",
    };
    format!("{name}: {kind}{dictionary}{optional}")
}

/// A table of a `FlatBuffer`. A list of offsets shows where its fields are.
#[derive(Clone, Copy)]
struct Table<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Table<'b> {
    fn root(bytes: &'b [u8]) -> Option<Self> {
        let at = target(bytes, 0)?;
        Some(Self { bytes, at })
    }

    /// Returns the offset of a field; `None` if the field has its default value.
    fn field(&self, field: usize) -> Option<usize> {
        let back = i32::from_le_bytes(integer(self.bytes, self.at)?);
        let list = i64::try_from(self.at).ok()? - i64::from(back);
        let list = usize::try_from(list).ok()?;
        let size = usize::from(u16::from_le_bytes(integer(self.bytes, list)?));
        let entry = 4 + 2 * field;
        if entry + 2 > size {
            return None;
        }
        let offset = u16::from_le_bytes(integer(self.bytes, list.checked_add(entry)?)?);
        (offset > 0).then(|| self.at + usize::from(offset))
    }

    fn value<const N: usize>(&self, field: usize) -> Option<[u8; N]> {
        integer(self.bytes, self.field(field)?)
    }

    fn table(&self, field: usize) -> Option<Self> {
        let at = target(self.bytes, self.field(field)?)?;
        Some(Self { at, ..*self })
    }

    fn vector(&self, field: usize) -> Option<Vector<'b>> {
        let at = target(self.bytes, self.field(field)?)?;
        let count = u32::from_le_bytes(integer(self.bytes, at)?);
        Some(Vector {
            bytes: self.bytes,
            at: at + 4,
            // Each element has at least one byte.
            count: usize::try_from(count).ok()?.min(self.bytes.len()),
        })
    }

    /// Returns a text, cut to a maximum length.
    fn text(&self, field: usize) -> Option<String> {
        let vector = self.vector(field)?;
        let end = vector.at.checked_add(vector.count.min(LINES))?;
        let bytes = self.bytes.get(vector.at..end)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// A list of a `FlatBuffer`.
#[derive(Clone, Copy, Default)]
struct Vector<'b> {
    bytes: &'b [u8],
    at: usize,
    count: usize,
}

impl<'b> Vector<'b> {
    fn table(&self, index: usize) -> Option<Table<'b>> {
        let at = target(self.bytes, self.at.checked_add(4 * index)?)?;
        Some(Table {
            bytes: self.bytes,
            at,
        })
    }
}

/// Reads the relative offset at `at` and returns the position to which it refers.
fn target(bytes: &[u8], at: usize) -> Option<usize> {
    let offset = u32::from_le_bytes(integer(bytes, at)?);
    at.checked_add(usize::try_from(offset).ok()?)
}
