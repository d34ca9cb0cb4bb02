//! Where the rows of a table begin in a text, and what is in them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::{self, Read};

use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, ContentKind, Layout, ReadRange};
use spillgate_http_api::Problem;
use spillgate_lookup::{Artifact, LookupError};

use crate::shown;
use crate::tree::{self, Kind, Level};

/// Most rows that are sorted and filtered.
const ROWS: usize = 1_000_000;

/// Most columns of records.
const COLUMNS: usize = 60;

/// Rows whose members become columns.
const SAMPLE: usize = 200;

/// Bytes of rows that are read at a time.
const BLOCK: u64 = 4 << 20;

/// Maximum bytes of a row. A row is held in memory to find its cells.
const ROW: u64 = 1 << 20;

/// Most bytes of a cell that are kept: more than a table shows.
const CELL: usize = 4 << 10;

/// Bytes of a cell by which rows are sorted.
const KEY: usize = 64;

/// How a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Cells with this between them.
    Separated(u8),
    /// A JSON object, or any JSON value.
    Record,
}

/// The rows of a table. They are read from the text when they are needed.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) columns: Vec<String>,
    /// Where each row begins.
    starts: Vec<u64>,
    /// Where each row ends.
    ends: Ends,
    format: Format,
    /// Whether there are more rows.
    pub(crate) is_cut: bool,
    /// The path of the array whose elements are the rows.
    pub(crate) path: Option<String>,
}

/// Where rows end.
#[derive(Debug)]
enum Ends {
    /// Where the next row begins, and the last one here.
    Next(u64),
    /// After so many bytes each.
    Lengths(Vec<u32>),
}

/// What a row is sorted by. Rows without a value come last.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Number(f64),
    Text(Box<str>),
    None,
}

impl Key {
    fn of(cell: &str) -> Self {
        if cell.is_empty() {
            return Self::None;
        }
        if let Ok(number) = cell.trim().parse::<f64>()
            && !number.is_nan()
        {
            return Self::Number(number);
        }
        let mut end = cell.len().min(KEY);
        while !cell.is_char_boundary(end) {
            end -= 1;
        }
        Self::Text(cell[..end].to_lowercase().into())
    }

    fn compare(&self, other: &Self, down: bool) -> Ordering {
        let order = match (self, other) {
            (Self::None, Self::None) => return Ordering::Equal,
            (Self::None, _) => return Ordering::Greater,
            (_, Self::None) => return Ordering::Less,
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
        };
        if down { order.reverse() } else { order }
    }
}

fn unreadable(error: io::Error) -> Problem {
    Problem::from(&LookupError::from(error))
}

/// Reads a table, and fails in a row that is too long before the row is in memory.
struct RowByRow<'a> {
    bytes: ReadRange<'a>,
    /// The number of bytes that were read.
    read: u64,
    /// Where the row must have ended.
    until: u64,
}

impl Read for RowByRow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.until.saturating_sub(self.read)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let n = self.bytes.read(&mut buffer[..wanted])?;
        self.read += n as u64;
        if left == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(n)
    }
}

/// Returns the beginning of a cell.
fn cut(mut cell: String) -> String {
    if cell.len() > CELL {
        cell.truncate(cell.floor_char_boundary(CELL));
        // What is left should not take the room of the whole.
        cell.shrink_to_fit();
    }
    cell
}

/// Returns the beginning of a cell that may be no UTF-8.
fn cut_bytes(cell: &[u8]) -> String {
    let most = cell.len().min(CELL);
    let text = String::from_utf8_lossy(&cell[..most]);
    match most < cell.len() {
        // A character may have been cut.
        true => text.trim_end_matches('\u{fffd}').to_owned(),
        false => text.into_owned(),
    }
}

impl Sheet {
    /// Finds the rows of an output.
    pub(crate) fn of(artifact: &Artifact) -> Result<Self, Problem> {
        let facts = &artifact.manifest().facts;
        match facts.stats.kind {
            ContentKind::Csv => Self::separated(artifact, b','),
            ContentKind::Tsv => Self::separated(artifact, b'\t'),
            ContentKind::Ndjson => Self::lines(artifact),
            ContentKind::Json => Self::elements(artifact),
            kind => Err(Problem::bad(format!(
                "an output of the kind {kind} is not a table"
            ))),
        }
    }

    fn separated(artifact: &Artifact, delimiter: u8) -> Result<Self, Problem> {
        let source = artifact.view().source();
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(delimiter).flexible(true);
        let mut reader = builder.from_reader(RowByRow {
            bytes: ReadRange::whole(source),
            read: 0,
            until: ROW,
        });
        let wrong = |error: csv::Error, row: usize| match error.kind() {
            csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Problem::bad(format!(
                    "this is not shown as a table: row {row} has more than {}, perhaps because a quotation mark in it has no end",
                    shown::size(ROW)
                ))
            }
            _ => Problem::bad(format!("this is not a table: {error}")),
        };
        let columns = reader.byte_headers().map_err(|error| wrong(error, 0))?;
        let columns = columns.iter().take(COLUMNS);
        let columns = columns.map(cut_bytes).collect();
        let (mut starts, mut record) = (Vec::new(), csv::ByteRecord::new());
        let mut end = reader.position().byte();
        while starts.len() < ROWS {
            reader.get_mut().until = end + ROW;
            let is_row = reader.read_byte_record(&mut record);
            if !is_row.map_err(|error| wrong(error, starts.len() + 1))? {
                break;
            }
            let at = record.position().map_or(end, csv::Position::byte);
            starts.push(at);
            end = reader.position().byte();
        }
        let is_cut = starts.len() == ROWS && end < source.len();
        Ok(Self {
            columns,
            starts,
            ends: Ends::Next(end),
            format: Format::Separated(delimiter),
            is_cut,
            path: None,
        })
    }

    /// Finds the lines that are records.
    fn lines(artifact: &Artifact) -> Result<Self, Problem> {
        let mut lines = artifact.view().lines_from(1).map_err(unreadable)?;
        let (mut starts, mut end, mut is_whole) = (Vec::new(), 0, true);
        let mut columns = Columns::default();
        while let Some((line, bytes)) = lines.next_bytes().map_err(unreadable)? {
            if starts.len() == ROWS {
                break;
            }
            // A long line is several lines of the view.
            if is_whole {
                starts.push(line.start);
            }
            if starts.len() <= SAMPLE && is_whole {
                columns.add(&String::from_utf8_lossy(bytes));
            }
            is_whole = bytes.ends_with(b"\n");
            end = line.end;
        }
        let is_cut = end < artifact.view().bytes();
        Ok(Self {
            columns: columns.names(),
            starts,
            ends: Ends::Next(end),
            format: Format::Record,
            is_cut,
            path: None,
        })
    }

    /// Finds the elements of the array with the most elements, at the root or one level below.
    fn elements(artifact: &Artifact) -> Result<Self, Problem> {
        let text = tree::document(artifact)?;
        let facts = &artifact.manifest().facts.view;
        let prelude = match facts.layout {
            Layout::Json => facts.prelude,
            _ => 0,
        };
        let wrong = |error| Problem::bad(format!("this is not JSON: {error}"));
        let (array, path) = match tree::each_member(&text, &mut |_, _| {}).map_err(wrong)? {
            Kind::Array => (text.as_str(), ".[]".to_owned()),
            Kind::Object => longest(&text).map_err(wrong)?,
            Kind::Leaf => ("", String::new()),
        };
        let level = Level::of(array, 0, ROWS).map_err(wrong)?;
        if level.total == 0 {
            return Err(Problem::bad(
                "there is no array at the root of this document or one level below",
            ));
        }
        let mut columns = Columns::default();
        for (_, element) in level.members.iter().take(SAMPLE) {
            columns.add(element.get());
        }
        let is_cut = level.total > ROWS;
        let (mut starts, mut lengths) = (Vec::new(), Vec::new());
        for (_, element) in &level.members {
            let element = element.get();
            // The elements are parts of `text`.
            let at = element.as_ptr() as usize - text.as_ptr() as usize;
            starts.push(prelude + at as u64);
            lengths.push(u32::try_from(element.len()).unwrap_or(u32::MAX));
        }
        Ok(Self {
            columns: columns.names(),
            starts,
            ends: Ends::Lengths(lengths),
            format: Format::Record,
            is_cut,
            path: Some(path),
        })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.starts.len()
    }

    fn end(&self, row: usize) -> u64 {
        match &self.ends {
            Ends::Next(last) => self.starts.get(row + 1).copied().unwrap_or(*last),
            Ends::Lengths(lengths) => self.starts[row] + u64::from(lengths[row]),
        }
    }

    /// Returns the beginnings of the cells of a row.
    pub(crate) fn cells(
        &self,
        source: &dyn ByteSource,
        row: usize,
    ) -> Result<Vec<String>, Problem> {
        let (start, end) = (self.starts[row], self.end(row));
        if end.saturating_sub(start) > ROW {
            let size = shown::size(end - start);
            return Ok(vec![format!(
                "(a row of {size}, which is too long for a table)"
            )]);
        }
        let bytes = source.bytes(start, end).map_err(unreadable)?;
        Ok(self.cells_of(&bytes))
    }

    fn cells_of(&self, bytes: &[u8]) -> Vec<String> {
        match self.format {
            Format::Separated(delimiter) => {
                let record = separated(bytes, delimiter);
                let cells = record.iter().take(self.columns.len());
                cells.map(cut_bytes).collect()
            }
            Format::Record => {
                let text = String::from_utf8_lossy(bytes);
                let mut cells = vec![None; self.columns.len()];
                let read = each_cell(text.trim(), &mut |key, value| {
                    let column = self.columns.iter().position(|name| *name == key);
                    if let Some(column) = column
                        && cells[column].is_none()
                    {
                        cells[column] = Some(cell(value));
                    }
                });
                if !read {
                    cells.fill(None);
                    cells[0] = Some(cell(text.trim()));
                }
                cells.into_iter().map(Option::unwrap_or_default).collect()
            }
        }
    }

    /// Returns the beginning of one cell of a row.
    fn cell_of(&self, bytes: &[u8], column: usize) -> String {
        match self.format {
            Format::Separated(delimiter) => {
                let record = separated(bytes, delimiter);
                cut_bytes(record.get(column).unwrap_or_default())
            }
            Format::Record => {
                let text = String::from_utf8_lossy(bytes);
                let mut found = None;
                let read = each_cell(text.trim(), &mut |key, value| {
                    if found.is_none() && key == self.columns[column] {
                        found = Some(value);
                    }
                });
                if !read {
                    found = (column == 0).then_some(text.trim());
                }
                found.map(cell).unwrap_or_default()
            }
        }
    }

    /// Returns the rows that have the text `filter` in them, in the order of a column.
    pub(crate) fn order(
        &self,
        source: &dyn ByteSource,
        sort: Option<(usize, bool)>,
        filter: Option<&str>,
    ) -> Result<Vec<u32>, Problem> {
        let mut keyed: Vec<(Key, u32)> = Vec::new();
        self.each(source, &mut |row, bytes| {
            let lets = |filter: &str| {
                String::from_utf8_lossy(bytes)
                    .to_lowercase()
                    .contains(filter)
            };
            if filter.is_none_or(lets) {
                let key = sort.map_or(Key::None, |(column, _)| {
                    Key::of(&self.cell_of(bytes, column))
                });
                keyed.push((key, row));
            }
        })?;
        if let Some((_, down)) = sort {
            keyed.sort_by(|(one, _), (other, _)| one.compare(other, down));
        }
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// Calls `each` for each row, in the order of the text.
    fn each(
        &self,
        source: &dyn ByteSource,
        each: &mut dyn FnMut(u32, &[u8]),
    ) -> Result<(), Problem> {
        let mut row = 0;
        while row < self.rows() {
            let start = self.starts[row];
            let mut last = row;
            while last + 1 < self.rows() && self.end(last + 1) - start <= BLOCK {
                last += 1;
            }
            // Of a row that is too long, only the beginning counts.
            let end = self.end(last).min(start + BLOCK);
            let block = source.bytes(start, end).map_err(unreadable)?;
            for one in row..=last {
                let place = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
                let (from, to) = (place(self.starts[one]), place(self.end(one)));
                let bytes = block.get(from..to.min(block.len())).unwrap_or_default();
                each(u32::try_from(one).unwrap_or(u32::MAX), bytes);
            }
            row = last + 1;
        }
        Ok(())
    }
}

/// Returns the cells of one row.
fn separated(bytes: &[u8], delimiter: u8) -> csv::ByteRecord {
    let mut builder = csv::ReaderBuilder::new();
    builder
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .buffer_capacity(512);
    let mut record = csv::ByteRecord::new();
    // A row that was found can be read again; an empty one has no cells.
    drop(builder.from_reader(bytes).read_byte_record(&mut record));
    record
}

/// Calls `each` for each member of a record; returns `false` if the text is none.
fn each_cell<'a>(text: &'a str, each: &mut dyn FnMut(Cow<'a, str>, &'a str)) -> bool {
    if !text.starts_with('{') {
        return false;
    }
    tree::each_member(text, &mut |key, value: &RawValue| each(key, value.get())).is_ok()
}

/// Returns the beginning of a value as a text: a string without quotes, other values as they are
/// written.
fn cell(value: &str) -> String {
    match serde_json::from_str::<String>(value) {
        Ok(string) => cut(string),
        Err(_) => value[..value.floor_char_boundary(CELL)].to_owned(),
    }
}

/// Returns the longest array among the members of an object, and its path.
fn longest(text: &str) -> Result<(&str, String), serde_json::Error> {
    let (mut best, mut most, mut wrong) = (("", String::new()), 0, None);
    tree::each_member(text, &mut |key, value| match Level::of(value.get(), 0, 0) {
        Ok(level) if level.kind == Kind::Array && level.total > most => {
            best = (value.get(), format!(".{key}[]"));
            most = level.total;
        }
        Ok(_) => {}
        Err(error) => wrong = Some(error),
    })?;
    match wrong {
        Some(error) => Err(error),
        None => Ok(best),
    }
}

/// The names of the members of records, in the order in which they first occur.
#[derive(Debug, Default)]
struct Columns {
    known: HashMap<String, usize>,
}

impl Columns {
    fn add(&mut self, text: &str) {
        let mut keys = Vec::new();
        let read = each_cell(text.trim(), &mut |key, _| {
            if keys.len() < COLUMNS && key.len() <= CELL && !keys.contains(&key) {
                keys.push(key);
            }
        });
        for key in keys.into_iter().filter(|_| read) {
            let next = self.known.len();
            if next < COLUMNS && !self.known.contains_key(key.as_ref()) {
                self.known.insert(key.into_owned(), next);
            }
        }
    }

    /// Returns the names; `value` if the rows are no objects.
    fn names(self) -> Vec<String> {
        let mut names: Vec<_> = self.known.into_iter().collect();
        names.sort_by_key(|(_, at)| *at);
        match names.is_empty() {
            true => vec!["value".to_owned()],
            false => names.into_iter().map(|(name, _)| name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_before_texts_and_nothing_comes_last() {
        let mut cells = ["10", "b", "", "9.5", "A", "-3", "nan"];
        let sorted = |cells: &mut [&'static str], down| {
            cells.sort_by(|one, other| Key::of(one).compare(&Key::of(other), down));
        };
        sorted(&mut cells, false);
        assert_eq!(cells, ["-3", "9.5", "10", "A", "b", "nan", ""]);
        sorted(&mut cells, true);
        assert_eq!(cells, ["nan", "b", "A", "10", "9.5", "-3", ""]);
    }
}
