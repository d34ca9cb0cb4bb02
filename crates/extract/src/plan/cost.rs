//! Computes how many tokens any range of a view (the readable text of an output) would cost as it
//! is shown to a model.
//!
//! Views of up to [`EXACT_BYTES`] are counted row by row. Larger views are divided into stretches
//! of at least 64 KB. A few kilobytes of each stretch are counted, and the rest of the stretch is
//! assumed to cost the same per byte.

use std::io;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, LineRange};
use spillgate_lookup::Artifact;
use spillgate_text::{Indexer, TokenCounter, View};

use super::rows::{Row, Rows, Sort};
use super::show::show;

/// Views larger than this (4 MiB) are sampled.
pub(crate) const EXACT_BYTES: u64 = 4 << 20;
/// Size of a sample, in bytes: enough for a few records of JSON.
const SAMPLE: u64 = 8 << 10;
/// Maximum number of samples per view, so that at most about 4 MB are counted.
const MOST_SAMPLES: usize = 512;
/// Units of cost per token. Costs are counted in thousandths of a token, so that even a small part
/// of a row has a cost.
pub(crate) const FINE: u64 = 1000;

/// The cumulative cost at every byte of a view.
#[derive(Debug)]
pub(crate) struct Costs {
    /// Offsets in ascending order, each with the cost before it. The first is the start of the
    /// view.
    marks: Vec<(u64, u64)>,
    /// Whether every byte was counted.
    pub is_exact: bool,
}

impl Costs {
    /// Computes the costs. In an exact count, about `grain` tokens are counted at a time.
    pub(crate) fn of(
        artifact: &Artifact,
        grain: u64,
        counter: &dyn TokenCounter,
    ) -> io::Result<Self> {
        Self::up_to(artifact, grain, counter, EXACT_BYTES)
    }

    /// Computes the costs. Views of up to `exact_bytes` are counted exactly.
    pub(crate) fn up_to(
        artifact: &Artifact,
        grain: u64,
        counter: &dyn TokenCounter,
        exact_bytes: u64,
    ) -> io::Result<Self> {
        let is_exact = artifact.view().bytes() <= exact_bytes;
        let marks = match is_exact {
            true => counted(artifact, grain, counter)?,
            false => sampled(artifact, counter)?,
        };
        Ok(Self { marks, is_exact })
    }

    /// Returns the cost before the view's byte `offset`, in thousandths of a token.
    pub(crate) fn before(&self, offset: u64) -> u64 {
        let after = self.marks.partition_point(|mark| mark.0 <= offset);
        let (start, cost) = self.marks[after.saturating_sub(1)];
        let Some((end, more)) = self.marks.get(after) else {
            return cost;
        };
        let share = u128::from(more - cost) * u128::from(offset - start) / u128::from(end - start);
        cost + u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Returns the cost of the whole view, in thousandths of a token.
    pub(crate) fn total(&self) -> u64 {
        self.marks.last().map_or(0, |mark| mark.1)
    }
}

fn counted(
    artifact: &Artifact,
    grain: u64,
    counter: &dyn TokenCounter,
) -> io::Result<Vec<(u64, u64)>> {
    let (view, sort) = (artifact.view(), Sort::of(artifact));
    let mut buffer = Vec::new();
    let text = view.source().window(0, view.bytes(), &mut buffer)?;
    let mut rows = Rows::all(view, sort)?;
    let (mut marks, mut cost, mut shown) = (vec![(0, 0)], 0, String::new());
    let mut end = 0;
    while let Some(row) = rows.next_row()? {
        show(
            &mut shown,
            &row,
            within(text, &row, 0),
            view.layout(),
            sort.is_json(),
        );
        end = row.end;
        if shown.len() as u64 / 4 >= grain {
            cost += counter.count(&shown) * FINE;
            marks.push((end, cost));
            shown.clear();
        }
    }
    if !shown.is_empty() {
        marks.push((end, cost + counter.count(&shown) * FINE));
    }
    Ok(marks)
}

fn sampled(artifact: &Artifact, counter: &dyn TokenCounter) -> io::Result<Vec<(u64, u64)>> {
    let view = artifact.view();
    let anchors = &view.index().anchors;
    let step = anchors.len().div_ceil(MOST_SAMPLES).max(1);
    let (mut marks, mut cost) = (vec![(0, 0)], 0);
    for at in (0..anchors.len()).step_by(step) {
        let (start, line) = (anchors[at].offset, anchors[at].line);
        let end = anchors
            .get(at + step)
            .map_or(view.bytes(), |next| next.offset);
        if start >= end {
            continue;
        }
        let (tokens, bytes) = sample(artifact, start, end.min(start + SAMPLE), line, counter)?;
        let share = u128::from(tokens * FINE) * u128::from(end - start) / u128::from(bytes.max(1));
        cost += u64::try_from(share).unwrap_or(u64::MAX);
        marks.push((end, cost));
    }
    Ok(marks)
}

/// Returns the tokens of the rows in `start..end`, and the number of bytes of these rows. `lines`
/// is the number of lines before `start`.
fn sample(
    artifact: &Artifact,
    start: u64,
    end: u64,
    lines: u64,
    counter: &dyn TokenCounter,
) -> io::Result<(u64, u64)> {
    let (layout, sort) = (artifact.view().layout(), Sort::of(artifact));
    let text = artifact.view().source().bytes(start, end)?;
    let mut indexer = Indexer::as_is(layout);
    indexer.feed(&text);
    let text = Arc::new(text);
    let view = View::new(
        Arc::clone(&text) as Arc<dyn ByteSource>,
        indexer.finish(),
        layout,
    );
    let whole = end == artifact.view().bytes();
    let last = view.lines() - u64::from(!whole && view.lines() > 1);
    let mut rows = Rows::new(&view, sort, LineRange { first: 1, last })?;
    let (mut shown, mut bytes) = (String::new(), 0);
    loop {
        // A row that is cut off by the end of the sample is not used, because it is not a whole row
        // of the view.
        let next = match whole || bytes == 0 {
            true => rows.next_row()?,
            false => rows.next_sure()?,
        };
        let Some(mut row) = next else { break };
        let text = within(&text, &row, 0);
        bytes += text.len() as u64;
        row.lines.first += lines;
        row.lines.last += lines;
        show(&mut shown, &row, text, layout, sort.is_json());
    }
    Ok((counter.count(&shown), bytes))
}

/// Returns the bytes of a row in `text`, which begins at the view's byte `from`.
pub(crate) fn within<'t>(text: &'t [u8], row: &Row, from: u64) -> &'t [u8] {
    let at = |offset: u64| usize::try_from(offset.saturating_sub(from)).unwrap_or(usize::MAX);
    let end = at(row.end).min(text.len());
    &text[at(row.start).min(end)..end]
}
