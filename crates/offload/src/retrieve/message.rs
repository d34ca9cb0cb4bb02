//! Renders retrieval pages as messages for a model.

use spillgate_artifact::{ContentKind, Handle, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span, fitting};
use spillgate_outline::DEFAULT_TOKENS as OUTLINE_TOKENS;
use spillgate_query::{Engine, MissingPath, Query, QueryError, QueryNext, QueryPage};
use spillgate_search::SearchQuery;

use spillgate_untrusted::{lines, marked};

use super::RetrieveError;
use crate::Offloader;
use crate::present::{Bounds, Presentation};

/// Maximum tokens of a page's first and last line, beside its text.
const FRAME_TOKENS: u64 = 120;

/// Maximum tokens of the notes on a page, which can quote anything. Part of the frame.
const NOTE_TOKENS: u64 = 100;

/// Maximum size, in bytes, of an empty result that is shown: `[]`, `0`, `false`.
const SHORT: usize = 8;

/// Extra tokens that texts may cost when they are joined.
const JOINT_TOKENS: u64 = 4;

/// The first line of a page of binary content.
const BINARY: &str = "[binary content, not shown as text]";

/// Says that a page of matches shows more than the matching lines, and how to change that.
const AROUND: &str = ", with what is around them; before and after set the lines shown";

/// Names the next page of a read if the call for it is too long.
const PAGE_AFTER: &str = "the page after this one";

impl Offloader {
    /// Runs [`Offloader::read`] and renders one message: the position of the page, its text, and
    /// the call for the next page, written by `next`.
    pub fn present_read(
        &self,
        handle: Handle,
        query: ReadQuery,
        next: &dyn Fn(Span) -> String,
    ) -> Result<Presentation, RetrieveError> {
        let budget = query.budget;
        if let Some(named) = self.named(handle, budget)? {
            return Ok(named);
        }
        let query = ReadQuery {
            budget: within_frame(budget),
            ..query
        };
        let page = self.read(handle, query)?;
        let lines = page.lines;
        let mut text = format!(
            "[lines {}-{} of {}]\n",
            lines.first, lines.last, page.total_lines
        );
        text.push_str(&page.render());
        let next = page.next.map(|at| (next(at), PAGE_AFTER.to_owned()));
        Ok(self.framed(&text, "", next, budget))
    }

    /// Runs [`Offloader::grep`] and renders one message: the number of matching lines, the first of
    /// them, and the call for the next page, written by `next`.
    pub fn present_grep(
        &self,
        handle: Handle,
        query: &GrepQuery<'_>,
        next: &dyn Fn(u64) -> String,
    ) -> Result<Presentation, RetrieveError> {
        if let Some(named) = self.named(handle, query.budget)? {
            return Ok(named);
        }
        let inner = GrepQuery {
            budget: within_frame(query.budget),
            ..*query
        };
        let page = self.grep(handle, &inner)?;
        let shown = page.matches.len();
        let around = if page.is_widened { AROUND } else { "" };
        let mut text = format!("[{shown} of {} matching lines{around}]\n", page.total);
        text.push_str(&page.render());
        let next = page
            .next
            .map(|at| (next(at), format!("the same with start={at}")));
        Ok(self.framed(&text, "", next, query.budget))
    }

    /// Runs [`Offloader::query`] and renders one message: the numbers of the results, their lines,
    /// the notes, and the call for the next page, written by `next`.
    pub fn present_query(
        &self,
        handle: Handle,
        asked: &Query<'_>,
        engine: &Engine,
        next: &dyn Fn(QueryNext) -> String,
    ) -> Result<Presentation, RetrieveError> {
        let inner = Query {
            budget: within_frame(asked.budget),
            fold: true,
            ..*asked
        };
        let page = self.query(handle, &inner, engine)?;
        if let Some(missing) = &page.missing {
            return self.nowhere(handle, &page, missing, asked.budget);
        }
        let total = page
            .total
            .map_or("many".to_owned(), |total| total.to_string());
        let mut text = match page.results {
            0 => "[no results]\n".to_owned(),
            results => format!(
                "[results {}-{} of {total}, counted from 0]\n",
                asked.start,
                asked.start + results - 1
            ),
        };
        text.push_str(&page.render(asked.raw));
        let note = match page.notes.is_empty() {
            true => String::new(),
            false => format!("note: {}", marked(&page.notes.join("; "))),
        };
        let short = |at: QueryNext| format!("the same with start={}, byte={}", at.start, at.byte);
        let next = page.next.map(|at| (next(at), short(at)));
        Ok(self.framed(&text, &note, next, asked.budget))
    }

    /// Renders the answer to a filter whose path does not exist, so that it has no results or only
    /// empty ones: the place where the path ends, the keys there, and the shape of the whole data.
    fn nowhere(
        &self,
        handle: Handle,
        page: &QueryPage,
        missing: &MissingPath,
        budget: TokenBudget,
    ) -> Result<Presentation, RetrieveError> {
        let is_null = page.text.lines().all(|line| line.ends_with("null"));
        let empty = if is_null { "null" } else { "empty" };
        let results = match page.total {
            Some(0) => "no result".to_owned(),
            Some(1) if !is_null && page.text.len() <= SHORT => {
                format!("1 result: {}", page.text.trim_end())
            }
            Some(total) => format!("{total} results, all {empty}"),
            None => format!("only {empty} results"),
        };
        let note = format!("note: {}\n", marked(&missing.to_string()));
        let mut text = format!("[{results}]\n");
        let left = frame(budget).less(self.counter().count(&text));
        text.push_str(&self.cut(&note, left.get().min(NOTE_TOKENS)));
        let left = frame(budget).less(self.counter().count(&text));
        let shape = self.shape(handle, budget)?;
        // All or nothing: a part of a shape says little.
        if self.counter().count(&shape) + JOINT_TOKENS <= left.get() {
            text.push_str(&shape);
        }
        Ok(self.framed(&text, "", None, budget))
    }

    /// Formats the error of a filter. Adds the shape of the data if it helps: if the path does not
    /// exist, or the filter failed on a value.
    pub fn query_error(&self, handle: Handle, error: &QueryError, budget: TokenBudget) -> String {
        use QueryError::{Failed, NoSuchPath};
        // The message may quote stored text.
        let message = error.to_string();
        let message = lines(&message).into_owned();
        match error {
            NoSuchPath { .. } | Failed { .. } => {
                let shape = self.shape(handle, budget).unwrap_or_default();
                format!("{}\n{shape}", self.cut(&message, NOTE_TOKENS))
            }
            _ => message,
        }
    }

    /// Returns the outline of an artifact under its title; empty if it has none.
    fn shape(&self, handle: Handle, budget: TokenBudget) -> Result<String, RetrieveError> {
        let budget = budget.get().saturating_sub(FRAME_TOKENS);
        let budget = TokenBudget::new(budget.clamp(1, OUTLINE_TOKENS));
        let lines = self.outline(handle, budget)?;
        Ok(match lines.is_empty() {
            true => String::new(),
            false => format!("shape:\n{}\n", lines.join("\n")),
        })
    }

    fn cut(&self, text: &str, tokens: u64) -> String {
        let budget = TokenBudget::new(tokens);
        text[..fitting(text, &[], budget, &**self.counter())].to_owned()
    }

    /// Runs [`Offloader::search`] and renders one message.
    pub fn present_search(
        &self,
        handle: Handle,
        asked: &SearchQuery<'_>,
    ) -> Result<Presentation, RetrieveError> {
        if let Some(named) = self.named(handle, asked.budget)? {
            return Ok(named);
        }
        let page = self.search(handle, asked)?;
        Ok(self.framed(&page.render(), "", None, asked.budget))
    }

    /// Runs [`Offloader::search_several`] and renders one message.
    pub fn present_search_several(
        &self,
        newest_first: &[Handle],
        asked: &SearchQuery<'_>,
    ) -> Result<Presentation, RetrieveError> {
        let page = self.search_several(newest_first, 0, asked)?;
        Ok(self.framed(&page.render(), "", None, asked.budget))
    }

    /// Names binary content and tells its shape instead of showing its bytes as text; `None` for
    /// text.
    fn named(
        &self,
        handle: Handle,
        budget: TokenBudget,
    ) -> Result<Option<Presentation>, RetrieveError> {
        // The look-up itself says what is wrong with an artifact.
        let manifest = self.store().manifest(handle);
        if manifest.map(|one| one.facts.stats.kind).ok() != Some(ContentKind::Binary) {
            return Ok(None);
        }
        let shape = self.outline(handle, within_frame(budget))?;
        let text = format!("{BINARY}\n{}\n", shape.join("\n"));
        Ok(Some(self.framed(&text, "", None, budget)))
    }

    /// Joins a page, its note and the call for the next page. If the call is too long, its short
    /// form is used. The note is cut to the space that remains.
    fn framed(
        &self,
        page: &str,
        note: &str,
        next: Option<(String, String)>,
        budget: TokenBudget,
    ) -> Presentation {
        let budget = frame(budget);
        let left = |text: &str| budget.less(self.counter().count(text) + JOINT_TOKENS);
        let joined = |parts: &[&str]| {
            let mut text = String::new();
            for part in parts.iter().filter(|part| !part.is_empty()) {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(part);
            }
            text
        };
        let next = match next {
            None => String::new(),
            Some((call, short)) => {
                let call = format!("next: {call}");
                match self.counter().count(&call) <= left(page).get() {
                    true => call,
                    false => format!("next: {short}"),
                }
            }
        };
        let note = self.cut(note, left(&joined(&[page, &next])).get().min(NOTE_TOKENS));
        let text = joined(&[page, &note, &next]);
        Presentation::new(text, &Bounds::tokens(budget), &**self.counter())
            .expect("invariant: the page keeps to its budget and the frame to its own")
    }
}

/// Returns the maximum tokens of a page with its frame.
fn frame(budget: TokenBudget) -> TokenBudget {
    TokenBudget::new(budget.get().saturating_add(FRAME_TOKENS))
}

/// Returns the budget of the page itself: the frame takes its share, but at most half of a small
/// budget.
fn within_frame(budget: TokenBudget) -> TokenBudget {
    budget.less(FRAME_TOKENS.min(budget.get() / 2))
}
