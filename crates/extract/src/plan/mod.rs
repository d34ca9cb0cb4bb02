//! Plans the chunks in which a model reads an output. A *view* is the readable text of an output.
//!
//! ```text
//! view lines → rows    groups the lines that must stay together (text · json)
//!            → cost    counts the tokens of each row
//!            → cut     chooses the rows after which a chunk ends
//!            → path    names the place of each chunk in the document
//! ```
//!
//! The view is read once, or twice if it is small enough to be counted completely. Memory holds the
//! rows of two chunks. If everything is counted, no chunk exceeds its size unless it is a single
//! row. If the view is sampled, about one chunk in a hundred does, so the caller must count what
//! [`Plan::render`] returns and call [`Plan::split`] if it is too large.

mod cost;
mod cut;
mod json;
mod order;
mod path;
mod rows;
mod show;
mod split;
mod text;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;

use spillgate_artifact::LineRange;
use spillgate_lookup::Artifact;
use spillgate_text::TokenCounter;

use cost::{Costs, FINE, within};
use cut::{Costed, Cutter, Sizes};
use path::{Common, Place};
use rows::{Row, Rows, Sort};
use show::show;

/// Percentage of a chunk's tokens that is left free if every row is counted. Several rows are
/// counted together, so the cost of each single row is not exact.
const SLACK: u64 = 4;
/// Percentage of a chunk's tokens that is left free if the view is only sampled.
const GUESS: u64 = 10;
/// Number of pieces of a chunk that are counted separately.
const PIECES: u64 = 64;
/// Size of a piece, in tokens, if only the total is needed.
const GRAIN: u64 = 1000;
/// A table's header is repeated if it costs at most this fraction of a chunk (1 / `HEADER_SHARE`).
const HEADER_SHARE: u64 = 4;
/// Maximum overlap of chunks, in percent.
const MOST_OVERLAP: u64 = 50;

/// The requested sizes and number of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Want {
    /// Maximum size of a chunk as it is shown, in tokens.
    pub chunk_tokens: u64,
    /// How much of a chunk the next one repeats, in percent, up to 50.
    pub overlap_percent: u64,
    /// Maximum number of chunks that may be read. All chunks are planned; [`Plan::is_too_many`]
    /// returns whether there are more.
    pub most_chunks: u64,
}

/// A part of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The lines of the view in the chunk, including those that it shares with the previous chunk.
    pub lines: LineRange,
    /// The first line that is in no earlier chunk.
    pub own_first: u64,
    /// The bytes of the chunk in the view, as the first byte and the byte after the last one.
    pub bytes: (u64, u64),
    /// The jq path that is common to all values of the chunk, such as `.items[120:160]`; only in
    /// JSON.
    pub path: Option<String>,
    /// The jq path at which the chunk begins, such as `.items[120]`; only in JSON.
    pub begins: Option<String>,
    /// The containers that are open at the beginning of the chunk.
    place: Place,
}

/// The chunks of an output.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The chunks, in the order of the document. Every line is new in exactly one chunk; later
    /// chunks can only repeat it.
    pub chunks: Vec<Chunk>,
    /// How much of a chunk the next one repeats, in percent; 0 for JSON and tables.
    pub overlap_percent: u64,
    /// Estimated tokens of the whole output, with each line counted once.
    pub estimated_tokens: u64,
    most_chunks: u64,
    sort: Sort,
    /// The first row of a table. Every later chunk repeats it at its start.
    header: Option<Row>,
}

/// Estimates the tokens of the whole output as it would be shown. A large output is sampled.
pub(crate) fn estimate(artifact: &Artifact, counter: &dyn TokenCounter) -> io::Result<u64> {
    Ok(Costs::of(artifact, GRAIN, counter)?.total().div_ceil(FINE))
}

/// Divides an output into chunks. An empty output has none.
pub(crate) fn plan(
    artifact: &Artifact,
    want: &Want,
    counter: &dyn TokenCounter,
) -> io::Result<Plan> {
    let costs = Costs::of(artifact, want.chunk_tokens / PIECES, counter)?;
    plan_with(artifact, want, &costs)
}

/// Returns the number of chunks of `tokens` tokens in an output, for the benchmark.
#[doc(hidden)]
pub fn plan_chunks(
    artifact: &Artifact,
    tokens: u64,
    counter: &dyn TokenCounter,
) -> io::Result<usize> {
    let want = Want {
        chunk_tokens: tokens,
        overlap_percent: 10,
        most_chunks: 64,
    };
    Ok(plan(artifact, &want, counter)?.chunks.len())
}

fn plan_with(artifact: &Artifact, want: &Want, costs: &Costs) -> io::Result<Plan> {
    let (view, sort) = (artifact.view(), Sort::of(artifact));
    let free = if costs.is_exact { SLACK } else { GUESS };
    let most = (want.chunk_tokens.saturating_mul(FINE) / 100).saturating_mul(100 - free);
    let most = most.clamp(1, u64::MAX / 100);
    let header = header(artifact, sort)?;
    let header_cost = header.as_ref().map_or(0, |row| costs.before(row.end));
    let header = header.filter(|_| header_cost <= most / HEADER_SHARE);
    let overlap = if sort.overlaps() {
        want.overlap_percent.min(MOST_OVERLAP)
    } else {
        0
    };
    let sizes = Sizes {
        most: (most - header.as_ref().map_or(0, |_| header_cost)).max(1),
        overlap,
    };
    let mut cutter = Cutter::new(Rows::all(view, sort)?, costs, sizes, sort.is_json());
    let (mut chunks, mut next) = (Vec::new(), Start::default());
    loop {
        let mut making = Making::new(next, sort, overlap);
        if !cutter.next_chunk(making.start.cost, &mut |row| making.take(row))? {
            break;
        }
        let (chunk, after) = making.finish();
        chunks.push(chunk);
        next = after;
    }
    Ok(Plan {
        chunks,
        overlap_percent: overlap,
        estimated_tokens: costs.total().div_ceil(FINE),
        most_chunks: want.most_chunks,
        sort,
        header,
    })
}

fn header(artifact: &Artifact, sort: Sort) -> io::Result<Option<Row>> {
    match sort {
        Sort::Table { .. } => Rows::all(artifact.view(), sort)?.next_row(),
        _ => Ok(None),
    }
}

impl Plan {
    /// Returns whether there are more chunks than may be read.
    pub(crate) fn is_too_many(&self) -> bool {
        self.chunks.len() as u64 > self.most_chunks
    }

    /// Renders a chunk for a model, as numbered rows.
    pub(crate) fn render(&self, artifact: &Artifact, chunk: &Chunk) -> io::Result<String> {
        let mut shown = String::new();
        if let Some(header) = &self.header
            && chunk.lines.first > header.lines.last
        {
            self.render_lines(
                artifact,
                header.lines,
                (header.start, header.end),
                &mut shown,
            )?;
        }
        self.render_lines(artifact, chunk.lines, chunk.bytes, &mut shown)?;
        Ok(shown)
    }

    fn render_lines(
        &self,
        artifact: &Artifact,
        lines: LineRange,
        bytes: (u64, u64),
        shown: &mut String,
    ) -> io::Result<()> {
        let view = artifact.view();
        let mut buffer = Vec::new();
        let text = view.source().window(bytes.0, bytes.1, &mut buffer)?;
        let mut rows = Rows::new(view, self.sort, lines)?;
        while let Some(row) = rows.next_row()? {
            let text = within(text, &row, bytes.0);
            show(shown, &row, text, view.layout(), self.sort.is_json());
        }
        Ok(())
    }
}

/// Where a chunk begins.
#[derive(Debug, Default)]
struct Start {
    line: u64,
    byte: u64,
    /// The cumulative cost before the chunk, in thousandths of a token.
    cost: u64,
    /// The cumulative cost before the part of the chunk that is not repeated.
    own_cost: u64,
    place: Place,
}

/// A chunk under construction.
struct Making {
    start: Start,
    sort: Sort,
    overlap: u64,
    own: Option<(u64, u64)>,
    last: (u64, u64),
    until: u64,
    /// The rows at the end of the chunk that the next chunk would repeat if this chunk ended here:
    /// line, first byte, and the cumulative cost before the row.
    rows: VecDeque<(u64, u64, u64)>,
    common: Common,
}

impl Making {
    fn new(start: Start, sort: Sort, overlap: u64) -> Self {
        Self {
            common: Common::new(start.place.clone()),
            until: start.own_cost,
            start,
            sort,
            overlap,
            own: None,
            last: (0, 0),
            rows: VecDeque::new(),
        }
    }

    fn take(&mut self, costed: Costed) {
        let Costed { row, until } = costed;
        self.own.get_or_insert((row.lines.first, row.start));
        if self.tells_paths() {
            self.common.pass(&row);
        }
        self.last = (row.lines.last, row.end);
        let before = std::mem::replace(&mut self.until, until);
        if self.overlap > 0 {
            let repeated = (until - self.start.cost) * self.overlap / 100;
            let is_before = |row: &(u64, u64, u64)| row.2 < until - repeated;
            self.rows.push_back((row.lines.first, row.start, before));
            while self.rows.front().is_some_and(is_before) {
                self.rows.pop_front();
            }
        }
    }

    fn tells_paths(&self) -> bool {
        matches!(
            self.sort,
            Sort::Json {
                is_laid_out: true,
                ..
            }
        )
    }

    fn finish(self) -> (Chunk, Start) {
        let tells_paths = self.tells_paths();
        let own = self.own.unwrap_or_default();
        let (first, byte) = match self.start.line {
            0 => own,
            line => (line, self.start.byte),
        };
        let (path, place) = self.common.finish();
        let chunk = Chunk {
            lines: LineRange {
                first,
                last: self.last.0,
            },
            own_first: own.0,
            bytes: (byte, self.last.1),
            path: tells_paths.then_some(path),
            begins: tells_paths.then(|| self.start.place.begins()),
            place: self.start.place,
        };
        let (line, byte, cost) = match self.rows.front() {
            Some(row) => *row,
            None => (self.last.0 + 1, self.last.1, self.until),
        };
        let after = Start {
            line,
            byte,
            cost,
            own_cost: self.until,
            place,
        };
        (chunk, after)
    }
}
