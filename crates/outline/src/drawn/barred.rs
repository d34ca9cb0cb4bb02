//! Reads tables whose cells are between bars.
//!
//! A table is recognised by a line drawn below its header, with a joint for each bar, as in
//! Markdown (`|---|:-:|`) and in the output of mysql (`+---+---+`), psql (`---+---`) and sqlite3
//! (`├───┼───┤`).

use std::borrow::Cow;

use crate::table::Table;

/// Maximum number of tables that are kept. Further tables are only counted.
const TABLES: usize = 40;
/// Number of tables whose columns are summarised. Of the others, only the rows are counted.
const SUMMARISED: usize = 8;

/// A table and the offset of its header.
pub(crate) struct TableFound {
    pub(crate) header: u64,
    pub(crate) table: Table,
}

/// Reads lines in order and fills tables.
#[derive(Default)]
pub(crate) struct Reader {
    tables: Vec<TableFound>,
    more: u64,
    /// The last line, if it may be a header.
    before: Option<(u64, Vec<u8>)>,
    /// The number of columns of the open table.
    open: Option<usize>,
    /// Whether the last line was drawn.
    after_line: bool,
}

impl Reader {
    /// Takes a line that begins at byte `offset`. Returns whether the lines so far show that it
    /// belongs to a table.
    pub(crate) fn take(&mut self, line: &[u8], offset: u64) -> bool {
        // Nearly all lines of other texts need no check beyond this one.
        let is_drawn = memchr::memmem::find(line, b"--").is_some()
            || memchr::memmem::find(line, "──".as_bytes()).is_some();
        if is_drawn && let Some(joints) = joints(line) {
            return self.drawn(joints);
        }
        let has_bar = memchr::memchr(b'|', line).is_some()
            || memchr::memmem::find(line, "│".as_bytes()).is_some();
        if !has_bar {
            (self.open, self.before, self.after_line) = (None, None, false);
            return false;
        }
        self.after_line = false;
        match self.open {
            Some(_) => self.row(line, offset),
            None => self.before = Some((offset, line.to_vec())),
        }
        true
    }

    /// Takes a drawn line with `width` cells.
    fn drawn(&mut self, width: usize) -> bool {
        // Of two drawn lines in succession, one ends a table and the other begins the next one.
        if std::mem::replace(&mut self.after_line, true) {
            self.open = None;
        }
        if let (None, Some((header, line))) = (self.open, self.before.take()) {
            let names = cells(&line);
            if names.len() == width {
                self.open = Some(width);
                let names = names.iter().map(|name| text_of(name));
                let names: Vec<String> = names.collect();
                match self.tables.len() < TABLES {
                    true => self.tables.push(TableFound {
                        header,
                        table: Table::with_names(names.iter().map(|name| &**name)),
                    }),
                    false => self.more += 1,
                }
            }
        }
        true
    }

    fn row(&mut self, line: &[u8], offset: u64) {
        if self.more > 0 {
            return;
        }
        let is_summarised = self.tables.len() <= SUMMARISED;
        if let Some(found) = self.tables.last_mut() {
            match is_summarised {
                true => {
                    let cells = cells(line);
                    found
                        .table
                        .add_row(cells.iter().map(|cell| &**cell), offset);
                }
                false => found.table.add_row([], offset),
            }
        }
    }

    /// Returns the tables, and the number of further tables.
    pub(crate) fn finish(self) -> (Vec<TableFound>, u64) {
        (self.tables, self.more)
    }
}

/// Returns whether most lines of a head belong to tables.
pub(super) fn is_most(head: &[(u64, &[u8])]) -> bool {
    let mut reader = Reader::default();
    let filled = head.iter().filter(|(_, line)| !line.is_empty());
    let (mut all, mut inside) = (0, 0);
    for &(offset, line) in filled {
        all += 1;
        inside += usize::from(reader.take(line, offset));
    }
    !reader.tables.is_empty() && inside * 2 > all
}

/// Returns whether a line is a count that a database client prints below a table, such as
/// `(3 rows)`.
pub(super) fn is_count(line: &[u8]) -> bool {
    let line = line.trim_ascii().strip_prefix(b"(").unwrap_or(line);
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line[digits..].starts_with(b" row")
}

/// Returns the number of cells of a drawn line; `None` for other lines.
fn joints(line: &[u8]) -> Option<usize> {
    let line = line.trim_ascii();
    let text = std::str::from_utf8(line).ok()?;
    let is_stroke = |c: char| matches!(c, '-' | '=' | ':' | ' ' | '─' | '═');
    let is_joint = |c: char| c == '+' || c == '|' || ('┌'..='╬').contains(&c);
    if !text.chars().all(|c| is_stroke(c) || is_joint(c)) {
        return None;
    }
    let bare = text.trim_matches(|c| is_joint(c) && !is_stroke(c));
    let is_bounded = bare.len() < text.len();
    let width = 1 + bare
        .chars()
        .filter(|&c| is_joint(c) && !is_stroke(c))
        .count();
    (is_bounded || width > 1).then_some(width)
}

/// Returns the cells of a line, trimmed. Markdown writes a bar in a cell as `\|`.
fn cells(line: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let (bar, line): (&[u8], &[u8]) = match memchr::memchr(b'|', line) {
        Some(_) => (b"|", line.trim_ascii()),
        None => ("│".as_bytes(), line.trim_ascii()),
    };
    let line = line.strip_prefix(bar).unwrap_or(line);
    let line = match line.strip_suffix(bar) {
        Some(inner) if !inner.ends_with(b"\\") => inner,
        _ => line,
    };
    let mut found: Vec<Cow<'_, [u8]>> = Vec::new();
    let mut from = 0;
    for at in memchr::memmem::find_iter(line, bar) {
        if line[..at].ends_with(b"\\") {
            continue;
        }
        found.push(unescaped(&line[from..at]));
        from = at + bar.len();
    }
    found.push(unescaped(&line[from..]));
    found
}

fn unescaped(cell: &[u8]) -> Cow<'_, [u8]> {
    let cell = cell.trim_ascii();
    match memchr::memmem::find(cell, b"\\|") {
        None => Cow::Borrowed(cell),
        Some(_) => Cow::Owned(
            String::from_utf8_lossy(cell)
                .replace("\\|", "|")
                .into_bytes(),
        ),
    }
}

/// Returns the text of a header's cell, without the marks of Markdown around it.
fn text_of(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(cell);
    text.trim_matches(['*', '`', ' ']).to_owned()
}
