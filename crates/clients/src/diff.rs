//! Differences of texts, line by line.
//!
//! Only one algorithm of `similar`, over numbers for the lines, is in the program: its `TextDiff`
//! would bring six, each several times (0.5 MB).

use std::fmt::{self, Display};
use std::path::Path;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, IdentifyDistinct, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{Change, DiffOp, DiffableStr, group_diff_ops};

/// Lines around a change in a unified diff.
const CONTEXT: usize = 3;

/// The difference of two texts.
#[derive(Debug)]
pub struct LineDiff<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    ops: Vec<DiffOp>,
}

impl<'t> LineDiff<'t> {
    /// Compares two texts. After `deadline`, the difference is correct but may be larger than
    /// necessary.
    pub fn new(old: &'t str, new: &'t str, deadline: Option<Instant>) -> Self {
        let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
        let numbers = IdentifyDistinct::<u32>::new(&*old, 0..old.len(), &*new, 0..new.len());
        let (olds, news) = (numbers.old_lookup(), numbers.new_lookup());
        let mut hook = Compact::new(Replace::new(Capture::new()), olds, news);
        let (old_range, new_range) = (numbers.old_range(), numbers.new_range());
        let Ok(()) = myers::diff_deadline(&mut hook, olds, old_range, news, new_range, deadline);
        let ops = hook.into_inner().into_inner().into_ops();
        Self { old, new, ops }
    }

    /// Returns the lines of both texts in order, each with the text that it is in.
    pub fn changes(&self) -> impl Iterator<Item = Change<&'t str>> + '_ {
        self.ops
            .iter()
            .flat_map(|op| op.iter_changes(&*self.old, &*self.new))
    }

    /// Returns the unified diff, with the names of the two texts; empty if they are equal.
    pub fn unified<'d>(&'d self, from: &'d str, to: &'d str) -> impl Display + 'd {
        Unified {
            diff: self,
            from,
            to,
        }
    }
}

struct Unified<'d, 't> {
    diff: &'d LineDiff<'t>,
    from: &'d str,
    to: &'d str,
}

impl Display for Unified<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LineDiff { old, new, ops } = self.diff;
        let hunks = group_diff_ops(ops.clone(), CONTEXT);
        // Equal texts may have a group without changes.
        let hunks = hunks.iter().filter(|hunk| {
            let is_equal = |op: &DiffOp| matches!(op, DiffOp::Equal { .. });
            !hunk.iter().all(is_equal)
        });
        for (at, hunk) in hunks.enumerate() {
            if at == 0 {
                writeln!(f, "--- {}\n+++ {}", self.from, self.to)?;
            }
            writeln!(f, "{}", UnifiedHunkHeader::new(hunk))?;
            for change in hunk.iter().flat_map(|op| op.iter_changes(&**old, &**new)) {
                write!(f, "{}{}", change.tag(), change.value())?;
                if !change.value().ends_with_newline() {
                    writeln!(f, "\n\\ No newline at end of file")?;
                }
            }
        }
        Ok(())
    }
}

/// Formats a unified diff of the file `from` and the file `to`, with three lines around each change;
/// empty if nothing changes.
pub fn unified(from: &Path, to: &Path, before: &str, after: &str) -> String {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    LineDiff::new(before, after, None)
        .unified(&from, &to)
        .to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::TextDiff;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn it_is_what_the_whole_library_says(
            old in prop::collection::vec("[ab]{0,2}(\n|\r\n|\r)?", 0..160),
            edits in prop::collection::vec((0..160_usize, "[abc]{0,2}\n?"), 0..12),
        ) {
            let mut new = old.clone();
            for (at, line) in edits {
                match at.checked_rem(new.len()) {
                    Some(at) if line.is_empty() => drop(new.remove(at)),
                    Some(at) => new[at] = line,
                    None => new.push(line),
                }
            }
            let (old, new) = (old.concat(), new.concat());
            let whole = TextDiff::from_lines(&old, &new);
            let theirs = whole.unified_diff().context_radius(CONTEXT).header("a", "b").to_string();
            let ours = LineDiff::new(&old, &new, None);
            prop_assert_eq!(ours.unified("a", "b").to_string(), theirs);
            let all = |changes: &mut dyn Iterator<Item = Change<&str>>| {
                changes.map(|it| (it.tag(), it.old_index(), it.value().to_owned())).collect::<Vec<_>>()
            };
            prop_assert_eq!(all(&mut ours.changes()), all(&mut whole.iter_all_changes()));
        }
    }
}
