//! Previews the long texts inside a JSON document.
//!
//! In the view such a text is one long line in which line breaks are escapes, so head and tail of
//! the document say little. Its own outline says what it is, as for any other output.

use std::io;

use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::{Lead, OutlineEntry, failure_leads, leads, outline, within};
use spillgate_search::{InnerText, largest_texts};
use spillgate_text::TokenCounter;
use spillgate_untrusted::line;

use super::preview::{HEAD_LINES, LINE_CHARS, filled, numbered};

/// Maximum number of texts that are outlined.
const TEXTS: usize = 3;

/// A text is outlined if its string takes at least this share of the view: one eighth.
const SHARE: u64 = 8;

/// Maximum characters of the path of a text.
const PATH_CHARS: usize = 120;

/// The long texts of a document, the largest first.
pub(super) struct InnerTexts {
    texts: Vec<InnerText>,
    /// The outline of each text.
    outlines: Vec<Vec<OutlineEntry>>,
    /// Whether these texts are at least half of the document.
    pub(super) is_most: bool,
}

impl InnerTexts {
    /// Finds the texts of a document; `None` if it has none that is worth an outline.
    pub(super) fn of(artifact: &Artifact) -> io::Result<Option<Self>> {
        let facts = &artifact.manifest().facts;
        if facts.stats.kind != ContentKind::Json {
            return Ok(None);
        }
        let bytes = artifact.view().bytes();
        let mut texts = largest_texts(artifact, TEXTS, bytes / SHARE)?;
        if texts.is_empty() {
            return Ok(None);
        }
        texts.sort_by_key(|one| std::cmp::Reverse(one.size()));
        let outlines = texts.iter().map(|one| {
            let facts = &one.text.manifest().facts;
            let (kind, lines) = (facts.stats.kind, facts.stats.lines);
            outline(one.text.view(), &facts.view, kind, lines, false)
        });
        Ok(Some(Self {
            outlines: outlines.collect::<Result<_, _>>()?,
            is_most: texts.iter().map(InnerText::size).sum::<u64>() * 2 >= bytes,
            texts,
        }))
    }

    /// Returns the calls that read the largest text, the most useful first.
    pub(super) fn leads(&self) -> io::Result<Vec<Lead>> {
        let (Some(one), Some(entries)) = (self.texts.first(), self.outlines.first()) else {
            return Ok(Vec::new());
        };
        let found = match failure_leads(entries) {
            none if none.is_empty() => {
                let kind = one.text.manifest().facts.stats.kind;
                leads(one.text.view(), kind, entries)?
            }
            failure => failure,
        };
        let inside = found.into_iter().filter_map(|lead| lead.inside(&one.path));
        Ok(inside.collect())
    }

    /// Returns the outlines below the paths of the texts, each within its part of `share`. A text
    /// without an outline is shown by its first lines.
    ///
    /// # Errors
    ///
    /// Fails if a text cannot be read.
    pub(super) fn lines(
        &self,
        share: TokenBudget,
        counter: &dyn TokenCounter,
    ) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut left = share.get();
        for (at, (one, entries)) in self.texts.iter().zip(&self.outlines).enumerate() {
            let stats = &one.text.manifest().facts.stats;
            let path = line(&one.path, PATH_CHARS);
            let title = format!("  {path}: {} lines ({})", stats.lines, stats.kind);
            let Some(rest) = left.checked_sub(counter.count(&title) + 1) else {
                break;
            };
            let part = rest / (self.texts.len() - at) as u64;
            let mut nested = entries.clone();
            for entry in &mut nested {
                entry.depth += 1;
            }
            let part_budget = share.less(share.get().saturating_sub(part));
            let shown = match nested.is_empty() {
                false => within(&nested, part_budget, counter),
                true => filled(
                    numbered(&one.text, 1, HEAD_LINES, LINE_CHARS)?.into_iter(),
                    part,
                    &|line| counter.count(line),
                ),
            };
            let cost: u64 = shown.iter().map(|line| counter.count(line) + 1).sum();
            left = rest.saturating_sub(cost);
            lines.push(title);
            lines.extend(shown);
        }
        Ok(lines)
    }
}
