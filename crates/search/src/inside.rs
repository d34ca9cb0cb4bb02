//! Searches the long texts inside a JSON document: strings that are read as texts of their own.
//!
//! In the view such a string is one long line, in which line breaks are escapes. A hit would be shown
//! as a piece of about 1,000 characters. So each of these texts is searched by itself, by the rules
//! for its kind, and its passages carry its own line numbers.

use std::io;

use memchr::{memchr, memmem};
use spillgate_artifact::Layout;
use spillgate_lookup::{Artifact, LookupError};
use spillgate_text::{SOFT_CHARS, TokenCounter};

use crate::leaf::string_end;
use crate::paths::paths_at;
use crate::question::Question;
use crate::several::{ranked, share};
use crate::{SearchPage, SearchQuery, search};

/// Documents with a longer view are searched without their inner texts.
const MOST_BYTES: u64 = 32 << 20;

/// Fewer line breaks do not make a text.
const FEWEST_BREAKS: usize = 5;

/// Most inner texts of a document. The largest ones count.
const MOST_TEXTS: usize = 64;

/// Passages that may fail to fit before the page counts as full.
const MOST_MISSES: usize = 12;

/// A long text inside a JSON document.
#[derive(Debug)]
pub struct InnerText {
    /// The path of the string, as jq writes it.
    pub path: String,
    /// The text.
    pub text: Artifact,
    /// The short members beside it, which say what it is: a name, a path.
    beside: String,
    /// First byte of the string's line in the view.
    pub(crate) start: u64,
    /// The byte after the last one.
    pub(crate) end: u64,
}

impl InnerText {
    /// Returns the bytes that the text takes in the view, as a string.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.end - self.start
    }
}

/// A string that is long enough, before it is decoded.
struct Found {
    start: u64,
    end: u64,
    /// The string with its quotes.
    string: std::ops::Range<usize>,
}

/// Returns the long texts inside a JSON document, in the order of the document: strings of more than
/// 1,000 bytes with at least five line breaks, the largest 64 of them. Returns none if the document
/// is larger than 32 MiB.
///
/// # Errors
///
/// Fails if the view cannot be read.
pub fn inner_texts(artifact: &Artifact) -> io::Result<Vec<InnerText>> {
    largest_texts(artifact, MOST_TEXTS, 0)
}

/// Returns the largest `most` of the [`inner_texts`] that have at least `least` bytes in the view.
///
/// # Errors
///
/// Fails if the view cannot be read.
pub fn largest_texts(artifact: &Artifact, most: usize, least: u64) -> io::Result<Vec<InnerText>> {
    let view = artifact.view();
    let facts = &artifact.manifest().facts.view;
    let is_possible = view.layout() == Layout::Json && facts.longest_line > SOFT_CHARS as u64;
    if !is_possible || view.bytes() > MOST_BYTES {
        return Ok(Vec::new());
    }
    let text = view.source().bytes(facts.prelude, view.bytes())?;
    let mut found = strings(&text, facts.prelude);
    found.retain(|one| one.string.len() as u64 >= least);
    found.sort_by_key(|one| std::cmp::Reverse(one.string.len()));
    found.truncate(most);
    found.sort_by_key(|one| one.start);
    let offsets: Vec<u64> = found.iter().map(|one| one.start).collect();
    let paths = paths_at(artifact, &offsets)?;
    let texts = found.into_iter().zip(paths).filter_map(|(one, path)| {
        Some(InnerText {
            path: path?,
            beside: beside(&text, facts.prelude, &one),
            text: artifact.text_of(&text[one.string])?,
            start: one.start,
            end: one.end,
        })
    });
    Ok(texts.collect())
}

/// Returns the long strings with line breaks of a laid-out document, which begins at byte `base` of
/// the view.
fn strings(text: &[u8], base: u64) -> Vec<Found> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1);
        if end - at > SOFT_CHARS
            && let Some(string) = string_in(&text[at..end])
        {
            found.push(Found {
                start: base + at as u64,
                end: base + end as u64,
                string: at + string.start..at + string.end,
            });
        }
        at = end;
    }
    found
}

/// Returns the short members of the object that contains a string.
fn beside(text: &[u8], base: u64, found: &Found) -> String {
    /// Bytes before and after the string that are read.
    const FAR: usize = 1 << 10;
    /// Longest line that says what a text is.
    const LONGEST: usize = 200;
    let at = |offset: u64| usize::try_from(offset - base).unwrap_or(text.len());
    let (start, end) = (at(found.start), at(found.end));
    let indent_of = |line: &[u8]| line.iter().take_while(|byte| **byte == b' ').count();
    let indent = indent_of(&text[start..]);
    let before = text[start.saturating_sub(FAR)..start].split_inclusive(|byte| *byte == b'\n');
    let after = text[end..text.len().min(end + FAR)].split_inclusive(|byte| *byte == b'\n');
    let is_beside = |line: &&[u8]| indent_of(line) >= indent;
    let is_short = |line: &&[u8]| indent_of(line) == indent && line.len() <= LONGEST;
    let before = before.rev().take_while(is_beside).filter(is_short);
    let after = after.take_while(is_beside).filter(is_short);
    let lines = before.chain(after).map(String::from_utf8_lossy);
    lines.collect()
}

/// Returns the string on a line of a laid-out document, if it is a long text.
fn string_in(line: &[u8]) -> Option<std::ops::Range<usize>> {
    let indent = line.iter().take_while(|byte| **byte == b' ').count();
    let first = string_end(&line[indent..])?;
    let string = match line[indent + first..].strip_prefix(b": ") {
        Some(value) => {
            let start = indent + first + 2;
            start..start + string_end(value)?
        }
        None => indent..indent + first,
    };
    let breaks = memmem::find_iter(&line[string.clone()], b"\\n").take(FEWEST_BREAKS);
    (string.len() > SOFT_CHARS && breaks.count() == FEWEST_BREAKS).then_some(string)
}

/// Merges the passages of a document and of its inner texts, best first, within the budget.
/// `document` contains the passages outside of these texts.
pub(crate) fn merged(
    question: &Question,
    document: SearchPage,
    texts: &[InnerText],
    query: &SearchQuery<'_>,
    counter: &dyn TokenCounter,
) -> Result<SearchPage, LookupError> {
    let each = SearchQuery {
        budget: share(query.budget, texts.len()),
        ..query.passages_only()
    };
    let mut page = SearchPage {
        passages: Vec::new(),
        ..document.clone()
    };
    let mut pages = vec![(document, "")];
    for inner in texts {
        let mut found = search(&inner.text, &each, counter)?;
        for passage in &mut found.passages {
            passage.path = Some(inner.path.clone());
            passage.is_inside = true;
        }
        // A note belongs to all passages of a page. Passages that need one are left out if there
        // are better ones.
        let is_answered =
            page.note.is_none() && pages.iter().any(|(page, _)| !page.passages.is_empty());
        if found.passages.is_empty() || (is_answered && found.note.is_some()) {
            continue;
        }
        page.note.clone_from(&found.note);
        page.total += found.total;
        pages.push((found, &inner.beside));
    }
    let mut misses = 0;
    let pages = pages.iter_mut().map(|(page, beside)| (page, *beside));
    for one in ranked(question, pages) {
        page.passages.push(one.passage);
        if counter.exceeds(&page.render(), query.budget.get()) {
            page.passages.pop();
            misses += 1;
        }
        if misses > MOST_MISSES {
            break;
        }
    }
    // Without passages the page says so, which costs more.
    if counter.exceeds(&page.render(), query.budget.get()) {
        page.absent.clear();
    }
    page.tokens = counter.count(&page.render());
    Ok(page)
}
