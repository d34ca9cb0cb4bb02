//! Splits a chunk that turned out too large.

use std::io;

use spillgate_artifact::LineRange;
use spillgate_lookup::Artifact;

use super::path::{Common, Place};
use super::rows::{Row, Rows, Sort};
use super::{Chunk, Plan};

/// The part of a chunk around its middle in which the best cut is searched, in percent of its
/// bytes.
const AROUND: u64 = 20;

impl Plan {
    /// Splits a chunk in two near its middle, at a suitable place and without overlap. A row of
    /// several lines is split only if it is the only row of the chunk. Returns `None` if the chunk
    /// is a single line.
    pub(crate) fn split(
        &self,
        artifact: &Artifact,
        chunk: &Chunk,
    ) -> io::Result<Option<[Chunk; 2]>> {
        if chunk.lines.first >= chunk.lines.last {
            return Ok(None);
        }
        let alone = Sort::Text(artifact.manifest().facts.stats.kind);
        let cut = match best_cut(artifact, chunk, self.sort)? {
            Some(cut) => cut,
            None => match best_cut(artifact, chunk, alone)? {
                Some(cut) => cut,
                None => return Ok(None),
            },
        };
        self.halves(artifact, chunk, cut).map(Some)
    }

    fn halves(
        &self,
        artifact: &Artifact,
        chunk: &Chunk,
        (line, byte): (u64, u64),
    ) -> io::Result<[Chunk; 2]> {
        let upper = LineRange {
            first: chunk.lines.first,
            last: line - 1,
        };
        let lower = LineRange {
            first: line,
            last: chunk.lines.last,
        };
        let (path, place) = self.path_of(artifact, upper, chunk.place.clone(), chunk)?;
        let (lower_path, _) = self.path_of(artifact, lower, place.clone(), chunk)?;
        Ok([
            Chunk {
                lines: upper,
                own_first: chunk.own_first.min(line),
                bytes: (chunk.bytes.0, byte),
                path,
                ..chunk.clone()
            },
            Chunk {
                lines: lower,
                own_first: chunk.own_first.max(line),
                bytes: (byte, chunk.bytes.1),
                path: lower_path,
                begins: chunk.begins.as_ref().map(|_| place.begins()),
                place,
            },
        ])
    }

    /// Returns the path that the lines have in common, and the position at which they end.
    fn path_of(
        &self,
        artifact: &Artifact,
        lines: LineRange,
        place: Place,
        chunk: &Chunk,
    ) -> io::Result<(Option<String>, Place)> {
        if chunk.path.is_none() {
            return Ok((None, place));
        }
        let mut common = Common::new(place);
        let mut rows = Rows::new(artifact.view(), self.sort, lines)?;
        while let Some(row) = rows.next_row()? {
            common.pass(&row);
        }
        let (path, place) = common.finish();
        Ok((Some(path), place))
    }
}

/// Returns the first line and byte of the second half. If possible, the first half contains at
/// least one line that the previous chunk does not contain.
fn best_cut(artifact: &Artifact, chunk: &Chunk, sort: Sort) -> io::Result<Option<(u64, u64)>> {
    let (start, end) = chunk.bytes;
    let (middle, near) = (start.midpoint(end), (end - start) * AROUND / 100 / 2);
    let key = |row: &Row| {
        let distance = row.start.abs_diff(middle);
        let rank = if distance <= near { row.rank } else { u16::MAX };
        (
            row.lines.first <= chunk.own_first,
            distance > near,
            rank,
            distance,
        )
    };
    let mut rows = Rows::new(artifact.view(), sort, chunk.lines)?;
    let mut best = None;
    while let Some(row) = rows.next_row()? {
        if row.start == start {
            continue;
        }
        let found = (key(&row), (row.lines.first, row.start));
        if best.as_ref().is_none_or(|best| found < *best) {
            best = Some(found);
        }
    }
    Ok(best.map(|(_, cut)| cut))
}
