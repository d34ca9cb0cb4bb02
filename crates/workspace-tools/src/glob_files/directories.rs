//! Counts matching files per directory.

use std::collections::HashMap;

use crate::recovery::{PathCount, TopCounts};

/// Maximum number of directories that are counted at one depth. If there are more, the counts of
/// this depth are dropped, because the timing of the threads would decide which directories are
/// counted.
const MOST: usize = 4096;

/// Number of levels below the searched directory at which matches are counted. The second level is
/// useful if the tree has a single directory at the top.
const DEPTHS: usize = 2;

/// Matches per directory, at each depth. `None` at a depth with too many directories.
#[derive(Debug)]
pub(super) struct Directories {
    /// The length in bytes of the path at which the walk began.
    base_at: usize,
    depths: [Option<HashMap<Vec<u8>, u64>>; DEPTHS],
}

impl Directories {
    pub(super) fn new(base_at: usize) -> Self {
        Self {
            base_at,
            depths: [(); DEPTHS].map(|()| Some(HashMap::new())),
        }
    }

    /// Adds `files` matches in the directory at `path`, a path from the root with a trailing
    /// `/`.
    pub(super) fn add(&mut self, path: &[u8], files: u64) {
        for depth in 1..=DEPTHS {
            let name = &path[..end(path, self.base_at, depth)];
            self.count(depth - 1, name, files);
        }
    }

    fn count(&mut self, depth: usize, name: &[u8], files: u64) {
        let Some(counts) = &mut self.depths[depth] else {
            return;
        };
        if let Some(count) = counts.get_mut(name) {
            *count += files;
        } else if counts.len() < MOST {
            counts.insert(name.to_vec(), files);
        } else {
            self.depths[depth] = None;
        }
    }

    /// Adds the counts of another thread.
    pub(super) fn join(&mut self, other: Self) {
        for (depth, counts) in other.depths.into_iter().enumerate() {
            let Some(counts) = counts else {
                self.depths[depth] = None;
                continue;
            };
            for (name, files) in counts {
                self.count(depth, &name, files);
            }
        }
    }

    /// The directories with the most matches, in descending order, at the deepest level that
    /// was counted.
    pub(super) fn sorted(&self) -> Vec<PathCount> {
        let mut most = TopCounts::default();
        let deepest = self.depths.iter().rev().flatten().next();
        for (name, files) in deepest.into_iter().flatten() {
            most.push(name, *files);
        }
        most.sorted()
    }
}

/// Returns the offset at which the path of the ancestor `depth` levels below the base ends, without
/// its trailing `/`.
fn end(path: &[u8], base_at: usize, depth: usize) -> usize {
    let below = path.get(base_at..).unwrap_or_default();
    let slashes = memchr::memchr_iter(b'/', below).take(depth);
    let end = slashes.last().map(|at| base_at + at);
    end.unwrap_or_else(|| base_at.saturating_sub(1).min(path.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(directories: &Directories) -> Vec<(String, u64)> {
        let sorted = directories.sorted().into_iter();
        let text = |name| String::from_utf8(name).unwrap();
        sorted.map(|(name, files)| (text(name), files)).collect()
    }

    #[test]
    fn files_are_counted_two_directories_deep() {
        let mut directories = Directories::new(4);
        for (path, files) in [
            ("src/", 2),
            ("src/a/", 3),
            ("src/a/b/", 4),
            ("src/a/b/c/", 5),
        ] {
            directories.add(path.as_bytes(), files);
        }
        let want = [("src/a/b", 9), ("src/a", 3), ("src", 2)];
        let want = want.map(|(name, files)| (name.to_owned(), files));
        assert_eq!(reply(&directories), want);
        let mut root = Directories::new(0);
        root.add(b"", 1);
        assert_eq!(reply(&root), [(String::new(), 1)]);
    }

    #[test]
    fn too_many_of_them_are_told_less_deep_or_not_at_all() {
        let seen = |names: std::ops::Range<usize>, top: usize| {
            let mut seen = Directories::new(0);
            for at in names {
                seen.add(format!("{}/{at}/", at % top).as_bytes(), 1);
            }
            seen
        };
        for split in [0, 1, MOST / 2, MOST, MOST + 1] {
            let mut one = seen(0..split, 2);
            one.join(seen(split..MOST + 1, 2));
            let want = [("0", MOST as u64 / 2 + 1), ("1", MOST as u64 / 2)];
            assert_eq!(
                reply(&one),
                want.map(|(name, files)| (name.to_owned(), files))
            );
            let mut one = seen(0..split, MOST * 2);
            one.join(seen(split..MOST + 1, MOST * 2));
            assert!(one.sorted().is_empty(), "{split}");
        }
    }
}
