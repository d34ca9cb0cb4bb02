//! Compares two stored texts line by line.

use std::hash::BuildHasher;
use std::io;

use rustc_hash::{FxBuildHasher, FxHashMap};
use spillgate_text::View;

/// Maximum bytes of a text that is compared. The hashes of its lines are held in memory.
const MOST_COMPARED: u64 = 16 << 20;

/// Maximum number of added lines, and of removed lines, that are returned.
const MOST_LINES: usize = 24;

/// A line that only one of two texts has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLine {
    /// The number of the line in its text, counted from 1.
    pub number: u64,
    /// The line without its newline.
    pub text: String,
}

/// The differences between two texts. The order of lines does not count, so a moved line is not a
/// difference. A comma at the end of a line does not count either, because it depends on the next
/// line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Number of lines that only the newer text has.
    pub added: u64,
    /// Number of lines that only the older text has.
    pub removed: u64,
    /// The first few added lines.
    pub first_added: Vec<ChangedLine>,
    /// The first few removed lines.
    pub first_removed: Vec<ChangedLine>,
}

/// Returns the differences between two texts; `None` if one of them has more than 16 MiB.
///
/// # Errors
///
/// Fails if a text cannot be read.
pub fn changes(older: &View, newer: &View) -> io::Result<Option<Changes>> {
    if older.bytes().max(newer.bytes()) > MOST_COMPARED {
        return Ok(None);
    }
    let (added, first_added) = only(newer, counts(older)?)?;
    let (removed, first_removed) = only(older, counts(newer)?)?;
    Ok(Some(Changes {
        added,
        removed,
        first_added,
        first_removed,
    }))
}

/// Returns how often each line occurs, by its hash.
fn counts(view: &View) -> io::Result<FxHashMap<u64, u64>> {
    let mut counts: FxHashMap<u64, u64> = FxHashMap::default();
    let mut lines = view.lines_from(1)?;
    while let Some((_, line)) = lines.next_bytes()? {
        *counts.entry(hash(line)).or_default() += 1;
    }
    Ok(counts)
}

/// Returns the number of lines that occur more often than in the other text, and the first of them.
fn only(view: &View, mut other: FxHashMap<u64, u64>) -> io::Result<(u64, Vec<ChangedLine>)> {
    let (mut count, mut first) = (0, Vec::new());
    let mut lines = view.lines_from(1)?;
    while let Some((span, line)) = lines.next_bytes()? {
        match other.get_mut(&hash(line)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => {
                count += 1;
                if first.len() < MOST_LINES {
                    let text = String::from_utf8_lossy(line);
                    first.push(ChangedLine {
                        number: span.number,
                        text: text.trim_end_matches('\n').to_owned(),
                    });
                }
            }
        }
    }
    Ok((count, first))
}

/// Returns the hash of the part of a line that is compared.
fn hash(line: &[u8]) -> u64 {
    let line = line.trim_ascii_end();
    FxBuildHasher.hash_one(line.strip_suffix(b",").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::tests::artifact;

    #[test]
    fn lines_that_moved_are_no_difference() {
        let line = |number, text: &str| ChangedLine {
            number,
            text: text.to_owned(),
        };
        let found = |older: &str, newer: &str| {
            let [older, newer] = [older, newer].map(artifact);
            changes(older.view(), newer.view()).unwrap().unwrap()
        };
        assert_eq!(found("a\nb,\nc\n", "c\nb\na\r\n"), Changes::default());
        assert_eq!(found("", ""), Changes::default());
        assert_eq!(
            found("a\na\nb\n", "a\nx\ny\n"),
            Changes {
                added: 2,
                removed: 2,
                first_added: vec![line(2, "x"), line(3, "y")],
                first_removed: vec![line(2, "a"), line(3, "b")],
            }
        );
        let many: String = (0..100).map(|i| format!("{i}\n")).collect();
        let all = found("", &many);
        assert_eq!((all.added, all.first_added.len()), (100, MOST_LINES));
    }
}
