//! Outlines lists of files: paths (as from `find`), sizes with paths (as from `du`), and `ls -l`.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::{Lead, OutlineEntry, located, note};

/// Number of bytes at the start of a text that show whether it is a list of files.
const HEAD: u64 = 16 << 10;
/// Maximum number of lines at the start that are examined for this.
const JUDGED: usize = 200;
/// Minimum number of lines of a list.
const FEWEST: usize = 10;
/// Maximum number of bytes of a line that are read: the maximum length of a path on Linux.
const LONGEST: usize = 4096;
/// Maximum number of levels of directories whose files are counted.
const LEVELS: usize = 10;
/// Maximum number of directories whose files are counted.
const DIRECTORIES: usize = 10_000;
/// Maximum number of directories that are shown.
const SHOWN: usize = 150;
/// Maximum number of file extensions that are shown.
const EXTENSIONS: usize = 6;
/// Maximum number of files with the largest numbers that are shown.
const LARGEST: usize = 5;
/// Maximum number of different file extensions that are counted.
const APART: usize = 1000;

fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the patterns of this file are valid")
}

/// A number or a size before a path, as `du` and `wc` print it.
static NUMBERED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^ *([0-9][0-9.]*[KMGTP]?)[ \t]+(\S.*)$"));
static COUNTED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^(\S.*?):([0-9]+)$"));
/// A line of `ls -l`: the size is the first group, the name the second.
static LONG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?-u)^ *(?:\d+ +)?(?:\d+ +)?[dlcbps-][rwxsStT-]{9}[.+@]? +\d+ +\S+ +\S+ +(\d+(?:\.\d+)?[KMGTP]?)",
        r" +(?:\w{3} +\d+ +[\d:]+|\d{4}-\d\d-\d\d \d\d:\d\d\S*(?: [+-]\d{4})?) +(\S.*)$",
    ))
});

/// The format of the lines of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Paths,
    Numbered,
    Counted,
    Long,
}

impl Form {
    const ALL: [Self; 4] = [Self::Long, Self::Counted, Self::Numbered, Self::Paths];

    /// Returns the path and the number in a line.
    fn read(self, line: &[u8]) -> Option<(&[u8], &[u8])> {
        let (path, number) = match self {
            Self::Paths => (line, &line[..0]),
            Self::Numbered => groups(&NUMBERED, line, (2, 1))?,
            Self::Counted => groups(&COUNTED, line, (1, 2))?,
            Self::Long => return groups(&LONG, line, (2, 1)),
        };
        is_path(path).then_some((path, number))
    }
}

fn groups<'a>(
    pattern: &Regex,
    line: &'a [u8],
    (path, number): (usize, usize),
) -> Option<(&'a [u8], &'a [u8])> {
    let found = pattern.captures(line)?;
    let group = |at: usize| found.get(at).map(|group| group.as_bytes());
    Some((group(path)?, group(number)?))
}

/// Returns whether a text looks like a path: it contains no punctuation of sentences or of code,
/// and at most one blank between words.
fn is_path(text: &[u8]) -> bool {
    let has_mark = text.iter().any(|byte| b"\t;\"'<>|=(){}*`".contains(byte));
    let blanks = memchr::memchr_iter(b' ', text).count();
    let slashes = memchr::memchr_iter(b'/', text).count();
    !has_mark
        && blanks <= slashes
        && memchr::memmem::find(text, b": ").is_none()
        && memchr::memmem::find(text, b"://").is_none()
}

/// Returns the outline of a list of files; no entries for other texts.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let judged = lines(&head).map(|(_, line)| line.trim_ascii_end());
    let mut judged: Vec<&[u8]> = judged
        .filter(|line| !line.is_empty())
        .take(JUDGED)
        .collect();
    if head.len() as u64 == HEAD && judged.len() < JUDGED {
        judged.pop(); // the head may cut it off
    }
    if judged.len() < FEWEST {
        return Ok(Vec::new());
    }
    let fits = |form: &Form| {
        let listed = judged.iter().filter(|line| form.read(line).is_some());
        let titles = judged.iter().filter(|line| is_title(line)).count();
        if *form == Form::Long {
            return (listed.count() + titles) * 10 >= judged.len() * 9 && titles * 2 < judged.len();
        }
        let listed: Vec<_> = listed.collect();
        let nested = listed.iter().filter(|line| line.contains(&b'/')).count();
        listed.len() * 20 >= judged.len() * 19 && nested * 2 >= listed.len()
    };
    match Form::ALL.into_iter().find(fits) {
        Some(form) => Listing::read(view, plan, form)?.outline(view, plan),
        None => Ok(Vec::new()),
    }
}

/// Returns whether a line is the title or the `total` line of a directory in `ls -lR`.
fn is_title(line: &[u8]) -> bool {
    line.starts_with(b"total ") || line.ends_with(b":") && line.len() > 1
}

/// A directory: the offset of its first file, and the number of files in it and below it.
#[derive(Debug, Clone, Copy)]
struct Directory {
    offset: u64,
    files: u64,
}

/// The files of a list.
struct Listing {
    form: Form,
    files: u64,
    /// The directories by path. Each path ends with a slash.
    directories: BTreeMap<Vec<u8>, Directory>,
    /// Hashes of the paths of directories that contain files.
    parents: FxHashSet<u64>,
    extensions: FxHashMap<Vec<u8>, u64>,
    /// The files with the largest values in the list's number column (bytes or blocks), largest first.
    largest: Vec<(f64, u64, String)>,
    /// The sum of these values over all files.
    sum: f64,
}

impl Listing {
    fn read(view: &View, plan: &SamplePlan, form: Form) -> io::Result<Self> {
        let mut all = Self {
            form,
            files: 0,
            directories: BTreeMap::new(),
            parents: FxHashSet::default(),
            extensions: FxHashMap::default(),
            largest: Vec::new(),
            sum: 0.0,
        };
        // The path of the directory whose files follow, in `ls -lR`.
        let mut title = Vec::new();
        plan.each_line(view.source(), |line, offset| {
            let line = line[..line.len().min(LONGEST)].trim_ascii_end();
            if form == Form::Long
                && let Some(directory) = line.strip_suffix(b":")
                && LONG.find(line).is_none()
            {
                title = [directory, b"/"].concat();
            } else if let Some((name, number)) = form.read(line) {
                let name = name.strip_suffix(b"/.").unwrap_or(name);
                // `ls` also lists `.` and `..`; `wc` and `du -c` end with a total.
                if !matches!(name, b"." | b".." | b"total") && !name.is_empty() {
                    all.add(&[&title, name].concat(), number, offset);
                }
            }
        })?;
        Ok(all)
    }

    fn add(&mut self, path: &[u8], number: &[u8], offset: u64) {
        self.files += 1;
        let slashes: Vec<usize> = memchr::memchr_iter(b'/', path).collect();
        if let Some(&last) = slashes.last() {
            self.parents.insert(FxBuildHasher.hash_one(&path[..last]));
        }
        for &slash in slashes.iter().take(LEVELS) {
            let directory = &path[..=slash];
            if let Some(known) = self.directories.get_mut(directory) {
                known.files += 1;
            } else if self.directories.len() < DIRECTORIES {
                let first = Directory { offset, files: 1 };
                self.directories.insert(directory.to_vec(), first);
            }
        }
        let name = &path[slashes.last().map_or(0, |last| last + 1)..];
        let dot = memchr::memrchr(b'.', name).filter(|&dot| dot > 0 && name.len() - dot <= 12);
        if let Some(dot) = dot {
            let extension = &name[dot..];
            if let Some(count) = self.extensions.get_mut(extension) {
                *count += 1;
            } else if self.extensions.len() < APART {
                self.extensions.insert(extension.to_vec(), 1);
            }
        }
        if let Some(size) = size(number) {
            self.sum += size;
            let is_large = self.largest.len() < LARGEST
                || self.largest.last().is_some_and(|least| size > least.0);
            if is_large && size > 0.0 {
                let number = String::from_utf8_lossy(number);
                let text = format!("{number} {}", String::from_utf8_lossy(path));
                let at = self.largest.partition_point(|one| one.0 >= size);
                self.largest.insert(at, (size, offset, text));
                self.largest.truncate(LARGEST);
            }
        }
    }

    /// Returns the numbers of files by extension, the largest files, and the directories below the
    /// common directory of all files.
    fn outline(self, view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
        let common = self.common();
        let mut shown = vec![note(self.summary(plan, &common))];
        if self.sum > 0.0 {
            for (at, (_, offset, text)) in self.largest.iter().enumerate() {
                shown.push(located(
                    view,
                    *offset,
                    (1 + 2 * at, 0),
                    format!("largest: {text}"),
                )?);
            }
        }
        let below = self.directories.iter().filter_map(|(path, directory)| {
            let rest = path.strip_prefix(common.as_slice())?;
            let level = memchr::memchr_iter(b'/', rest).count();
            (1..=2)
                .contains(&level)
                .then_some((level, path, rest, directory))
        });
        let mut below: Vec<_> = below.collect();
        // Within a level, directories with more files come first.
        below.sort_by_key(|&(level, path, _, directory)| (level, u64::MAX - directory.files, path));
        below.truncate(SHOWN);
        let mut ranked: Vec<_> = below.into_iter().enumerate().collect();
        ranked.sort_by_key(|&(_, (_, path, ..))| path);
        for (rank, (level, path, rest, directory)) in ranked {
            let files = plan.scaled(directory.files);
            let text = format!("{} ({files})", String::from_utf8_lossy(rest));
            let mut entry = located(view, directory.offset, (2 + rank, level - 1), text)?;
            let path = String::from_utf8_lossy(path);
            // Only between brackets `-` needs the backslash that `escape` puts before it.
            let pattern = |path: &str| regex::escape(path).replace(r"\-", "-");
            entry.lead = Some(Lead::Grep(match self.form {
                Form::Numbered => pattern(&path),
                Form::Long => format!("^{}:", pattern(path.trim_end_matches('/'))),
                Form::Paths | Form::Counted => format!("^{}", pattern(&path)),
            }));
            shown.push(entry);
        }
        Ok(shown)
    }

    /// Returns the common directory of all files; an empty path if there is none.
    fn common(&self) -> Vec<u8> {
        let all = self
            .directories
            .iter()
            .filter(|(_, one)| one.files == self.files);
        let deepest = all.max_by_key(|(path, _)| path.len());
        deepest.map(|(path, _)| path.clone()).unwrap_or_default()
    }

    fn summary(&self, plan: &SamplePlan, common: &[u8]) -> String {
        let mut text = counted(&plan.scaled(self.files), "path");
        if self.parents.len() > 1 {
            let directories = grouped(self.parents.len() as u64);
            text.push_str(&format!(" in {directories} directories"));
        }
        if !common.is_empty() {
            text.push_str(&format!(" below {}", String::from_utf8_lossy(common)));
        }
        let mut kinds: Vec<_> = self.extensions.iter().collect();
        kinds.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
        let kinds = kinds.into_iter().take(EXTENSIONS);
        let kinds: Vec<String> = kinds
            .map(|(name, count)| {
                format!("{}× {}", plan.scaled(*count), String::from_utf8_lossy(name))
            })
            .collect();
        if !kinds.is_empty() {
            text.push_str(&format!(": {}", kinds.join(", ")));
        }
        text
    }
}

/// Reads a number with the unit of `du -h` and `ls -h`.
fn size(number: &[u8]) -> Option<f64> {
    let number = std::str::from_utf8(number).ok()?;
    let digits = number.trim_end_matches(|unit: char| unit.is_ascii_uppercase());
    let unit = match &number[digits.len()..] {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => return None,
    };
    digits
        .parse::<f64>()
        .ok()
        .map(|digits| digits * 1024f64.powi(unit))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_artifact::ContentKind;

    use super::*;
    use crate::tests::{shown_by, view_of};

    #[test]
    fn lists_of_files() {
        let names = [
            "a.rs",
            "b.rs",
            "c.md",
            "d/e.rs",
            "d/f.rs",
            "d/g/h.toml",
            "i",
            "d/j k.rs",
        ];
        let found: String = ["./src/", "./docs/"]
            .iter()
            .flat_map(|base| names.map(|name| format!("{base}{name}\n")))
            .collect();
        assert_snapshot!(shown_by(outline, &found), @"
        16 paths in 6 directories below ./: 10× .rs, 2× .md, 2× .toml
        9: docs/ (8)
          12: docs/d/ (4)
        1: src/ (8)
          4: src/d/ (4)
        ");
        let counts: String = (0..12)
            .map(|i| format!("src/m{}/f{i}.rs:{}\n", i % 3, i * 7))
            .collect();
        assert_snapshot!(shown_by(outline, &counts), @"
        12 paths in 3 directories below src/: 12× .rs
        12: largest: 77 src/m2/f11.rs
        11: largest: 70 src/m1/f10.rs
        10: largest: 63 src/m0/f9.rs
        9: largest: 56 src/m2/f8.rs
        8: largest: 49 src/m1/f7.rs
        1: m0/ (4)
        2: m1/ (4)
        3: m2/ (4)
        ");
        let sizes: String = (0..12)
            .map(|i| format!("{}K\t/srv/m{}/f{i}\n", i * 5 % 37, i % 2))
            .collect();
        assert_snapshot!(shown_by(outline, &(sizes + "1.5M\t/srv/large\n200M\ttotal\n")), @"
        13 paths in 3 directories below /srv/
        13: largest: 1.5M /srv/large
        8: largest: 35K /srv/m1/f7
        7: largest: 30K /srv/m0/f6
        6: largest: 25K /srv/m1/f5
        5: largest: 20K /srv/m0/f4
        1: m0/ (6)
        2: m1/ (6)
        ");
        let mut long = "src:\ntotal 120\ndrwxr-xr-x 2 root root 4096 Nov 24 17:08 .\ndrwxr-xr-x 2 root root 4096 Nov 24 17:08 ..\n".to_owned();
        for i in 0..10 {
            long.push_str(&format!(
                "-rw-r--r-- 1 root root {} Nov 24 17:08 error{i}.rs\n",
                i * 1000
            ));
        }
        long.push_str(
            "\nsrc/failure:\ntotal 8\n-rw-r--r-- 1 root root 88 2026-11-24 17:08 my file.rs\n",
        );
        assert_snapshot!(shown_by(outline, &long), @"
        11 paths in 2 directories below src/: 11× .rs
        14: largest: 9000 src/error9.rs
        13: largest: 8000 src/error8.rs
        12: largest: 7000 src/error7.rs
        11: largest: 6000 src/error6.rs
        10: largest: 5000 src/error5.rs
        18: failure/ (1)
        ");
        for none in [
            "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n",
            &"http://example.com/a/b\n".repeat(12),
            &"cargo build and/or test\n".repeat(12),
            &"GET /a/b 200 in 5 ms\n".repeat(12),
            &"use std/io;\n".repeat(12),
        ] {
            assert_eq!(shown_by(outline, none), "", "{none}");
        }
    }

    #[test]
    fn the_largest_directory_is_a_call() {
        let found: String = (0..12)
            .map(|i| format!("./src/{}/f{i}\n", i % 5 / 2))
            .collect();
        let view = view_of(&found);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        let entries = outline(&view, &plan).unwrap();
        let leads = crate::leads(&view, ContentKind::Text, &entries).unwrap();
        assert_eq!(leads[0], Lead::Grep(r"^\./src/0/".to_owned()));
        assert!(
            !leads.iter().any(|lead| matches!(lead, Lead::Search(_))),
            "{leads:?}"
        );
    }
}
