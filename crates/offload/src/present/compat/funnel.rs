//! The `funnel` profile: a receipt, a trailer, and instructions for the model that works with the
//! saved file (docs/spec/texts.md, "Funnel profile").

use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Write};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::{io, mem};

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use spillgate_artifact::{ContentKind, Facts, FileName, HandleForm, ReadRange, Stats};
use spillgate_lookup::Artifact;

use crate::RetrieveError;
use crate::limits::Limits;
use crate::present::{Message, Sizes, Strategy, Subject};

/// Lines of the head and of the tail.
const HEAD: usize = 10;
const TAIL: usize = 5;

/// Maximum characters of a preview line: without a bound a line of 1 MB would be shown whole.
const LINE_CHARS: usize = 500;

/// Minimum share of lines, in percent, that must look like `file:line:` for a text to count as
/// search results.
const GREP_SHARE: u64 = 80;

/// The block that follows every receipt.
const GUIDANCE: &str = "\
🎬 STRATEGIC GUIDANCE (Layer 3: The Director)
============================================================
The full output has been saved to a file. DO NOT attempt to:
  ❌ Read the entire file into context
  ❌ Use create_file with truncated data

INSTEAD, use streaming tools to process the saved file:
  ✅ Use grep/awk/sed to extract specific patterns
  ✅ Use jq for JSON processing
  ✅ Write a Python script to parse and analyze
  ✅ Use head/tail to sample different sections

Your role is to DIRECT these tools, not parse the data yourself.
============================================================";

/// A section for a system prompt, with the same advice as the guidance after each receipt.
pub const FUNNEL_PROMPT: &str = "\
## The Principle of Large Output Handling

When a tool's output is too large, you see a receipt instead of it: \"📊 LARGE OUTPUT DETECTED\", with its size, the path of a file that holds all of it, and its first and last lines.

1. Recognize the pattern. When you see LARGE OUTPUT DETECTED, do not try to parse the preview: it is a trailer, not the data.

2. Act as a Director. Use streaming tools to process the saved file:
   - grep/awk/sed for pattern extraction
   - jq for JSON processing
   - Python scripts for complex logic
   - head/tail for sampling

3. Never do these:
   - Read the entire file into context
   - Use create_file with truncated data

Example of a good response, for search results in JSON:

    jq -r '.[] | \"\\(.file):\\(.line) - \\(.match)\"' SAVED_FILE > formatted.txt
";

/// Lines above which a result is offloaded by default.
pub const FUNNEL_LINES: u64 = 50;
/// Characters above which a result is offloaded by default.
pub const FUNNEL_CHARS: u64 = 2000;

/// The `funnel` profile.
pub(crate) struct Funnel;

impl Strategy for Funnel {
    fn name(&self) -> &'static str {
        "funnel"
    }

    /// The form that the profile's texts and tests were written for.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Long
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            lines: Some(FUNNEL_LINES),
            chars: Some(FUNNEL_CHARS),
            ..Sizes::default()
        }
    }

    fn note(&self, facts: &mut Facts, _: &Limits) {
        let name = FileName::of(&facts.origin.tool, facts.created, &facts.sha256);
        facts.file_name = Some(name);
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        let artifact = subject.artifact()?;
        let summary = ObservationSummary::of(artifact)?;
        Ok(Message::fixed(funnel(artifact, &summary)?))
    }
}

/// The receipt, with the fields of the funnel design (docs/spec/texts.md, "Funnel profile").
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservationSummary {
    /// Newlines + 1.
    pub total_lines: Option<u64>,
    /// Characters.
    pub total_chars: Option<u64>,
    /// Number of search results, if the output is a list of them.
    pub total_matches: Option<u64>,
    /// Number of different files among them.
    pub files_with_matches: Option<u64>,
    /// `success`, or `failure` if the tool reported an error.
    pub status_flag: &'static str,
    /// The file that holds the whole output.
    pub full_output_saved_to: Option<String>,
    /// Further facts: handle, tokens, kind.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

impl ObservationSummary {
    /// Builds the receipt of a stored artifact, with the path of its text.
    pub fn of(artifact: &Artifact) -> io::Result<Self> {
        let manifest = artifact.manifest();
        let saved_to = artifact.file().map_or_else(
            || manifest.handle.to_string(),
            |path| path.display().to_string(),
        );
        let facts = &manifest.facts;
        let found = Found::of(artifact, &facts.stats)?;
        let metadata = [
            ("handle", manifest.handle.to_string().into()),
            ("tokens", facts.stats.tokens.count.into()),
            ("kind", facts.stats.kind.to_string().into()),
        ];
        Ok(Self {
            total_lines: Some(facts.stats.lines),
            total_chars: Some(facts.stats.chars),
            total_matches: found.map(|found| found.matches),
            files_with_matches: found.map(|found| found.files),
            status_flag: if facts.is_error { "failure" } else { "success" },
            full_output_saved_to: Some(saved_to),
            metadata: metadata
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        })
    }
}

/// Formats the whole message: the size of the output, its first and last lines, and how to read on.
fn funnel(artifact: &Artifact, summary: &ObservationSummary) -> io::Result<String> {
    let stats = &artifact.manifest().facts.stats;
    let mut text = format!(
        "📊 LARGE OUTPUT DETECTED:\n  - Total: {} lines, {} chars\n",
        stats.lines, stats.chars
    );
    let counted = [
        ("Matches", summary.total_matches, "results"),
        ("Files", summary.files_with_matches, "files"),
    ];
    for (title, count, unit) in counted {
        if let Some(count) = count.filter(|&count| count > 0) {
            writeln!(text, "  - {title}: {count} {unit}").expect("writing to a string");
        }
    }
    let saved = summary.full_output_saved_to.as_deref().unwrap_or_default();
    write!(
        text,
        "  - Full output saved to: {saved}\n  - Preview (head/tail):\n{}\n{GUIDANCE}",
        trailer(artifact, stats)?
    )
    .expect("writing to a string");
    Ok(text)
}

/// Returns the first ten and the last five lines of the saved text, or all of them if there are no
/// more.
fn trailer(artifact: &Artifact, stats: &Stats) -> io::Result<String> {
    if stats.kind == ContentKind::Binary {
        return Ok("(binary)\n".to_owned());
    }
    let mut shown = Shown::default();
    let text = artifact.text()?;
    let (mut at, mut buffer) = (0, Vec::new());
    while at < text.len() {
        shown.feed(text.window(at, at + WINDOW, &mut buffer)?);
        at += WINDOW;
    }
    Ok(shown.finish(stats.lines))
}

/// Bytes of the text read at a time.
const WINDOW: u64 = 256 << 10;

/// Bytes kept of a line: enough for the characters shown.
const LINE_BYTES: usize = 4 * LINE_CHARS;

/// The start of a line and its length in bytes.
#[derive(Debug, Default)]
struct Cut {
    start: Vec<u8>,
    bytes: usize,
}

impl Cut {
    fn feed(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES - self.start.len();
        self.start.extend(&bytes[..room.min(bytes.len())]);
        self.bytes += bytes.len();
    }

    /// Returns the line without control characters, cut at [`LINE_CHARS`].
    fn render(&self) -> String {
        let (mut plain, mut shown, mut at) = (String::new(), 0, 0);
        for (c, bytes) in self.characters() {
            if !c.is_control() || c == '\t' {
                if shown == LINE_CHARS {
                    break;
                }
                plain.push(c);
                shown += 1;
            }
            at += bytes;
        }
        match self.bytes - at {
            0 => plain,
            left => format!("{plain}… (+{left} bytes)"),
        }
    }

    /// Returns the characters of the start, each with the number of bytes it came from: one to
    /// three for U+FFFD.
    fn characters(&self) -> impl Iterator<Item = (char, usize)> {
        self.start.utf8_chunks().flat_map(|chunk| {
            let valid = chunk.valid().chars().map(|c| (c, c.len_utf8()));
            let invalid = chunk.invalid().len();
            valid.chain((invalid > 0).then_some((char::REPLACEMENT_CHARACTER, invalid)))
        })
    }
}

/// Collects the shown lines of a text that arrives in windows.
#[derive(Debug, Default)]
struct Shown {
    head: Vec<Cut>,
    tail: VecDeque<Cut>,
    current: Cut,
    /// Number of lines; an empty rest after the last newline does not count.
    lines: usize,
}

impl Shown {
    fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.current.feed(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.current.feed(bytes);
    }

    fn end_line(&mut self) {
        let line = mem::take(&mut self.current);
        self.lines += 1;
        if self.head.len() < HEAD {
            self.head.push(line);
            return;
        }
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }

    /// Formats the trailer. `lines` is the receipt's count (newlines + 1).
    fn finish(mut self, lines: u64) -> String {
        if self.current.bytes > 0 {
            self.end_line();
        }
        let rendered = |lines: &mut dyn Iterator<Item = &Cut>| -> String {
            lines.map(|line| line.render() + "\n").collect()
        };
        let head = rendered(&mut self.head.iter());
        let tail = rendered(&mut self.tail.iter());
        if self.lines <= HEAD + TAIL {
            return head + &tail;
        }
        let cut = lines - (HEAD + TAIL) as u64;
        format!("{head}... [{cut} lines truncated] ...\n{tail}")
    }
}

/// The counts of a list of search results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Found {
    matches: u64,
    files: u64,
}

impl Found {
    fn of(artifact: &Artifact, stats: &Stats) -> io::Result<Option<Self>> {
        Ok(match stats.kind {
            ContentKind::Json => in_json(artifact),
            ContentKind::Binary => None,
            _ => in_lines(artifact)?,
        })
    }
}

/// A set of names, kept as hashes of eight bytes each, however long the names are.
#[derive(Debug, Default)]
struct Names(HashSet<u64>);

impl Names {
    fn add(&mut self, name: &str) {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        self.0.insert(hasher.hash_one(name));
    }
}

/// Counts a JSON list whose elements have a `file`.
fn in_json(artifact: &Artifact) -> Option<Found> {
    let view = artifact.view();
    let start = artifact.manifest().facts.view.prelude;
    let range = ReadRange::new(view.source(), start, view.bytes());
    let reader = io::BufReader::with_capacity(64 << 10, range);
    let results = SearchResults::deserialize(&mut serde_json::Deserializer::from_reader(reader));
    let found = results.ok().filter(|found| found.matches > 0)?;
    Some(Found {
        matches: found.matches,
        files: found.names.0.len() as u64,
    })
}

#[derive(Debug, Default)]
struct SearchResults {
    matches: u64,
    names: Names,
}

impl<'de> Deserialize<'de> for SearchResults {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Self::default())
    }
}

impl<'de> Visitor<'de> for SearchResults {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of search results")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(SearchResult { file }) = list.next_element()? {
            self.matches += u64::from(file.is_some());
            self.names.0.extend(file);
        }
        Ok(self)
    }
}

/// An element of a list, with the hash of its `file` if it has one.
struct SearchResult {
    file: Option<u64>,
}

impl<'de> Deserialize<'de> for SearchResult {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ResultVisitor)
    }
}

struct ResultVisitor;

impl<'de> Visitor<'de> for ResultVisitor {
    type Value = SearchResult;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a search result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<SearchResult, A::Error> {
        let mut names = Names::default();
        while let Some(key) = members.next_key::<String>()? {
            if key == "file" {
                names.add(&members.next_value::<String>()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(SearchResult {
            file: names.0.into_iter().next(),
        })
    }
}

/// Counts lines such as `src/main.rs:12:fn main() {`.
fn in_lines(artifact: &Artifact) -> io::Result<Option<Found>> {
    let (mut names, mut matches, mut others) = (Names::default(), 0u64, 0u64);
    let mut lines = artifact.view().lines_from(1)?;
    while let Some((_, bytes)) = lines.next_bytes()? {
        let line = String::from_utf8_lossy(bytes);
        match file_of(&line) {
            Some(file) => {
                matches += 1;
                names.add(file);
            }
            None if line.trim().is_empty() => {}
            None => others += 1,
        }
        // Whatever follows, the text is not a list of results.
        if others > 1000 && matches == 0 {
            return Ok(None);
        }
    }
    let is_list = matches > 0 && matches * 100 >= (matches + others) * GREP_SHARE;
    Ok(is_list.then_some(Found {
        matches,
        files: names.0.len() as u64,
    }))
}

/// Returns the file that a line of search results names. A time such as `2026-11-21T10:04:12` is
/// not a result: a file name contains a dot or a slash.
fn file_of(line: &str) -> Option<&str> {
    let (file, rest) = line.split_once(':')?;
    let (number, _) = rest.split_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = file.contains(['.', '/'])
        && file.contains(char::is_alphabetic)
        && !file.contains(char::is_whitespace);
    (is_number && is_name).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_tells_the_bytes_that_are_left() {
        for (line, left) in [
            (b"x".repeat(LINE_CHARS), None),
            (b"x".repeat(LINE_CHARS + 3), Some(3)),
            (b"\xff".repeat(LINE_CHARS + 3), Some(3)),
            ("é".repeat(LINE_CHARS + 3).into_bytes(), Some(6)),
            (b"\x1bx".repeat(LINE_CHARS + 3), Some(5)),
            (b"\x1b".repeat(LINE_BYTES + 3), Some(3)),
        ] {
            let mut cut = Cut::default();
            cut.feed(&line);
            let told = left.map(|left| format!("… (+{left} bytes)"));
            let told = told.unwrap_or_default();
            let shown = cut.render();
            assert!(shown.ends_with(&told), "{shown}");
            assert_eq!(shown.contains('…'), left.is_some(), "{shown}");
        }
    }
}
