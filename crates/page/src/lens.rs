//! Ways to look at a log: with runs of similar lines and stack traces folded, or only the lines of some
//! levels.
//!
//! The first request reads the whole log once and keeps where the folds are. Later requests read only
//! the lines that they show.

use std::io;

use spillgate_lookup::Artifact;
use spillgate_outline::line_signature;

use crate::level::Level;

/// Fewest similar lines in a row, and fewest lines of a stack trace, that are folded.
const SIMILAR: u64 = 4;
const TRACE: u64 = 3;

/// Most folds, or lines of a level, that are kept: 24 MB. What comes later is not folded, or left out.
const MOST: usize = 1_000_000;

/// A way to look at a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lens {
    Folded,
    Warnings,
    Errors,
}

impl Lens {
    /// The ways, with their words; the first one is that without a lens.
    pub(crate) const NAMES: [(&str, &str, Option<Self>); 4] = [
        ("", "all lines", None),
        ("folded", "similar lines folded", Some(Self::Folded)),
        ("warnings", "warnings and errors", Some(Self::Warnings)),
        ("errors", "only errors", Some(Self::Errors)),
    ];

    pub(crate) fn of(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, ..)| *known == name);
        found.and_then(|(.., lens)| *lens)
    }
}

/// Lines that stand in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fold {
    /// The first of the lines.
    first: u64,
    lines: u64,
    /// The lines that the folds up to this one hide.
    hidden: u64,
}

/// What a row of a lens shows: a line, and the lines that are folded into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) line: u64,
    /// How many lines are hidden after this one.
    pub(crate) hidden: u64,
}

/// The rows of a log under a lens.
#[derive(Debug)]
pub(crate) struct Rows {
    /// All rows.
    pub(crate) total: u64,
    of: Of,
}

#[derive(Debug)]
enum Of {
    Folds(Vec<Fold>),
    Lines(Vec<u64>),
}

impl Rows {
    /// Reads a log.
    pub(crate) fn of(artifact: &Artifact, lens: Lens) -> io::Result<Self> {
        match lens {
            Lens::Folded => Self::folded(artifact),
            Lens::Warnings => Self::levels(artifact, &[Level::Error, Level::Warning]),
            Lens::Errors => Self::levels(artifact, &[Level::Error]),
        }
    }

    fn folded(artifact: &Artifact) -> io::Result<Self> {
        let mut folding = Folding::default();
        let mut lines = artifact.view().lines_from(1)?;
        while let Some((line, bytes)) = lines.next_bytes()? {
            folding.line(line.number, bytes);
        }
        folding.end();
        let folds = folding.folds;
        let hidden = folds.last().map_or(0, |fold| fold.hidden);
        Ok(Self {
            total: artifact.view().lines() - hidden,
            of: Of::Folds(folds),
        })
    }

    fn levels(artifact: &Artifact, levels: &[Level]) -> io::Result<Self> {
        let mut found = Vec::new();
        let mut lines = artifact.view().lines_from(1)?;
        while let Some((line, bytes)) = lines.next_bytes()? {
            if levels.contains(&Level::of(bytes)) {
                found.push(line.number);
                if found.len() == MOST {
                    break;
                }
            }
        }
        Ok(Self {
            total: found.len() as u64,
            of: Of::Lines(found),
        })
    }

    /// Returns what a row shows, counted from 1; `None` after the last one.
    pub(crate) fn row(&self, row: u64) -> Option<Shown> {
        let at = row.checked_sub(1).filter(|_| row <= self.total)?;
        match &self.of {
            Of::Lines(lines) => {
                let line = *lines.get(usize::try_from(at).ok()?)?;
                Some(Shown { line, hidden: 0 })
            }
            Of::Folds(folds) => {
                // The row of a fold is its first line without the lines that are hidden before it.
                let after = folds.partition_point(|fold| fold.row() <= row);
                let Some(fold) = after.checked_sub(1).map(|before| folds[before]) else {
                    return Some(Shown {
                        line: row,
                        hidden: 0,
                    });
                };
                let is_fold = fold.row() == row;
                Some(Shown {
                    line: if is_fold {
                        fold.first
                    } else {
                        row + fold.hidden
                    },
                    hidden: if is_fold { fold.lines - 1 } else { 0 },
                })
            }
        }
    }

    /// Returns the row that shows a line, or the next one that is shown.
    pub(crate) fn row_of(&self, line: u64) -> u64 {
        let row = match &self.of {
            Of::Lines(lines) => lines.partition_point(|one| *one < line) as u64 + 1,
            Of::Folds(folds) => {
                let after = folds.partition_point(|fold| fold.first <= line);
                match after.checked_sub(1).map(|before| folds[before]) {
                    Some(fold) if line < fold.first + fold.lines => fold.row(),
                    Some(fold) => line - fold.hidden,
                    None => line,
                }
            }
        };
        row.clamp(1, self.total.max(1))
    }
}

impl Fold {
    /// Returns the row in which the lines stand.
    fn row(&self) -> u64 {
        self.first - (self.hidden - (self.lines - 1))
    }
}

/// Finds the folds while the lines come.
#[derive(Debug, Default)]
struct Folding {
    folds: Vec<Fold>,
    hidden: u64,
    /// The lines that may become a fold: the first, how many, and what they have in common.
    first: u64,
    lines: u64,
    common: Common,
}

/// What the lines of a fold have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Common {
    #[default]
    Nothing,
    /// They are indented, as the lines of a stack trace are.
    Indented,
    /// What is left of them without numbers, times and other things that vary.
    Signature(u64),
}

impl Folding {
    fn line(&mut self, number: u64, bytes: &[u8]) {
        let text = bytes.trim_ascii_end();
        let common = match text.first() {
            None => Common::Nothing,
            Some(b' ' | b'\t') => Common::Indented,
            Some(_) => Common::Signature(line_signature(text)),
        };
        if common != self.common || common == Common::Nothing {
            self.end();
            (self.first, self.lines, self.common) = (number, 0, common);
        }
        self.lines += 1;
    }

    /// Ends the lines that have something in common.
    fn end(&mut self) {
        let least = match self.common {
            Common::Nothing => u64::MAX,
            Common::Indented => TRACE,
            Common::Signature(_) => SIMILAR,
        };
        if self.lines >= least && self.folds.len() < MOST {
            self.hidden += self.lines - 1;
            self.folds.push(Fold {
                first: self.first,
                lines: self.lines,
                hidden: self.hidden,
            });
        }
        self.lines = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(text: &str) -> Rows {
        let mut folding = Folding::default();
        let mut count = 0;
        for line in text.lines() {
            count += 1;
            folding.line(count, line.as_bytes());
        }
        folding.end();
        Rows {
            total: count - folding.hidden,
            of: Of::Folds(folding.folds),
        }
    }

    fn shown(rows: &Rows) -> Vec<(u64, u64)> {
        let all = (1..=rows.total).map(|row| rows.row(row).unwrap());
        all.map(|one| (one.line, one.hidden)).collect()
    }

    #[test]
    fn similar_lines_and_stack_traces_are_folded() {
        let text = "start\ndownloaded 1%\ndownloaded 2%\ndownloaded 50%\ndownloaded 99%\nERROR it broke\n  at a (b.js:1)\n  at c (d.js:2)\n\tat e\n\n\n\n\nx 1\nx 2\nx 3\ny";
        let rows = folded(text);
        let want = [
            (1, 0),
            (2, 3),
            (6, 0),
            (7, 2),
            (10, 0),
            (11, 0),
            (12, 0),
            (13, 0),
            (14, 0),
            (15, 0),
            (16, 0),
            (17, 0),
        ];
        assert_eq!(shown(&rows), want);
        for (line, row) in [
            (1, 1),
            (2, 2),
            (4, 2),
            (5, 2),
            (6, 3),
            (9, 4),
            (10, 5),
            (17, 12),
            (99, 12),
        ] {
            assert_eq!(rows.row_of(line), row, "{line}");
        }
        assert_eq!(rows.row(0), None);
        assert_eq!(rows.row(13), None);
    }

    #[test]
    fn only_lines_of_a_level() {
        let rows = Rows {
            total: 2,
            of: Of::Lines(vec![7, 20]),
        };
        assert_eq!(shown(&rows), [(7, 0), (20, 0)]);
        let found = [1, 7, 8, 20, 21].map(|line| rows.row_of(line));
        assert_eq!(found, [1, 1, 2, 2, 2]);
    }

    proptest! {
        #[test]
        fn every_line_is_in_one_row(lines in prop::collection::vec("(a [0-9]|  at [ab]|b|)", 0..60)) {
            let rows = folded(&lines.join("\n"));
            let mut next = 1;
            for row in 1..=rows.total {
                let Shown { line, hidden } = rows.row(row).unwrap();
                prop_assert_eq!(line, next);
                for inside in line..=line + hidden {
                    prop_assert_eq!(rows.row_of(inside), row);
                }
                next = line + hidden + 1;
            }
            prop_assert_eq!(next, lines.join("\n").lines().count() as u64 + 1);
        }
    }
}
