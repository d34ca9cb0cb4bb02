//! Prepares a result as for storing, but without a store: classifies it, lays it out if its lines
//! are too long to read, and indexes it.

use std::sync::Arc;

use spillgate_artifact::{ContentKind, Layout, Stats, TokenBudget, Tokens, ViewFacts};
use spillgate_outline::{OutlineEntry, outline, within};
use spillgate_text::{Indexer, JsonLayout, Sample, Scan, Tokenizer, View, classify};

pub(crate) struct Returned {
    pub(crate) view: View,
    pub(crate) facts: ViewFacts,
    pub(crate) stats: Stats,
}

impl Returned {
    /// Returns the result with the kind that is detected.
    pub(crate) fn of(text: &str) -> Self {
        let head = text.as_bytes();
        let sample = Sample {
            head,
            complete: true,
        };
        Self::of_kind(text, classify(sample))
    }

    pub(crate) fn of_kind(text: &str, kind: ContentKind) -> Self {
        let mut scan = Scan::default();
        scan.feed(text.as_bytes());
        let lines = scan.finish().lines();
        let longest = text.lines().map(str::len).max().unwrap_or(0);
        let (layout, bytes) = match kind {
            ContentKind::Json if longest > 1000 => (Layout::Json, laid_out(text)),
            ContentKind::Html | ContentKind::Xml => (Layout::Markup, text.as_bytes().to_vec()),
            _ => (Layout::AsIs, text.as_bytes().to_vec()),
        };
        let mut indexer = Indexer::as_is(layout);
        indexer.feed(&bytes);
        let index = indexer.finish();
        let facts = ViewFacts {
            bytes: bytes.len() as u64,
            lines: index.lines,
            longest_line: index.longest_line,
            is_raw: layout != Layout::Json,
            layout,
            prelude: 0,
        };
        let stats = Stats {
            bytes: text.len() as u64,
            lines,
            chars: text.chars().count() as u64,
            tokens: Tokens::exact(0),
            kind,
        };
        Self {
            view: View::new(Arc::new(bytes), index, layout),
            facts,
            stats,
        }
    }

    pub(crate) fn lines(&self) -> Vec<OutlineEntry> {
        outline(
            &self.view,
            &self.facts,
            self.stats.kind,
            self.stats.lines,
            false,
        )
        .unwrap()
    }

    /// Returns the kind and the outline within a budget.
    pub(crate) fn shown(&self, tokens: u64) -> String {
        let counter = Tokenizer::O200kBase.counter();
        let texts = within(&self.lines(), TokenBudget::new(tokens), &*counter);
        format!("{}\n{}", self.stats.kind, texts.join("\n"))
    }
}

fn laid_out(text: &str) -> Vec<u8> {
    let mut view = Vec::new();
    JsonLayout::default()
        .feed(text.as_bytes(), &mut view)
        .unwrap();
    view
}
