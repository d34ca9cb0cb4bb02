//! The structure of a refused text: its definitions, or the start of its outline.

use std::fmt;
use std::io;
use std::sync::Arc;

use spillgate_artifact::{ContentKind, Layout, TokenBudget, ViewFacts};
use spillgate_outline::{EntryKind, OutlineEntry, outline, within};
use spillgate_text::{Indexer, SAMPLE_BYTES, Sample, Tokenizer, View, classify};

/// Maximum number of definitions, or of lines of other outlines (docs/spec/texts.md, "Recovery
/// block").
const ENTRIES: usize = 10;

/// Maximum tokens of an outline that is not a list of definitions.
const OUTLINE_TOKENS: u64 = 220;

/// Minimum number of lines that say why a run failed. Fewer lines are not shown.
const LEAST_FAILURE: usize = 3;

/// The structure of a text: its definitions or headings, or the first lines of its outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The kind of the text.
    pub kind: ContentKind,
    /// The entries, in the order of the text.
    pub entries: Vec<Entry>,
    /// Number of entries left out.
    pub more: usize,
}

/// A line about a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The text of the line. It comes from a tool's output and is therefore untrusted.
    pub text: String,
    /// The line where the part begins, from 1, if known.
    pub line: Option<u64>,
}

impl Entry {
    fn of(entry: &OutlineEntry) -> Self {
        Self {
            text: entry.text.clone(),
            line: entry.line,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.line {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}

impl Structure {
    /// Returns the structure of a text in memory, or of its start. If it is only the start, the
    /// rest after its last newline is ignored.
    pub fn of_text(mut text: Vec<u8>, is_whole: bool) -> io::Result<Self> {
        if !is_whole && let Some(end) = memchr::memrchr(b'\n', &text) {
            text.truncate(end + 1);
        }
        let head = &text[..text.len().min(SAMPLE_BYTES)];
        let kind = classify(Sample {
            head,
            complete: is_whole && head.len() == text.len(),
        });
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(&text);
        let bytes = text.len() as u64;
        let view = View::new(Arc::new(text), indexer.finish(), Layout::AsIs);
        let facts = ViewFacts {
            bytes,
            lines: view.lines(),
            longest_line: 0,
            is_raw: true,
            layout: Layout::AsIs,
            prelude: 0,
        };
        Ok(Self::of(
            &outline(&view, &facts, kind, view.lines(), false)?,
            kind,
        ))
    }

    /// Returns the structure of a text from its outline.
    #[must_use]
    pub fn of(outlined: &[OutlineEntry], kind: ContentKind) -> Self {
        match kind {
            ContentKind::Code | ContentKind::Markdown => Self::of_places(outlined, kind),
            _ => {
                let counter = Tokenizer::Heuristic.counter();
                let is_failure = |entry: &&OutlineEntry| entry.kind == EntryKind::Failure;
                // One or two errors do not describe the structure of a log.
                let has_failed = outlined.iter().filter(is_failure).count() >= LEAST_FAILURE;
                let shape = outlined.iter().filter(|one| has_failed || !is_failure(one));
                let shape: Vec<OutlineEntry> = shape.cloned().collect();
                let lines = within(&shape, TokenBudget::new(OUTLINE_TOKENS), &*counter);
                let more = lines.len().saturating_sub(ENTRIES);
                let entries = lines.into_iter().take(ENTRIES).map(|line| Entry {
                    text: line.strip_prefix("  ").unwrap_or(&line).to_owned(),
                    line: None,
                });
                Self {
                    kind,
                    entries: entries.collect(),
                    more,
                }
            }
        }
    }

    /// Returns the outermost definitions or headings.
    fn of_places(outlined: &[OutlineEntry], kind: ContentKind) -> Self {
        let all: Vec<&OutlineEntry> = outlined
            .iter()
            .filter(|entry| entry.line.is_some())
            .collect();
        // If the outline does not name each definition, it says how many there are.
        let counts = outlined.iter().filter_map(|entry| match entry.kind {
            EntryKind::Definitions(count) => usize::try_from(count).ok(),
            _ => None,
        });
        let count = counts.max().unwrap_or(0).max(all.len());
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&at| all[at].rank);
        order.truncate(ENTRIES);
        order.sort_unstable();
        Self {
            kind,
            more: count - order.len(),
            entries: order.into_iter().map(|at| Entry::of(all[at])).collect(),
        }
    }
}
