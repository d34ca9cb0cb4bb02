//! Outlines the output of `git log`: commits, authors, dates, subjects and changed files.

use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use rustc_hash::FxHashMap;
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::{EntryKind, OutlineEntry, located, note};

/// Number of bytes at the start of a text that show whether it is a log of commits.
const HEAD: u64 = 16 << 10;
/// Maximum number of lines at the start that are examined for this.
const JUDGED: usize = 100;
/// Maximum number of commits that are listed. The first commits are the latest.
const LISTED: usize = 200;
/// Maximum number of different authors, of topics and of files that are counted.
const APART: usize = 4096;
/// Maximum number of authors, of topics and of files that are named.
const NAMED: usize = 6;
/// Maximum number of bytes of a line that are read.
const LONGEST: usize = 400;
/// Maximum length of a topic, as in `topic: subject`, in bytes.
const TOPIC: usize = 24;
/// Number of characters of a hash that are shown. Git accepts such a short hash.
const HASH: usize = 12;

fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the patterns of this file are valid")
}

static COMMIT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^commit ([0-9a-f]{7,64})(?: \([^)]*\))?$"));
/// A commit in one line. Lists of checksums do not match: they have two blanks after the checksum.
static ONE_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^([0-9a-f]{7,40}) (?:\([^)]*\) )?([^ ].*)$"));

/// Returns the outline of a log of commits; no entries for other texts.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let Some(is_one_line) = judged(&head) else {
        return Ok(Vec::new());
    };
    let mut log = Log::default();
    plan.each_line(view.source(), |line, offset| {
        let line = line[..line.len().min(LONGEST)].trim_ascii_end();
        match is_one_line {
            true => log.one_line(line, offset),
            false => log.line(line, offset),
        }
    })?;
    log.render(view, plan)
}

/// Returns whether each commit has only one line; `None` if the text is not a log of commits.
fn judged(head: &[u8]) -> Option<bool> {
    let judged = lines(head).map(|(_, line)| line.trim_ascii_end());
    let judged = judged.filter(|line| !line.is_empty());
    let mut judged: Vec<&[u8]> = judged.take(JUDGED).collect();
    if head.len() as u64 == HEAD && judged.len() < JUDGED {
        judged.pop(); // the head may cut it off
    }
    let first = ungraphed(judged.first()?);
    // For most texts, the first bytes decide, and no pattern has to be compiled.
    if first.starts_with(b"commit ") && COMMIT.is_match(first) {
        let header = judged.iter().skip(1).take(4);
        let mut header = header.map(|line| ungraphed(line));
        return header
            .any(|line| line.starts_with(b"Author:"))
            .then_some(false);
    }
    let hash = first.trim_ascii_start().iter();
    if hash.take_while(|byte| byte.is_ascii_hexdigit()).count() < 7 {
        return None;
    }
    let mut commits = 0;
    for line in &judged {
        let bare = ungraphed(line).trim_ascii_start();
        if let Some(found) = ONE_LINE.captures(bare) {
            // Words such as `defaced` are not hashes.
            commits += usize::from(found[1].iter().any(u8::is_ascii_digit));
        } else if !bare.is_empty() {
            return None;
        }
    }
    (commits >= 3 && commits * 2 > judged.len()).then_some(true)
}

/// Returns a line without the graph that `--graph` draws before it.
fn ungraphed(line: &[u8]) -> &[u8] {
    let is_graph = |byte: &u8| b"*|/\\_ ".contains(byte);
    let run = line.iter().take_while(|byte| is_graph(byte)).count();
    match line[..run].iter().rposition(|&byte| byte != b' ') {
        None => line,
        Some(last) => line.get(last + 2..).unwrap_or_default(),
    }
}

/// Names, each with the number of its occurrences.
#[derive(Default)]
struct Counts {
    known: FxHashMap<Vec<u8>, u64>,
}

impl Counts {
    fn add(&mut self, name: &[u8]) {
        if let Some(count) = self.known.get_mut(name) {
            *count += 1;
        } else if self.known.len() < APART {
            self.known.insert(name.to_vec(), 1);
        }
    }

    /// Returns the most frequent names with their counts; an empty text if there are none.
    fn named(&self, plan: &SamplePlan, least: u64) -> String {
        let mut all: Vec<(&Vec<u8>, u64)> = self
            .known
            .iter()
            .map(|(name, &count)| (name, count))
            .filter(|&(_, count)| count >= least)
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let named = all.iter().take(NAMED).map(|(name, count)| {
            let name = String::from_utf8_lossy(name);
            format!("{}× {name}", plan.scaled(*count))
        });
        let named: Vec<String> = named.collect();
        let more = if all.len() > NAMED { ", …" } else { "" };
        format!("{}{more}", named.join(", "))
    }
}

#[derive(Default)]
struct Log {
    commits: u64,
    /// The first commits, each with its offset, hash and subject.
    listed: Vec<(u64, String, String)>,
    /// The last commit.
    last: Option<(u64, String, String)>,
    is_subject_next: bool,
    authors: Counts,
    topics: Counts,
    files: Counts,
    dates: Option<(String, String)>,
    changed: [u64; 2],
}

impl Log {
    fn one_line(&mut self, line: &[u8], offset: u64) {
        if let Some(found) = ONE_LINE.captures(ungraphed(line).trim_ascii_start()) {
            self.commit(&found[1], offset);
            self.subject(&found[2]);
        }
    }

    fn line(&mut self, line: &[u8], offset: u64) {
        let line = ungraphed(line);
        if let Some(found) = COMMIT.captures(line) {
            self.commit(&found[1], offset);
        } else if let Some(message) = line.strip_prefix(b"    ") {
            self.subject(message);
        } else if let Some(author) = line.strip_prefix(b"Author:") {
            self.authors.add(author.trim_ascii());
        } else if line.starts_with(b"Date:") || line.starts_with(b"AuthorDate:") {
            let date = line.splitn(2, |&byte| byte == b':').nth(1);
            let date = String::from_utf8_lossy(date.unwrap_or_default().trim_ascii());
            let date = date.into_owned();
            match &mut self.dates {
                None => self.dates = Some((date.clone(), date)),
                Some((_, oldest)) => *oldest = date,
            }
        } else if line.starts_with(b" ") {
            self.stat(line);
        }
    }

    fn commit(&mut self, hash: &[u8], offset: u64) {
        self.commits += 1;
        self.is_subject_next = true;
        let hash = String::from_utf8_lossy(&hash[..hash.len().min(HASH)]).into_owned();
        let commit = (offset, hash, String::new());
        match self.listed.len() < LISTED {
            true => self.listed.push(commit),
            false => self.last = Some(commit),
        }
    }

    fn subject(&mut self, text: &[u8]) {
        if !std::mem::take(&mut self.is_subject_next) {
            return;
        }
        let subject = String::from_utf8_lossy(text).into_owned();
        let topic = text.splitn(2, |&byte| byte == b':').next();
        if let Some(topic) = topic.filter(|topic| topic.len() < text.len().min(TOPIC))
            && !topic.contains(&b' ')
        {
            self.topics.add(topic);
        }
        if let Some(commit) = self.last.as_mut().or(self.listed.last_mut()) {
            commit.2 = subject;
        }
    }

    /// Takes a line of `--stat`.
    fn stat(&mut self, line: &[u8]) {
        if let Some(bar) = memchr::memmem::find(line, b" | ") {
            self.files.add(line[..bar].trim_ascii());
            return;
        }
        for part in line.split(|&byte| byte == b',') {
            let part = String::from_utf8_lossy(part);
            let count = part.split_whitespace().next().map(str::parse::<u64>);
            if let Some(Ok(count)) = count {
                self.changed[0] += if part.contains(" insertion") {
                    count
                } else {
                    0
                };
                self.changed[1] += if part.contains(" deletion") { count } else { 0 };
            }
        }
    }

    fn render(self, view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
        let commits = counted(&plan.scaled(self.commits), "commit");
        let dates = match &self.dates {
            Some((latest, oldest)) if latest != oldest => format!(", from {oldest} to {latest}"),
            _ => String::new(),
        };
        let changed = match self.changed {
            [0, 0] => String::new(),
            [more, less] => format!(
                "; {} insertions, {} deletions",
                grouped(more),
                grouped(less)
            ),
        };
        let mut shown = vec![note(format!("{commits}{dates}{changed}"))];
        let summaries = [
            (1, "authors", self.authors.named(plan, 1)),
            (5, "subjects begin with", self.topics.named(plan, 2)),
            (3, "files changed most often", self.files.named(plan, 1)),
        ];
        for (rank, what, named) in summaries {
            if !named.is_empty() {
                let text = format!("{what}: {named}");
                shown.push(OutlineEntry::new(rank, 0, EntryKind::Remark, text));
            }
        }
        let listed = self.listed.len();
        for (at, (offset, hash, subject)) in self.listed.into_iter().chain(self.last).enumerate() {
            // The oldest commit gets the same rank as the third one.
            let rank = if at == listed { 4 } else { 2 + at };
            let text = format!("{hash} {subject}");
            shown.push(located(view, offset, (rank, 0), text)?);
        }
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    fn shown(text: &str) -> String {
        shown_by(outline, text)
    }

    const LOG: &str = "\
commit b9e9b86e1f0b5d3c9a77d7886598dbe24c01db0b (HEAD -> main)
Author: Ann <ann@example.org>
Date:   Tue Nov 24 15:59:01 2026 +0000

    outline: read tables that programs draw

    error: words of failures are values in a table.

 crates/outline/src/table.rs | 12 +++++++-----
 CHANGELOG.md                |  4 ++++
 2 files changed, 11 insertions(+), 5 deletions(-)

commit c544e2b07cdb32ac8f1d00ab12cd34ef56ab7890
Merge: 1234567 89abcde
Author: Bo <bo@example.org>
Date:   Mon Nov 23 10:00:00 2026 +0000

    outline: count values

 CHANGELOG.md | 1 +
 1 file changed, 1 insertion(+)
";

    #[test]
    fn commits_of_a_log() {
        assert_snapshot!(shown(LOG), @"
        2 commits, from Mon Nov 23 10:00:00 2026 +0000 to Tue Nov 24 15:59:01 2026 +0000; 12 insertions, 5 deletions
        authors: 1× Ann <ann@example.org>, 1× Bo <bo@example.org>
        subjects begin with: 2× outline
        files changed most often: 2× CHANGELOG.md, 1× crates/outline/src/table.rs
        1: b9e9b86e1f0b outline: read tables that programs draw
        13: c544e2b07cdb outline: count values
        ");
        let graph: String = LOG
            .lines()
            .enumerate()
            .map(|(at, line)| {
                let mark = if line.starts_with("commit") {
                    "* "
                } else {
                    "| "
                };
                let (mark, line) = if at == 5 { ("|", "") } else { (mark, line) };
                format!("{mark}{line}\n")
            })
            .collect();
        assert_eq!(shown(&graph), shown(LOG));
        assert_snapshot!(shown("b9e9b86e (HEAD -> main) outline: read tables\n*   c544e2b0 Merge branch 'x'\n|\\  \n| * b152fc95 outline: count\n|/  \n* 6cd76768 search: count only\n"), @"
        4 commits
        subjects begin with: 2× outline
        1: b9e9b86e outline: read tables
        2: c544e2b0 Merge branch 'x'
        4: b152fc95 outline: count
        6: 6cd76768 search: count only
        ");
        let many: String = (0..300)
            .map(|at| format!("{:08x} fix: number {at}\n", at * 7919 + 10_000_000))
            .collect();
        let lines = shown(&many);
        assert_snapshot!(lines.lines().take(3).chain(lines.lines().skip(201)).collect::<Vec<_>>().join("\n"), @"
        300 commits
        subjects begin with: 300× fix
        1: 00989680 fix: number 0
        200: 00b0a249 fix: number 199
        300: 00bcb7a5 fix: number 299
        ");
        for none in [
            "d41d8cd98f00b204e9800998ecf8427e  a\nd41d8cd98f00b204e9800998ecf8427e  b\nd41d8cd98f00b204e9800998ecf8427e  c\n",
            "defaced walls\nacceded to it\neffaced names\n",
            "commit 1234567\nand then something else\n",
            "",
        ] {
            assert_eq!(shown(none), "", "{none}");
        }
    }
}
