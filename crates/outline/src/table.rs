//! Outlines a table by its columns and its number of rows.
//!
//! Each part is first parsed as if it began with a new row. If this is wrong (a quoted field
//! continues across the boundary), the part is parsed again, in the state in which the part before
//! it ended.

use std::io;

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};
use spillgate_artifact::ByteSource;

use crate::parts::{SamplePlan, counted, grouped};
use crate::values::{Range, Values};
use crate::{EntryKind, OutlineEntry, note};

/// Maximum number of columns that are distinguished.
const COLUMNS: usize = 200;
/// Maximum number of bytes of a field that are examined.
const FIELD: usize = 512;
/// Maximum number of values that are named without counts.
const NAMED: usize = 4;
/// Maximum number of values that are named with their counts.
const COUNTED: usize = 6;
/// Maximum number of characters of a named value.
const NAMED_CHARS: usize = 24;
/// Maximum number of characters of a column name. A query needs the whole name, so it is cut only
/// if it would fill the line.
const NAME_CHARS: usize = 120;

/// Returns the numbers of rows and columns, then a line per column.
pub(crate) fn outline(
    source: &dyn ByteSource,
    plan: &SamplePlan,
    delimiter: u8,
) -> io::Result<Vec<OutlineEntry>> {
    Ok(read(source, plan, delimiter)?.render(plan))
}

fn read(source: &dyn ByteSource, plan: &SamplePlan, delimiter: u8) -> io::Result<Table> {
    let parts = plan.look(source, |text, start| {
        // A new reader is built, because a clone of csv-core's reader has no state tables.
        let parser = Parser {
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            is_between: true,
            is_header: plan.parts.first().is_some_and(|first| first.0 == start),
            column: 0,
            field: Vec::new(),
        };
        parser.part(text, start)
    })?;
    let mut all = Table::default();
    let (mut state, mut buffer) = (None::<Parser>, Vec::new());
    for ((mut table, mut parser), &(start, end)) in parts.into_iter().zip(&plan.parts) {
        if let Some(state) = state.filter(|state| !state.is_between || state.is_header) {
            let text = source.window(start, end, &mut buffer)?;
            (table, parser) = state.part(text, start);
        }
        all.absorb(table);
        state = Some(parser);
    }
    if let Some(parser) = state {
        all.absorb(parser.end(source.len()));
    }
    Ok(all)
}

/// The state of the parser; the next part is parsed from the state in which a part ended.
#[derive(Debug)]
struct Parser {
    reader: Reader,
    /// Whether the next byte begins a row.
    is_between: bool,
    /// Whether the current row is the first one of the table.
    is_header: bool,
    column: usize,
    /// The bytes of the current field that have been read.
    field: Vec<u8>,
}

impl Parser {
    /// Reads a part that begins at byte `start`.
    fn part(mut self, text: &[u8], start: u64) -> (Table, Self) {
        let mut table = Table::default();
        // A byte order mark is not part of the first name.
        let mut at = match start {
            0 if text.starts_with(b"\xef\xbb\xbf") => 3,
            _ => 0,
        };
        let mut buffer = [0; FIELD];
        while at < text.len() {
            at += self.step(&text[at..], &mut buffer, &mut table, start + at as u64);
        }
        (table, self)
    }

    /// Returns a table with the last row, if the text ended inside this row.
    fn end(mut self, end: u64) -> Table {
        let mut table = Table::default();
        if !self.is_between {
            self.step(&[], &mut [0; FIELD], &mut table, end);
        }
        table
    }

    fn step(&mut self, text: &[u8], buffer: &mut [u8], table: &mut Table, offset: u64) -> usize {
        let (result, taken, made) = self.reader.read_field(text, buffer);
        let is_end = matches!(result, ReadFieldResult::Field { .. });
        if self.is_between && !is_end && text[..taken].iter().all(|byte| b"\r\n".contains(byte)) {
            return taken;
        }
        self.is_between = false;
        match result {
            ReadFieldResult::Field { record_end } => {
                if self.field.is_empty() {
                    table.field(self.is_header, self.column, &buffer[..made], offset);
                } else {
                    self.keep(&buffer[..made]);
                    table.field(self.is_header, self.column, &self.field, offset);
                    self.field.clear();
                }
                self.column += 1;
                if record_end {
                    table.row(self.is_header, self.column);
                    (self.column, self.is_header, self.is_between) = (0, false, true);
                }
            }
            _ => self.keep(&buffer[..made]),
        }
        taken
    }

    fn keep(&mut self, more: &[u8]) {
        let room = FIELD.saturating_sub(self.field.len());
        self.field.extend_from_slice(&more[..more.len().min(room)]);
    }
}

/// The summary of some rows.
#[derive(Debug, Default)]
pub(crate) struct Table {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: u64,
    /// The smallest and the largest number of fields in a row.
    widths: Option<(usize, usize)>,
}

impl Table {
    /// Returns a table without rows.
    pub(crate) fn with_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names = names.into_iter().take(COLUMNS);
        Self {
            names: names.map(|name| shown(name, NAME_CHARS)).collect(),
            ..Self::default()
        }
    }

    /// Adds a row that begins at byte `offset`.
    pub(crate) fn add_row<'f>(&mut self, fields: impl IntoIterator<Item = &'f [u8]>, offset: u64) {
        let mut width = 0;
        for field in fields {
            self.field(false, width, &field[..field.len().min(FIELD)], offset);
            width += 1;
        }
        self.row(false, width);
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the names of the columns, escaped.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    fn field(&mut self, is_header: bool, column: usize, value: &[u8], offset: u64) {
        if column >= COLUMNS {
            return;
        }
        if is_header {
            // Filters call a column without a name so, too.
            self.names.push(match value.trim_ascii().is_empty() {
                true => format!("column {}", column + 1),
                false => shown(&String::from_utf8_lossy(value), NAME_CHARS),
            });
            return;
        }
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, Column::default);
        }
        self.columns[column].take(value, offset);
    }

    fn row(&mut self, is_header: bool, width: usize) {
        self.rows += u64::from(!is_header);
        if !is_header {
            self.widen((width, width));
        }
    }

    fn widen(&mut self, (least, most): (usize, usize)) {
        self.widths = Some(match self.widths {
            None => (least, most),
            Some((fewest, widest)) => (fewest.min(least), widest.max(most)),
        });
    }

    fn absorb(&mut self, next: Self) {
        self.rows += next.rows;
        self.names.extend(next.names);
        if let Some(widths) = next.widths {
            self.widen(widths);
        }
        if self.columns.len() < next.columns.len() {
            self.columns
                .resize_with(next.columns.len(), Column::default);
        }
        for (mine, more) in self.columns.iter_mut().zip(next.columns) {
            mine.merge(more);
        }
    }

    /// Returns the numbers of rows and columns, then a line per column.
    pub(crate) fn render(&self, plan: &SamplePlan) -> Vec<OutlineEntry> {
        let ragged = match self.widths {
            Some((least, most)) if least != most || most != self.names.len() => {
                format!(" (rows have {least}–{most} fields)")
            }
            _ => String::new(),
        };
        let columns = self.names.len();
        let rows = plan.scaled(self.rows);
        let mut lines = vec![note(format!(
            "{}, {}{ragged}",
            counted(&rows, "row"),
            counted(&columns.to_string(), "column")
        ))];
        let unnamed = Column::default();
        for (at, name) in self.names.iter().enumerate() {
            let column = self.columns.get(at).unwrap_or(&unnamed);
            let text = format!("{name}: {}", column.render(plan));
            lines.push(OutlineEntry::new(1 + at, 0, EntryKind::Place, text));
        }
        lines
    }
}

/// Words that tables of statistics have for a missing number.
const MARKS: [&[u8]; 4] = [b"NA", b"N/A", b"NaN", b"nan"];

/// A value as it is written.
type CellText = Box<[u8]>;

/// The fields of a column, summarised.
#[derive(Debug, Default)]
struct Column {
    filled: u64,
    empty: u64,
    integers: u64,
    numbers: u64,
    booleans: u64,
    times: u64,
    /// Words for a missing number.
    marks: u64,
    values: Values,
    range: Range,
    /// The first and the last time, compared as text.
    span: Option<(CellText, CellText)>,
}

impl Column {
    fn take(&mut self, value: &[u8], offset: u64) {
        let value = value.trim_ascii();
        if value.is_empty() {
            self.empty += 1;
            return;
        }
        // As soon as a column contains text, it is not checked for other types.
        let may_be = |count: u64| count + self.marks == self.filled;
        if MARKS.contains(&value) {
            self.marks += 1;
        } else if may_be(self.integers + self.numbers) && is_number(value) {
            match value.iter().any(|byte| b".eE".contains(byte)) {
                true => self.numbers += 1,
                false => self.integers += 1,
            }
            self.range.add(value, offset);
        } else if may_be(self.times) && is_time(value) {
            self.times += 1;
            self.stretch(value);
        } else if may_be(self.booleans) && is_boolean(value) {
            self.booleans += 1;
        }
        self.filled += 1;
        self.values.add(value, offset);
    }

    fn stretch(&mut self, value: &[u8]) {
        match &mut self.span {
            None => self.span = Some((value.into(), value.into())),
            Some((first, _)) if value < &**first => *first = value.into(),
            Some((_, last)) if value > &**last => *last = value.into(),
            Some(_) => {}
        }
    }

    fn merge(&mut self, next: Self) {
        self.filled += next.filled;
        self.empty += next.empty;
        self.integers += next.integers;
        self.numbers += next.numbers;
        self.booleans += next.booleans;
        self.times += next.times;
        self.marks += next.marks;
        self.values.merge(next.values);
        self.range.merge(next.range);
        if let Some((first, last)) = next.span {
            self.stretch(&first);
            self.stretch(&last);
        }
    }

    fn render(&self, plan: &SamplePlan) -> String {
        let all = |count: u64| count > 0 && count + self.marks == self.filled;
        let kind = if self.filled == 0 {
            "empty"
        } else if all(self.integers) {
            "integer"
        } else if all(self.integers + self.numbers) {
            "number"
        } else if all(self.times) {
            "date/time"
        } else if all(self.booleans) {
            "boolean"
        } else {
            "text"
        };
        let is_number = all(self.integers + self.numbers);
        let few = self.values.distinct().filter(|&count| count <= NAMED);
        let what = match (self.range.ends(), &self.span) {
            (Some((least, most)), _) if is_number && few.is_none() => format!(" {least}–{most}"),
            (_, Some((first, last))) if all(self.times) && first != last => {
                let text = |time: &[u8]| String::from_utf8_lossy(time).into_owned();
                format!(" {} – {}", text(first), text(last))
            }
            _ => self.named(plan),
        };
        let empty = match self.empty {
            0 => String::new(),
            n if self.filled > 0 => format!("; {} empty", grouped(n)),
            _ => String::new(),
        };
        let marks = match kind {
            "text" | "empty" => 0,
            _ => self.marks,
        };
        let marks = match marks {
            0 => String::new(),
            n => format!("; {} missing (NA)", grouped(n)),
        };
        format!("{kind}{what}{empty}{marks}")
    }

    fn named(&self, plan: &SamplePlan) -> String {
        let cut = |value: &[u8]| shown(&String::from_utf8_lossy(value), NAMED_CHARS);
        let distinct = self.values.distinct();
        if let Some(count) = distinct.filter(|&count| count > 1 && (count as u64) < self.filled) {
            let counts = self.values.counts().into_iter().take(COUNTED);
            let texts: Vec<String> = counts
                .map(|(value, count)| format!("{}× {}", plan.scaled(count), cut(value)))
                .collect();
            let more = if count > COUNTED { ", …" } else { "" };
            return format!(" ({count} distinct: {}{more})", texts.join(", "));
        }
        let texts: Vec<String> = self.values.examples().take(NAMED).map(cut).collect();
        match (distinct, texts.as_slice()) {
            (_, []) => String::new(),
            (Some(1), [only]) if self.filled > 1 => format!(": always {only}"),
            (Some(count), all) if count == all.len() => format!(": {}", all.join(", ")),
            (_, [first, ..]) => format!(": {first}, …"),
        }
    }
}

/// Returns a name or value on one line, cut if it is long.
fn shown(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    let cut = cut.escape_debug().to_string();
    format!("{}{more}", cut.replace("\\\"", "\"").replace("\\'", "'"))
}

/// Returns whether a value is a number: digits with a sign, a point or an exponent. `inf` and `nan`
/// are words. Ids with leading zeros are not numbers, because they would lose the zeros.
fn is_number(value: &[u8]) -> bool {
    let bare = value.strip_prefix(b"-").unwrap_or(value);
    let is_id = bare.len() > 1 && bare[0] == b'0' && bare[1].is_ascii_digit();
    let begins = bare
        .first()
        .is_some_and(|b| b.is_ascii_digit() || *b == b'.');
    let plain = bare.iter().all(u8::is_ascii_digit);
    let parses = || std::str::from_utf8(value).is_ok_and(|text| text.parse::<f64>().is_ok());
    begins && !is_id && (plain || parses())
}

fn is_boolean(value: &[u8]) -> bool {
    [&b"true"[..], b"false", b"yes", b"no"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

/// Returns whether a value is a date that begins with the year, alone or before a time.
fn is_time(value: &[u8]) -> bool {
    let digits = |range: std::ops::Range<usize>| value[range].iter().all(u8::is_ascii_digit);
    let is_date = value.len() >= 10
        && digits(0..4)
        && matches!(value[4], b'-' | b'/')
        && digits(5..7)
        && value[7] == value[4]
        && digits(8..10);
    is_date && (value.len() == 10 || (value.len() <= 40 && b"T ".contains(&value[10])))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;
    use crate::tests::texts;

    fn table(text: &str, part: u64, threads: usize) -> String {
        let source = text.as_bytes().to_vec();
        let plan = SamplePlan {
            threads,
            ..SamplePlan::cut(&source, 0, part, u64::MAX).unwrap()
        };
        texts(&read(&source, &plan, b',').unwrap().render(&plan))
    }

    #[test]
    fn columns() {
        let text = "\u{feff}id,when,name,state,zip,share\r\n\
            1,2026-01-02,\"a\nb, \"\"c\"\"\",on,00123,0.5\r\n\
            2,2026-01-01,c,,01234,10\r\n\
            12345678901234567890,2026-03-01 10:00,d,off,00001,-3e2\r\n";
        assert_snapshot!(table(text, 1 << 20, 1), @r#"
        3 rows, 6 columns
        id: integer: 1, 2, 12345678901234567890
        when: date/time 2026-01-01 – 2026-03-01 10:00
        name: text: a\nb, "c", c, d
        state: text: on, off; 1 empty
        zip: text: 00123, 01234, 00001
        share: number: 0.5, 10, -3e2
        "#);
        assert_snapshot!(table("a,b\n1,2,3\n4\n\n", 1 << 20, 1), @"
        2 rows, 2 columns (rows have 1–3 fields)
        a: integer: 1, 4
        b: integer: 2
        ");
        let text = "\"\",n,code,m\n1,5,NA,NA\n2,NA,NL,NA\n3,7,NA,1.5\n4,9,DE,2\n";
        assert_snapshot!(table(text, 1 << 20, 1), @"
        4 rows, 4 columns
        column 1: integer: 1, 2, 3, 4
        n: integer: 5, NA, 7, 9; 1 missing (NA)
        code: text (3 distinct: 2× NA, 1× NL, 1× DE)
        m: number (3 distinct: 2× NA, 1× 1.5, 1× 2); 2 missing (NA)
        ");
        assert_snapshot!(table("a,b\n1,\"open", 1 << 20, 1), @"
        1 row, 2 columns
        a: integer: 1
        b: text: open
        ");
    }

    proptest! {
        #[test]
        fn parts_make_the_whole(text in "(([ab\"1\\.-]|NA|\"x\ny\"){0,3}[,\n]){0,40}", part in 1u64..30) {
            let whole = table(&text, 1 << 20, 1);
            prop_assert_eq!(&table(&text, part, 1), &whole);
            prop_assert_eq!(&table(&text, part, 2), &whole);
        }

        #[test]
        fn rows_are_those_of_the_csv_crate(text in "[ab\",\n1]{1,60}") {
            let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
            let _ = reader.headers();
            let rows = reader.records().flatten().count();
            let ours = table(&text, 7, 2);
            prop_assert!(ours.starts_with(&counted(&rows.to_string(), "row")), "{rows}, not {ours}");
        }
    }
}
