//! Decides which tables become Markdown tables.

/// Bytes that a table may gain by its columns being aligned: so many, and so many times
/// what is in it.
const MOST_PADDING: usize = 64 << 10;
const MOST_PADDING_TIMES: usize = 4;

/// Bytes of a cell over which a table without a header is there for the layout.
const LONGEST_DATA: usize = 300;

/// What is known of a table while it is tidied. Places are those of the tidied page.
#[derive(Debug, Default)]
pub(super) struct Table {
    start: usize,
    rows: usize,
    column: usize,
    cell: usize,
    widths: Vec<usize>,
    /// Where the names of its header's tags are, and those of its first row.
    headers: Vec<usize>,
    first_row: Vec<usize>,
    /// It has rows of one cell, or blocks in its cells: it is there for the layout.
    is_layout: bool,
}

impl Table {
    pub(super) fn begun(start: usize) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// The tag of a part stands at `tag`, and its content begins at `content`.
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

    /// A block begins in one of its cells.
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

    /// A table whose columns would be mostly spaces becomes one without a header, which
    /// is written cell by cell. The tags' names are as long.
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

    /// Markdown knows no table without a header: its first row has to be one, unless it
    /// is there for the layout only.
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
