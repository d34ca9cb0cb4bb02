//! Ignore rules from `.gitignore` and `.ignore` files.
//!
//! The precedence is ripgrep's: the file in the deepest directory wins, and within a file the last
//! matching line. `.ignore` takes precedence over `.gitignore`. The `.gitignore` files of a
//! repository do not apply in a repository nested in it. `.gitignore` files outside of any
//! repository apply, too. Ignore files above the root or in the user's home are not read.

use std::ffi::{CStr, OsStr};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, statat};

use super::open_beneath;

/// Maximum bytes of one ignore file, and of all ignore files from a directory up to the root
/// together. This is a hundred times what large projects use. A file that exceeds the bound has no
/// effect.
const LARGEST: u64 = 1 << 20;

/// Maximum bytes of lines with wildcards in these files, because such lines compile to large
/// matchers. This is ten times what large projects use. Plain names and `*.suffix` are cheap and
/// not included: lists of data files contain many thousands of them.
const MOST_WILD: usize = 64 << 10;

/// Maximum length of a line, in bytes. The system accepts no longer path (`PATH_MAX`).
const LONGEST_LINE: usize = 4096;

/// The ignore files of a directory, and of those above it.
#[derive(Debug)]
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// The length of the directory's path in bytes, with the trailing `/`.
    depth: usize,
    ignore: Gitignore,
    gitignore: Gitignore,
    is_repository: bool,
    cost: Cost,
}

/// Bytes used so far, by a directory's ignore files and by those above it.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    all: usize,
    wild: usize,
}

/// What the ignore files say about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No rule matches.
    None,
    /// The path is excluded.
    Out,
    /// The path is included (`!name`), even if it is hidden.
    In,
}

/// Reads the ignore rules that apply in an open directory whose path has `depth` bytes.
pub(super) fn ignores(
    above: Option<&Arc<Ignores>>,
    folder: BorrowedFd<'_>,
    depth: usize,
) -> Option<Arc<Ignores>> {
    let is_repository = statat(folder, c".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let mut git_lines = match is_repository {
        true => excluded(folder),
        false => String::new(),
    };
    git_lines += &lines(folder, c".gitignore");
    let mut cost = above.map_or(Cost::default(), |above| above.cost);
    let gitignore = matcher(&git_lines, &mut cost);
    let ignore = matcher(&lines(folder, c".ignore"), &mut cost);
    let says_nothing = gitignore.is_empty() && ignore.is_empty();
    match above {
        Some(above) if says_nothing && !is_repository => Some(Arc::clone(above)),
        None if says_nothing => None,
        above => Some(Arc::new(Ignores {
            above: above.cloned(),
            depth,
            ignore,
            gitignore,
            is_repository,
            cost,
        })),
    }
}

/// Reads `.git/info/exclude`. The `.gitignore` in the directory of `.git` overrides its rules.
fn excluded(folder: BorrowedFd<'_>) -> String {
    match open_beneath::directory(folder, b".git/info") {
        Ok(info) => lines(info.as_fd(), c"exclude"),
        Err(_) => String::new(),
    }
}

/// Reads an ignore file and appends a newline. Returns an empty string if the file is missing,
/// unreadable or too large.
fn lines(folder: BorrowedFd<'_>, name: &CStr) -> String {
    let mut bytes = Vec::new();
    match open_beneath::regular(folder, name) {
        Ok(Some(file)) => match file.take(LARGEST + 1).read_to_end(&mut bytes) {
            Ok(read) if read as u64 <= LARGEST => String::from_utf8_lossy(&bytes) + "\n",
            _ => return String::new(),
        }
        .into_owned(),
        _ => String::new(),
    }
}

/// Compiles the lines, unless they exceed the bounds.
fn matcher(lines: &str, cost: &mut Cost) -> Gitignore {
    if lines.trim().is_empty() {
        return Gitignore::empty();
    }
    let lines = lines.strip_prefix('\u{feff}').unwrap_or(lines);
    let lines = || lines.lines().filter(|line| line.len() <= LONGEST_LINE);
    let with = Cost {
        all: cost.all + lines().map(str::len).sum::<usize>(),
        wild: cost.wild
            + lines()
                .filter(|line| is_wild(line))
                .map(str::len)
                .sum::<usize>(),
    };
    if with.all as u64 > LARGEST || with.wild > MOST_WILD {
        return Gitignore::empty();
    }
    *cost = with;
    let mut builder = GitignoreBuilder::new("");
    for line in lines() {
        // Invalid patterns are skipped, as git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Whether a line is more than a plain name or a suffix.
fn is_wild(line: &str) -> bool {
    !line.starts_with('#')
        && line
            .strip_prefix("*.")
            .unwrap_or(line)
            .contains(['*', '?', '['])
}

impl Ignores {
    /// What the rules say about `path`, a path from the root.
    pub(super) fn verdict(&self, path: &[u8], is_directory: bool) -> Verdict {
        let (mut git, mut left_repository) = (Verdict::None, false);
        let mut level = Some(self);
        while let Some(here) = level {
            let name = Path::new(OsStr::from_bytes(path.get(here.depth..).unwrap_or(path)));
            match verdict(&here.ignore, name, is_directory) {
                Verdict::None => {}
                said => return said,
            }
            if git == Verdict::None && !left_repository {
                git = verdict(&here.gitignore, name, is_directory);
            }
            left_repository |= here.is_repository;
            level = here.above.as_deref();
        }
        git
    }
}

fn verdict(matcher: &Gitignore, name: &Path, is_directory: bool) -> Verdict {
    match matcher.matched(name, is_directory) {
        ignore::Match::None => Verdict::None,
        ignore::Match::Ignore(_) => Verdict::Out,
        ignore::Match::Whitelist(_) => Verdict::In,
    }
}
