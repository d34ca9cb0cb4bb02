//! Fills a page with matches within a token budget.

use std::fmt::Write;

use grep_matcher::Matcher;
use serde::Serialize;
use spillgate_artifact::Layout;
use spillgate_text::{LineSpan, MAX_TOKEN_BYTES, TokenCounter, View};
use spillgate_untrusted::marked;

use super::{GrepQuery, MatchOffsets, Pattern, Seeker, seeker};
use crate::LookupError;
use crate::fit::fitting;

/// A page of matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepPage {
    /// The matching lines, in the order of the view.
    pub matches: Vec<Match>,
    /// Number of matching view lines. If the query does not count all, only lines up to the end of
    /// the page are counted.
    pub total: u64,
    /// The line at which the next page starts; `None` if all matches were shown.
    pub next: Option<u64>,
    /// Whether the matches are shown with the record or the lines around them ([`GrepQuery::widens`]).
    pub is_widened: bool,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The line number, counted from 1.
    pub line: u64,
    /// The text without the newline. Only a line that alone exceeds the budget is cut and marked
    /// with `…`. With [`GrepQuery::only_parts`], the matching parts of the line, one on a line.
    pub text: String,
    /// The byte of the view at which the first match on the line begins.
    pub byte: u64,
    /// Lines before it that are not already on the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Context>,
    /// Lines after it that are not already on the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Context>,
}

/// A line near a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    /// The line number, counted from 1.
    pub line: u64,
    /// The text without the newline.
    pub text: String,
}

impl GrepPage {
    /// Returns the page as text: `12:match`, `13-context`, and `--` where lines between two parts
    /// are left out. Hidden characters are marked.
    #[must_use]
    pub fn render(&self) -> String {
        let (mut text, mut last) = (String::new(), None);
        for found in &self.matches {
            found.render(&mut text, &mut last);
        }
        text
    }

    /// Returns the lines of [`render`](Self::render), to be shown in another form. `None` stands
    /// where lines are left out. Hidden characters are not marked.
    #[must_use]
    pub fn lines(&self) -> Vec<Option<PageLine<'_>>> {
        let (mut lines, mut last) = (Vec::new(), None);
        for found in &self.matches {
            lines.extend(found.lines(&mut last));
        }
        lines
    }
}

/// A line of a page of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLine<'a> {
    /// The line number, counted from 1.
    pub line: u64,
    /// The text without the newline.
    pub text: &'a str,
    /// Whether the line is one of those that were looked for, and not near one of them.
    pub is_match: bool,
}

impl Match {
    fn has_context(&self) -> bool {
        !self.before.is_empty() || !self.after.is_empty()
    }

    /// Appends the lines of the match. `last` is the last line that `text` already contains.
    fn render(&self, text: &mut String, last: &mut Option<u64>) {
        for line in self.lines(last) {
            let written = match line {
                None => writeln!(text, "--"),
                Some(PageLine {
                    line,
                    text: one,
                    is_match,
                }) => {
                    let sign = if is_match { ':' } else { '-' };
                    writeln!(text, "{line}{sign}{}", marked(one))
                }
            };
            written.expect("writing to a string");
        }
    }

    /// Returns the lines of the match. `last` is the last line that is already shown.
    fn lines<'s>(&'s self, last: &mut Option<u64>) -> Vec<Option<PageLine<'s>>> {
        let first = self.before.first().map_or(self.line, |one| one.line);
        let is_gap = self.has_context() && last.is_some_and(|last| last + 1 < first);
        let near = |one: &'s Context| {
            Some(PageLine {
                line: one.line,
                text: &one.text,
                is_match: false,
            })
        };
        let mut lines: Vec<_> = is_gap.then_some(None).into_iter().collect();
        lines.extend(self.before.iter().map(near));
        lines.extend(self.text.split('\n').map(|text| {
            Some(PageLine {
                line: self.line,
                text,
                is_match: true,
            })
        }));
        lines.extend(self.after.iter().map(near));
        *last = Some(self.after.last().map_or(self.line, |one| one.line));
        lines
    }
}

/// Most matches that are shown with the lines around them.
const MOST_WIDENED: usize = 20;

/// Fills a page with the matches in `found`.
pub(super) fn page(
    view: &View,
    pattern: &Pattern,
    query: &GrepQuery<'_>,
    found: &MatchOffsets<'_>,
    counter: &dyn TokenCounter,
) -> Result<GrepPage, LookupError> {
    let page = filled(view, pattern, query, found, counter, false)?;
    let is_wanted = query.widens
        && (query.before, query.after) == (0, 0)
        && matches!(view.layout(), Layout::Json | Layout::Markup);
    if !is_wanted || page.next.is_some() || page.matches.len() > MOST_WIDENED {
        return Ok(page);
    }
    let wide = filled(view, pattern, query, found, counter, true)?;
    // The first match loses its context rather than its place, so the page must have grown.
    let is_whole = wide.next.is_none() && wide.matches.iter().any(Match::has_context);
    Ok(if is_whole { wide } else { page })
}

/// Fills a page with the matches in `found`; with what is around them if `is_widened`.
fn filled(
    view: &View,
    pattern: &Pattern,
    query: &GrepQuery<'_>,
    found: &MatchOffsets<'_>,
    counter: &dyn TokenCounter,
    is_widened: bool,
) -> Result<GrepPage, LookupError> {
    let mut builder = PageBuilder {
        view,
        seeker: seeker(pattern, view.source()),
        query,
        counter,
        is_widened,
        text: String::new(),
        last: None,
    };
    let mut page = GrepPage {
        matches: Vec::new(),
        total: found.total,
        next: None,
        is_widened,
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
    /// Whether matches are shown with what is around them.
    is_widened: bool,
    /// The text of the page so far.
    text: String,
    /// The last line on the page.
    last: Option<u64>,
}

impl PageBuilder<'_> {
    /// Returns the match on `line` if there is room for it on the page. The first match is
    /// shortened until it fits, because a page is never empty.
    fn add(
        &mut self,
        line: LineSpan,
        byte: u64,
        upcoming: Option<u64>,
        is_first: bool,
    ) -> Result<Option<Match>, LookupError> {
        let mut text = self.text_of(line)?;
        let first = self.seeker.find_at(text.as_bytes(), 0)?;
        if self.query.only_parts && !self.query.inverts {
            text = self.parts(&text)?;
        }
        let (lines_before, lines_after) = self.around(line)?;
        let found = Match {
            line: line.number,
            // If the match began in an earlier part of a broken line, this text does not contain
            // its start.
            byte: first.map_or(byte, |first| line.start + first.start() as u64),
            text,
            before: self.before(line, lines_before)?,
            after: self.after(line, lines_after, upcoming)?,
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

    /// Adds a match to the text of the page. Returns false if it would exceed the budget.
    fn take(&mut self, found: &Match) -> bool {
        let (mut text, mut last) = (self.text.clone(), self.last);
        found.render(&mut text, &mut last);
        if self.counter.exceeds(&text, self.query.budget.get()) {
            return false;
        }
        (self.text, self.last) = (text, last);
        true
    }

    /// Returns as much of a line as fits the budget, from its match on.
    fn cut(&self, found: Match, line: LineSpan) -> Match {
        /// Tokens for the line number, its colon, the marks of the cuts, and the newline.
        const AROUND: u64 = 12;
        let at = match self.query.only_parts {
            true => 0,
            false => usize::try_from(found.byte - line.start).unwrap_or(0),
        };
        let at = found.text.floor_char_boundary(at.min(found.text.len()));
        let rest = &found.text[at..];
        let taken = fitting(rest, &[], self.query.budget.less(AROUND), self.counter);
        let lead = if at > 0 { "…" } else { "" };
        let trail = if taken < rest.len() { "…" } else { "" };
        let text = format!("{lead}{}{trail}", &rest[..taken]);
        Match { text, ..found }
    }

    /// Returns the parts of a line that match, one on a line.
    fn parts(&self, text: &str) -> Result<String, LookupError> {
        let parts = self.seeker.matches(text)?;
        let parts: Vec<&str> = parts.into_iter().map(|part| &text[part]).collect();
        Ok(parts.join("\n"))
    }

    fn text_of(&self, line: LineSpan) -> Result<String, LookupError> {
        let bytes = self.view.source().bytes(line.start, line.end)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Returns how many lines before and after a match are shown: those of the JSON object or array
    /// around it if it is small.
    fn around(&self, line: LineSpan) -> Result<(u64, u64), LookupError> {
        /// Lines on either side in which a record must begin and end.
        const FAR: u64 = 12;
        /// Lines on either side if there is no small record.
        const NEAR: (u64, u64) = (3, 3);
        if !self.is_widened {
            return Ok((self.query.before, self.query.after));
        }
        if self.view.layout() != Layout::Json {
            return Ok(NEAR);
        }
        let source = self.view.source();
        let start = self
            .view
            .offset_of_line(line.number.saturating_sub(FAR).max(1))?;
        let end = self.view.offset_of_line(line.number + FAR + 1)?;
        let above = source.bytes(start, line.start)?;
        let own = source.bytes(line.start, line.end)?;
        let below = source.bytes(line.end, end)?;
        let indent = |line: &[u8]| line.iter().take_while(|byte| **byte == b' ').count();
        let depth = indent(&own);
        let is_newline = |byte: &u8| *byte == b'\n';
        let mut above = above
            .strip_suffix(b"\n")
            .unwrap_or(&above)
            .rsplit(is_newline);
        let mut below = below
            .strip_suffix(b"\n")
            .unwrap_or(&below)
            .split(is_newline);
        let (before, after) = match own.trim_ascii_end().last() {
            Some(b'{' | b'[') => (Some(0), below.position(|line| indent(line) <= depth)),
            _ => (
                above
                    .position(|line| indent(line) < depth)
                    .map(|at| at as u64 + 1),
                below.position(|line| indent(line) < depth),
            ),
        };
        let record = before.zip(after.map(|at| at as u64 + 1));
        Ok(record
            .filter(|(before, after)| before + after <= FAR)
            .unwrap_or(NEAR))
    }

    fn before(&self, line: LineSpan, count: u64) -> Result<Vec<Context>, LookupError> {
        let shown = self.last.map_or(1, |last| last + 1);
        let first = line.number.saturating_sub(count).max(shown);
        self.context(first, line.number, None)
    }

    /// Returns the context after a match. It ends before the next match.
    fn after(
        &self,
        line: LineSpan,
        count: u64,
        upcoming: Option<u64>,
    ) -> Result<Vec<Context>, LookupError> {
        let end = line.number.saturating_add(count) + 1;
        self.context(line.number + 1, end, upcoming)
    }

    /// Returns the lines from `first` up to the first of: `end`, the byte `until`, or the next
    /// match.
    fn context(
        &self,
        first: u64,
        end: u64,
        until: Option<u64>,
    ) -> Result<Vec<Context>, LookupError> {
        // The budget cannot hold more bytes than this. A match with more context is shown without
        // context.
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
            let is_match = self.seeker.find_at(text.as_bytes(), 0)?.is_some();
            if self.query.start <= line.number && is_match != self.query.inverts {
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
