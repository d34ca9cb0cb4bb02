//! Decides which tables become Markdown tables.

/// Maximum bytes that the alignment of a table's columns may add: a fixed number plus a multiple of
/// the size of the table's content.
const MOST_PADDING: usize = 64 << 10;
const MOST_PADDING_TIMES: usize = 4;

/// Maximum length of a cell, in bytes, in a data table without a header. A table with a longer cell
/// counts as a layout table.
const LONGEST_DATA: usize = 300;

/// What is known about a table while it is tidied. Positions are offsets in the tidied page.
#[derive(Debug, Default)]
pub(super) struct Table {
    start: usize,
    rows: usize,
    column: usize,
    cell: usize,
    widths: Vec<usize>,
    /// Offsets of the tag names of the header cells, and of the cells in the first row.
    headers: Vec<usize>,
    first_row: Vec<usize>,
    /// Whether the table is used for layout: it has a row of one cell, or blocks in its cells.
    is_layout: bool,
}

impl Table {
    pub(super) fn begun(start: usize) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// Records that a part of the table begins. `tag` and `content` are the offsets of its tag and
    /// of its content.
    pub(super) fn part_begun(&mut self, name: &str, tag: usize, content: usize) {
        match name {
            "tr" => {
                self.is_layout |= self.rows > 0 && self.column < 2;
                self.rows += 1;
                self.column = 0;
            }
            "td" | "th" => self.cell = content,
            _ => {}
        }
        if name == "td" && self.rows == 1 {
            self.first_row.push(tag + 1);
        }
        if matches!(name, "th" | "thead") {
            self.headers.push(tag + 1);
        }
    }

    /// Records that a block begins in a cell of the table.
    pub(super) fn block_begun(&mut self, name: &str) {
        self.is_layout |= !matches!(name, "p" | "div");
    }

    pub(super) fn cell_ended(&mut self, end: usize) {
        let width = end - self.cell;
        match self.widths.get_mut(self.column) {
            Some(widest) => *widest = width.max(*widest),
            None => self.widths.push(width),
        }
        self.column += 1;
    }

    /// Removes the header of a table whose columns would be mostly padding, so that it is written
    /// cell by cell. A replaced tag name and its replacement have the same length.
    pub(super) fn ended(self, html: &mut String) {
        let aligned: usize = self.widths.iter().map(|width| width + 3).sum();
        let aligned = aligned.saturating_mul(self.rows + 1);
        let bytes = html.len() - self.start;
        if aligned <= MOST_PADDING + bytes * MOST_PADDING_TIMES {
            return self.with_header(html);
        }
        for at in self.headers {
            let plain = match html[at..].starts_with("thead") {
                true => "tbody",
                false => "td",
            };
            html.replace_range(at..at + plain.len(), plain);
        }
    }

    /// Makes the first row the header, because Markdown has no tables without a header. Does not
    /// change a table that is used for layout.
    fn with_header(&self, html: &mut String) {
        let is_data = !self.is_layout && self.rows > 1 && self.column > 1;
        let is_short = self.widths.iter().all(|width| *width <= LONGEST_DATA);
        if is_data && is_short && self.headers.is_empty() {
            for at in &self.first_row {
                html.replace_range(*at..at + 2, "th");
            }
        }
    }
}
