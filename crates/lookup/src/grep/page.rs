//! Shows matches within a budget.

use std::fmt::Write;

use grep_matcher::Matcher;
use serde::Serialize;
use spillgate_text::{LineSpan, MAX_TOKEN_BYTES, TokenCounter, View};
use spillgate_untrusted::marked;

use super::{GrepQuery, MatchOffsets, Pattern, Seeker, seeker};
use crate::LookupError;
use crate::fit::fitting;

/// A page of matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepPage {
    /// Matching lines in order.
    pub matches: Vec<Match>,
    /// Matching view lines in all; those of the page and before where the query
    /// does not count all.
    pub total: u64,
    /// The line to start the next page from; `None` when all were shown.
    pub next: Option<u64>,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Its 1-based number.
    pub line: u64,
    /// Its text without the newline; cut with `…` only where the line alone
    /// would not fit the budget.
    pub text: String,
    /// The byte of the view at which its first match begins.
    pub byte: u64,
    /// Lines before it that the page does not show otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Context>,
    /// Lines after it that the page does not show otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Context>,
}

/// A line beside a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    /// Its 1-based number.
    pub line: u64,
    /// Its text without the newline.
    pub text: String,
}

impl GrepPage {
    /// The page as text: `12:match`, `13-context`, `--` between places that do
    /// not touch. What is hidden in them is marked.
    #[must_use]
    pub fn render(&self) -> String {
        let (mut text, mut last) = (String::new(), None);
        for found in &self.matches {
            found.render(&mut text, &mut last);
        }
        text
    }
}

impl Match {
    /// Appends its lines; `last` is the last line that stands there already.
    fn render(&self, text: &mut String, last: &mut Option<u64>) {
        let has_context = !self.before.is_empty() || !self.after.is_empty();
        let first = self.before.first().map_or(self.line, |one| one.line);
        if has_context && last.is_some_and(|last| last + 1 < first) {
            text.push_str("--\n");
        }
        let context = |text: &mut String, lines: &[Context]| {
            for one in lines {
                writeln!(text, "{}-{}", one.line, marked(&one.text)).expect("writing to a string");
            }
        };
        context(text, &self.before);
        writeln!(text, "{}:{}", self.line, marked(&self.text)).expect("writing to a string");
        context(text, &self.after);
        *last = Some(self.after.last().map_or(self.line, |one| one.line));
    }
}

/// Fills a page with the matches found.
pub(super) fn page(
    view: &View,
    pattern: &Pattern,
    query: &GrepQuery<'_>,
    found: &MatchOffsets,
    counter: &dyn TokenCounter,
) -> Result<GrepPage, LookupError> {
    let mut builder = PageBuilder {
        view,
        seeker: seeker(pattern, view.source()),
        query,
        counter,
        text: String::new(),
        last: None,
    };
    let mut page = GrepPage {
        matches: Vec::new(),
        total: found.total,
        next: None,
    };
    for (at, &offset) in found.offsets.iter().enumerate() {
        let Some(line) = view.line_at(offset)? else {
            break;
        };
        let full = page.matches.len() >= query.max_matches.max(1);
        let upcoming = found.offsets.get(at + 1).copied();
        let next = match full {
            true => None,
            false => builder.add(line, offset, upcoming, page.matches.is_empty())?,
        };
        if let Some(found) = next {
            page.matches.push(found);
        } else {
            page.next = Some(line.number);
            break;
        }
    }
    Ok(page)
}

/// A page being filled.
struct PageBuilder<'a> {
    view: &'a View,
    seeker: Seeker<'a>,
    query: &'a GrepQuery<'a>,
    counter: &'a dyn TokenCounter,
    /// What the page's matches look like so far.
    text: String,
    /// The last line shown.
    last: Option<u64>,
}

impl PageBuilder<'_> {
    /// The match on `line`, if the page has room for it. The first one is cut
    /// until it has: a page is never empty.
    fn add(
        &mut self,
        line: LineSpan,
        byte: u64,
        upcoming: Option<u64>,
        is_first: bool,
    ) -> Result<Option<Match>, LookupError> {
        let text = self.text_of(line)?;
        let first = self.seeker.find_at(text.as_bytes(), 0)?;
        let found = Match {
            line: line.number,
            // A match that began before the line was broken has no start here.
            byte: first.map_or(byte, |first| line.start + first.start() as u64),
            text,
            before: self.before(line)?,
            after: self.after(line, upcoming)?,
        };
        if self.take(&found) {
            return Ok(Some(found));
        }
        if !is_first {
            return Ok(None);
        }
        let bare = Match {
            before: Vec::new(),
            after: Vec::new(),
            ..found
        };
        if self.take(&bare) {
            return Ok(Some(bare));
        }
        let cut = self.cut(bare, line);
        self.take(&cut);
        Ok(Some(cut))
    }

    /// Adds a match to the page's text unless that goes over the budget.
    fn take(&mut self, found: &Match) -> bool {
        let (mut text, mut last) = (self.text.clone(), self.last);
        found.render(&mut text, &mut last);
        if self.counter.exceeds(&text, self.query.budget.get()) {
            return false;
        }
        (self.text, self.last) = (text, last);
        true
    }

    /// As much of a line as the budget holds, from its match on.
    fn cut(&self, found: Match, line: LineSpan) -> Match {
        /// The line number, its colon, the marks of the cuts and the newline.
        const AROUND: u64 = 12;
        let at = usize::try_from(found.byte - line.start).unwrap_or(0);
        let at = found.text.floor_char_boundary(at.min(found.text.len()));
        let rest = &found.text[at..];
        let taken = fitting(rest, &[], self.query.budget.less(AROUND), self.counter);
        let lead = if at > 0 { "…" } else { "" };
        let trail = if taken < rest.len() { "…" } else { "" };
        let text = format!("{lead}{}{trail}", &rest[..taken]);
        Match { text, ..found }
    }

    fn text_of(&self, line: LineSpan) -> Result<String, LookupError> {
        let bytes = self.view.source().bytes(line.start, line.end)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    fn before(&self, line: LineSpan) -> Result<Vec<Context>, LookupError> {
        let shown = self.last.map_or(1, |last| last + 1);
        let first = line.number.saturating_sub(self.query.before).max(shown);
        self.context(first, line.number, None)
    }

    /// Context after a match ends where the next match begins.
    fn after(&self, line: LineSpan, upcoming: Option<u64>) -> Result<Vec<Context>, LookupError> {
        let end = line.number.saturating_add(self.query.after) + 1;
        self.context(line.number + 1, end, upcoming)
    }

    /// Lines `first..end` that begin and end before byte `until` and do not
    /// match.
    fn context(
        &self,
        first: u64,
        end: u64,
        until: Option<u64>,
    ) -> Result<Vec<Context>, LookupError> {
        // More than this the budget cannot hold: the match is shown without.
        let most = self.query.budget.get().saturating_mul(MAX_TOKEN_BYTES);
        let (mut context, mut bytes) = (Vec::new(), 0);
        if first >= end {
            return Ok(context);
        }
        let mut lines = self.view.lines_from(first)?;
        while let Some(line) = lines.next_line()? {
            let is_past = line.number >= end || until.is_some_and(|until| line.end > until);
            if is_past || bytes > most {
                break;
            }
            let text = self.text_of(line)?;
            if self.query.start <= line.number && self.seeker.find_at(text.as_bytes(), 0)?.is_some()
            {
                break;
            }
            bytes += text.len() as u64;
            context.push(Context {
                line: line.number,
                text,
            });
        }
        Ok(context)
    }
}
