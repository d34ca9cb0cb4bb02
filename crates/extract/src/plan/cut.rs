//! Decides after which row a chunk ends.
//!
//! Chunks have about equal sizes. Each is cut near its target size, at the place that does the
//! least harm. An element of a JSON array is not split if it fits one chunk, even if the cut must
//! then be far from the target.

use std::collections::VecDeque;
use std::io;

use super::cost::Costs;
use super::rows::{Row, Rows, Shape};

/// How far a chunk may deviate from its target size for a better cut, in percent.
const TOLERANCE: u64 = 10;
/// Percentage of the maximum size that is planned for each chunk, so that the planned number of
/// chunks still suffices when cuts fall short of their targets.
const PLANNED: u64 = 95;

/// A cost in thousandths of a token.
type Cost = u64;

/// The sizes of chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Maximum cost of a chunk.
    pub most: Cost,
    /// How much of a chunk the next one repeats, in percent, up to 50.
    pub overlap: u64,
}

/// The range of costs that the next chunk should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Aim {
    low: Cost,
    best: Cost,
    high: Cost,
}

impl Sizes {
    /// Returns how many more chunks are needed after the next chunk, if `left` is the remaining
    /// cost and no chunk costs more than `size`. Each further chunk adds only the part that does
    /// not repeat the previous one.
    fn more(self, left: Cost, size: Cost) -> u64 {
        let beyond = left.saturating_sub(size).saturating_mul(100);
        beyond.div_ceil(size.max(1) * (100 - self.overlap))
    }

    /// Returns what the next chunk should cost. `left` is the remaining cost, including what the
    /// chunk repeats of the previous one. `more` is the number of chunks that follow it, at least
    /// one.
    fn aim(self, left: Cost, more: u64) -> Aim {
        let own = 100 - self.overlap;
        let parts = 100 + more.saturating_mul(own);
        let aim = u64::try_from(u128::from(left) * 100 / u128::from(parts)).unwrap_or(u64::MAX);
        // The chunk must contain what does not fit into the chunks after it.
        let later = self.most.saturating_mul(100 + (more - 1) * own) / 100;
        let least = left.saturating_sub(later) + aim * self.overlap / 100;
        Aim {
            low: (aim * (100 - TOLERANCE) / 100).max(least).min(aim),
            best: aim,
            high: (aim * (100 + TOLERANCE) / 100).min(self.most),
        }
    }
}

/// A row with the cumulative cost up to its end.
#[derive(Debug)]
pub(crate) struct Costed {
    pub row: Row,
    pub until: Cost,
}

/// Cuts rows into chunks, from front to back. It holds the rows of at most two chunks in memory.
#[derive(Debug)]
pub(crate) struct Cutter<'a> {
    rows: Rows<'a>,
    costs: &'a Costs,
    sizes: Sizes,
    /// Rows that have been read but are not in a chunk yet.
    waiting: VecDeque<Costed>,
    /// The cumulative cost at the start of the rows that are not in a chunk yet.
    from: Cost,
    /// The number of chunks that were planned to follow the last chunk.
    more: Option<u64>,
    looks_ahead: bool,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(rows: Rows<'a>, costs: &'a Costs, sizes: Sizes, looks_ahead: bool) -> Self {
        Self {
            rows,
            costs,
            sizes,
            waiting: VecDeque::new(),
            from: 0,
            more: None,
            looks_ahead,
        }
    }

    /// Calls `take` with each new row of the next chunk. `begin` is the cumulative cost at which
    /// the chunk begins, including what it repeats of the previous one. Returns false if there is
    /// no further chunk.
    pub(crate) fn next_chunk(
        &mut self,
        begin: Cost,
        take: &mut dyn FnMut(Costed),
    ) -> io::Result<bool> {
        let left = self.costs.total() - begin;
        let more = self.count(left);
        if more == 0 {
            let mut any = false;
            while let Some(row) = self.pull()? {
                any = true;
                take(row);
            }
            return Ok(any);
        }
        let aim = self.sizes.aim(left, more);
        let ahead = if self.looks_ahead { self.sizes.most } else { 0 };
        self.fill(begin + aim.high + ahead)?;
        let most = begin + self.sizes.most;
        let aim = Aim {
            low: begin + aim.low,
            best: begin + aim.best,
            high: begin + aim.high,
        };
        let rows = self.waiting.make_contiguous();
        let count = cut(rows, self.from, aim, most, self.sizes.most);
        self.from = match count.checked_sub(1) {
            Some(last) => rows[last].until,
            None => self.from,
        };
        self.waiting.drain(..count).for_each(take);
        Ok(count > 0)
    }

    /// Returns how many chunks follow the next one. This is one fewer than for the previous chunk,
    /// or more if that would not be enough.
    fn count(&mut self, left: Cost) -> u64 {
        let most = self.sizes.most;
        let least = self.sizes.more(left, most);
        let more = match self.more {
            Some(before) => before.saturating_sub(1).max(least),
            None if least == 0 => 0,
            None => self.sizes.more(left, most * PLANNED / 100),
        };
        self.more = Some(more);
        more
    }

    fn pull(&mut self) -> io::Result<Option<Costed>> {
        match self.waiting.pop_front() {
            Some(row) => Ok(Some(row)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> io::Result<Option<Costed>> {
        let next = self.rows.next_row()?;
        Ok(next.map(|row| Costed {
            until: self.costs.before(row.end),
            row,
        }))
    }

    /// Reads rows until the cumulative cost exceeds `until`.
    fn fill(&mut self, until: Cost) -> io::Result<()> {
        while self.waiting.back().is_none_or(|last| last.until <= until) {
            match self.read()? {
                Some(row) => self.waiting.push_back(row),
                None => break,
            }
        }
        Ok(())
    }
}

/// Returns how many of the rows the chunk gets: at least one, unless there are none. The chunk ends
/// before the cumulative cost `most`, unless its only row is larger. `size` is the maximum cost of
/// a chunk.
fn cut(rows: &[Costed], from: Cost, aim: Aim, most: Cost, size: Cost) -> usize {
    if rows.last().is_none_or(|last| last.until <= aim.high) {
        return rows.len();
    }
    let splits = splits(rows, from, size);
    // A cut before row `at` lies at the end of the previous row.
    let place = |at: usize| rows[at - 1].until;
    let distance = |at: usize| place(at).abs_diff(aim.best);
    let fitting = |high: Cost| (1..rows.len()).take_while(move |&at| place(at) <= high);
    let near = || fitting(aim.high).skip_while(|&at| place(at) < aim.low);
    let best = |at: &usize| (rows[*at].row.rank, distance(*at));
    let is_safe = |at: &usize| !splits[*at];
    near()
        .filter(is_safe)
        .min_by_key(best)
        .or_else(|| fitting(most).filter(is_safe).min_by_key(|at| distance(*at)))
        .or_else(|| near().min_by_key(best))
        .or_else(|| fitting(aim.high).last())
        .unwrap_or(1)
}

/// For each row, returns whether a cut before it would split an array element that fits one chunk.
fn splits(rows: &[Costed], from: Cost, size: Cost) -> Vec<bool> {
    let mut change = vec![0i64; rows.len() + 1];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, Costed { row, until }) in rows.iter().enumerate() {
        match &row.shape {
            Shape::Opens(opened) => open.push((at, opened.is_element)),
            Shape::Closes => {
                let Some((first, is_element)) = open.pop() else {
                    continue;
                };
                let before = first.checked_sub(1).map_or(from, |above| rows[above].until);
                if is_element && until - before <= size {
                    change[first + 1] += 1;
                    change[at + 1] -= 1;
                }
            }
            Shape::Whole { .. } => {}
        }
    }
    let mut inside = 0;
    let sums = change.iter().map(|one| {
        inside += one;
        inside > 0
    });
    sums.collect()
}
