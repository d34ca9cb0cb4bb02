//! Outlines a diff by its files.

use std::io;

use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped};
use crate::{OutlineEntry, located, note};

/// Maximum number of files that are shown. All files are counted.
const MOST: usize = 200;

/// Returns the totals, then a line per file with its added and removed lines.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut diff = Diff::default();
    plan.each_line(view.source(), |line, offset| diff.line(line, offset))?;
    diff.next_file(None);
    let (added, removed) = (plan.scaled(diff.added), plan.scaled(diff.removed));
    let count = plan.scaled(diff.count);
    let mut lines = vec![note(format!(
        "{}, +{added} −{removed}",
        counted(&count, "file")
    ))];
    // If space is short, the files with the smallest changes are dropped first.
    let mut order: Vec<usize> = (0..diff.files.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(diff.files[at].added + diff.files[at].removed));
    let mut ranks = vec![0; order.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank + 1;
    }
    for (file, rank) in diff.files.iter().zip(ranks) {
        let what = match file.what {
            "" => String::new(),
            what => format!(" ({what})"),
        };
        let (added, removed) = (grouped(file.added), grouped(file.removed));
        let text = format!("{}{what} +{added} −{removed}", file.name);
        lines.push(located(view, file.offset, (rank, 0), text)?);
    }
    Ok(lines)
}

#[derive(Debug, Default)]
struct Diff {
    files: Vec<File>,
    count: u64,
    added: u64,
    removed: u64,
    open: Option<File>,
    /// Numbers of lines of the old and of the new text that remain in the current hunk. These lines
    /// are never headers, whatever they look like.
    left: (u64, u64),
    /// The offset and the text of a `---` line with the old name of a file.
    old: Option<(u64, String)>,
}

#[derive(Debug, Default)]
struct File {
    offset: u64,
    name: String,
    what: &'static str,
    added: u64,
    removed: u64,
}

impl Diff {
    fn line(&mut self, line: &[u8], offset: u64) {
        let in_hunk = self.left != (0, 0);
        if in_hunk && line.first().is_none_or(|byte| b" +-\\\t\r".contains(byte)) {
            return self.hunk_line(line.first().copied());
        }
        self.left = (0, 0);
        let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]);
        let text = text.trim_end();
        if let Some(names) = text.strip_prefix("diff ") {
            let name = names.rsplit(" b/").next().unwrap_or(names);
            self.next_file(Some(File {
                offset,
                name: name.to_owned(),
                ..File::default()
            }));
        } else if let Some(old) = text.strip_prefix("--- ") {
            self.old = Some((offset, name_of(old).to_owned()));
        } else if let Some(new) = text.strip_prefix("+++ ") {
            self.named(name_of(new), offset);
        } else if text.starts_with("@@ ") {
            self.left = hunk(text).unwrap_or_default();
        } else if let Some(file) = &mut self.open {
            let marks = [
                ("new file", "new"),
                ("deleted file", "deleted"),
                ("rename from", "renamed"),
                ("Binary files", "binary"),
                ("GIT binary", "binary"),
            ];
            let mark = marks.iter().find(|(mark, _)| text.starts_with(mark));
            file.what = mark.map_or(file.what, |(_, what)| what);
        }
    }

    fn hunk_line(&mut self, first: Option<u8>) {
        let (old, new) = &mut self.left;
        match first {
            Some(b'+') => {
                *new = new.saturating_sub(1);
                self.added += 1;
                if let Some(file) = &mut self.open {
                    file.added += 1;
                }
            }
            Some(b'-') => {
                *old = old.saturating_sub(1);
                self.removed += 1;
                if let Some(file) = &mut self.open {
                    file.removed += 1;
                }
            }
            Some(b'\\') => {}
            _ => {
                *old = old.saturating_sub(1);
                *new = new.saturating_sub(1);
            }
        }
    }

    /// Sets the new name of a file; a deleted file keeps its old name.
    fn named(&mut self, new: &str, offset: u64) {
        let Some((start, old)) = self.old.take() else {
            return;
        };
        let name = if new == "/dev/null" {
            old
        } else {
            new.to_owned()
        };
        match &mut self.open {
            // Git writes the name of a file twice.
            Some(file) if file.added + file.removed == 0 && file.offset < start => file.name = name,
            _ => self.next_file(Some(File {
                offset: start.min(offset),
                name,
                ..File::default()
            })),
        }
    }

    fn next_file(&mut self, next: Option<File>) {
        if let Some(file) = std::mem::replace(&mut self.open, next) {
            self.count += 1;
            if self.files.len() < MOST {
                self.files.push(file);
            }
        }
    }
}

/// Maximum number of bytes of a line that are examined.
const LONGEST: usize = 1000;

/// Returns the name without `a/` or `b/` and without the time that `diff -u` appends.
fn name_of(text: &str) -> &str {
    let name = text.split('\t').next().unwrap_or(text);
    let prefixed = |prefix| name.strip_prefix(prefix);
    prefixed("a/").or_else(|| prefixed("b/")).unwrap_or(name)
}

/// Returns the numbers of lines of the old and of the new text from the header of a hunk: 2 and 4
/// for `@@ -1,2 +3,4 @@`.
fn hunk(text: &str) -> Option<(u64, u64)> {
    let mut ranges = text.strip_prefix("@@ ")?.split(' ');
    let mut count = |sign: char| -> Option<u64> {
        let range = ranges.next()?.strip_prefix(sign)?;
        match range.find(',') {
            Some(comma) => range[comma + 1..].parse().ok(),
            None => Some(1),
        }
    };
    Some((count('-')?, count('+')?))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    fn shown(text: &str) -> String {
        shown_by(outline, text)
    }

    #[test]
    fn files_with_counts() {
        let git = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn x\n a\n--- b\n+++ c\n+d\n e\n\
            diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n\
            diff --git a/p.png b/p.png\nnew file mode 100644\nBinary files /dev/null and b/p.png differ\n";
        assert_snapshot!(shown(git), @"
        3 files, +2 −2
        1: src/a.rs +2 −1
        11: old (deleted) +0 −1
        18: p.png (binary) +0 −0
        ");
        let plain = "--- one.txt\t2026-01-01\n+++ two.txt\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n--- three\n+++ three\n@@ -0,0 +1,2 @@\n+a\n+b\n";
        assert_snapshot!(shown(plain), @"
        2 files, +3 −1
        1: two.txt +1 −1
        6: three +2 −0
        ");
    }
}
