//! The `funnel` profile: a receipt, a trailer, and guidance for a director
//! (seed 003; wire.md has the corrections).

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use spillgate_artifact::{ContentKind, ReadRange, Stats};
use spillgate_lookup::Artifact;
use spillgate_view::clip;

/// Lines of the head and of the tail (seed 003, layer 2).
const HEAD: u64 = 10;
const TAIL: u64 = 5;

/// Characters of a preview line (wire.md's correction: the shipped funnel
/// showed a 1 MB line whole).
const LINE_CHARS: usize = 500;

/// Share of the lines, in hundredths, that must look like `file:line:` for a
/// text to be taken for search results.
const GREP_SHARE: u64 = 80;

/// The block that follows every receipt (seed 003, layer 3).
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

/// The section for a system prompt that teaches the same (seed 003, layer 3).
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

/// Layer 1: the receipt, with the seed's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservationSummary {
    /// Newlines + 1.
    pub total_lines: Option<u64>,
    /// Characters.
    pub total_chars: Option<u64>,
    /// Search results, where the output is some.
    pub total_matches: Option<u64>,
    /// Different files among them.
    pub files_with_matches: Option<u64>,
    /// `success`, or `failure` of a tool that said so.
    pub status_flag: &'static str,
    /// The file that holds all of it.
    pub full_output_saved_to: Option<String>,
    /// What else is known: handle, tokens, kind.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

impl ObservationSummary {
    /// The receipt of a stored artifact; `saved_to` is where its text can be
    /// opened.
    pub(crate) fn of(artifact: &Artifact, saved_to: String) -> io::Result<Self> {
        let manifest = artifact.manifest();
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

/// Receipt, trailer and guidance.
pub(crate) fn funnel(artifact: &Artifact, summary: &ObservationSummary) -> io::Result<String> {
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

/// The first ten and the last five lines; all of them where there are no more.
fn trailer(artifact: &Artifact, stats: &Stats) -> io::Result<String> {
    if stats.kind == ContentKind::Binary {
        return Ok("(binary)\n".to_owned());
    }
    let total = artifact.view().lines();
    if total <= HEAD + TAIL {
        return lines(artifact, 1, total);
    }
    let (head, tail) = (
        lines(artifact, 1, HEAD)?,
        lines(artifact, total + 1 - TAIL, TAIL)?,
    );
    // Of the lines that the receipt counts, or of those that a laid-out view
    // has.
    let counted = stats.lines.max(total);
    let cut = counted - HEAD - TAIL;
    Ok(format!("{head}... [{cut} lines truncated] ...\n{tail}"))
}

fn lines(artifact: &Artifact, first: u64, count: u64) -> io::Result<String> {
    let mut text = String::new();
    let mut lines = artifact.view().lines_from(first)?;
    for _ in 0..count {
        let Some((_, bytes)) = lines.next_bytes()? else {
            break;
        };
        let line = String::from_utf8_lossy(bytes);
        text.push_str(&clip(line.trim_end_matches('\n'), LINE_CHARS));
        text.push('\n');
    }
    Ok(text)
}

/// What a list of search results holds.
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

/// Names seen, by their hash: eight bytes each, however long they are.
#[derive(Debug, Default)]
struct Names(HashSet<u64>);

impl Names {
    fn add(&mut self, name: &str) {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        self.0.insert(hasher.hash_one(name));
    }
}

/// A JSON list whose elements have a `file`.
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

/// An element of a list; the hash of its `file`, if it has one.
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

/// Lines such as `src/main.rs:12:fn main() {`.
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
        // Whatever comes, it is no list of results any more.
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

/// The file that a line of search results names. A time such as
/// `2026-11-21T10:04:12` is none: a file's name has a dot or a slash in it.
fn file_of(line: &str) -> Option<&str> {
    let (file, rest) = line.split_once(':')?;
    let (number, _) = rest.split_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = file.contains(['.', '/'])
        && file.contains(char::is_alphabetic)
        && !file.contains(char::is_whitespace);
    (is_number && is_name).then_some(file)
}
