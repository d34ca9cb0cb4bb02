//! Retrieve: a page of a stored artifact, as a model sees it.

use spillgate_artifact::{Handle, TokenBudget, Tokens};
use spillgate_lookup::{
    Artifact, GrepPage, GrepQuery, LookupError, Page, ReadQuery, Span, fitting, grep, read,
};
use spillgate_query::{Engine, Query, QueryError, QueryNext, QueryPage, query};
use spillgate_store::StoreError;

use crate::Offloader;
use crate::ledger::{Exit, LedgerEntry};
use crate::present::Presentation;

/// Tokens that the first and the last line of a page may cost beside its text.
const FRAME_TOKENS: u64 = 120;

/// Tokens of a frame that the notes on a page may cost; they can quote anything.
const NOTE_TOKENS: u64 = 100;

/// A retrieval could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// The store could not give the artifact.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The artifact could not be looked into.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The filter could not be answered.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl Offloader {
    /// A page of a stored artifact's text, entered into the ledger.
    pub fn read(&self, handle: Handle, query: ReadQuery) -> Result<Page, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let page = read(&artifact, query, &**self.counter())?;
        self.retrieved(&artifact, &page.text);
        Ok(page)
    }

    /// A page of a stored artifact's matching lines, entered into the ledger.
    pub fn grep(&self, handle: Handle, query: &GrepQuery<'_>) -> Result<GrepPage, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let page = grep(&artifact, query, &**self.counter())?;
        self.retrieved(&artifact, &page.render());
        Ok(page)
    }

    /// A page of a jq filter's results for a stored artifact, entered into the
    /// ledger.
    pub fn query(
        &self,
        handle: Handle,
        asked: &Query<'_>,
        engine: &Engine,
    ) -> Result<QueryPage, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let page = query(&artifact, asked, engine, &**self.counter())?;
        self.retrieved(&artifact, &page.text);
        Ok(page)
    }

    /// [`Offloader::read`] as one message: where the page lies, its text, and
    /// the call for the next page, written by `next`.
    pub fn present_read(
        &self,
        handle: Handle,
        query: ReadQuery,
        next: &dyn Fn(Span) -> String,
    ) -> Result<Presentation, RetrieveError> {
        let budget = query.budget;
        let page = self.read(handle, within_frame(query))?;
        let lines = page.lines;
        let mut text = format!(
            "[lines {}-{} of {}]\n",
            lines.first, lines.last, page.total_lines
        );
        text.push_str(&page.text);
        let next = page.next.map(next);
        Ok(self.framed(text, next, budget))
    }

    /// [`Offloader::grep`] as one message: how many lines match, the first of
    /// them, and the call for the next page, written by `next`.
    pub fn present_grep(
        &self,
        handle: Handle,
        query: &GrepQuery<'_>,
        next: &dyn Fn(u64) -> String,
    ) -> Result<Presentation, RetrieveError> {
        let inner = GrepQuery {
            budget: query.budget.less(FRAME_TOKENS),
            ..*query
        };
        let page = self.grep(handle, &inner)?;
        let shown = page.matches.len();
        let mut text = format!("[{shown} of {} matching lines]\n", page.total);
        text.push_str(&page.render());
        Ok(self.framed(text, page.next.map(next), query.budget))
    }

    /// [`Offloader::query`] as one message: which results these are, their
    /// lines, what is to be said of them, and the call for the next page,
    /// written by `next`.
    pub fn present_query(
        &self,
        handle: Handle,
        asked: &Query<'_>,
        engine: &Engine,
        next: &dyn Fn(QueryNext) -> String,
    ) -> Result<Presentation, RetrieveError> {
        let inner = Query {
            budget: asked.budget.less(FRAME_TOKENS),
            ..*asked
        };
        let page = self.query(handle, &inner, engine)?;
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
        text.push_str(&page.text);
        let missing = page.missing.iter().map(ToString::to_string);
        let notes: Vec<String> = page.notes.iter().cloned().chain(missing).collect();
        if !notes.is_empty() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            let notes = format!("note: {}", notes.join("; "));
            let budget = TokenBudget::new(NOTE_TOKENS);
            let end = fitting(&notes, &[], budget, &**self.counter());
            text.push_str(&notes[..end]);
        }
        Ok(self.framed(text, page.next.map(next), asked.budget))
    }

    fn framed(&self, mut text: String, next: Option<String>, budget: TokenBudget) -> Presentation {
        if let Some(next) = next {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("next: {next}"));
        }
        let frame = TokenBudget::new(budget.get().saturating_add(FRAME_TOKENS));
        Presentation::new(text, frame, &**self.counter())
            .expect("invariant: the page keeps to its budget and the frame to its own")
    }

    fn retrieved(&self, artifact: &Artifact, text: &str) {
        // An entry is not worth 80 ms of loading a vocabulary.
        let (shown, exact) = match self.counter().is_ready() {
            true => (self.counter().count(text), true),
            false => ((text.len() as u64).div_ceil(4), false),
        };
        let manifest = artifact.manifest();
        self.ledger().record(LedgerEntry {
            at: self.clock().now(),
            server: manifest.facts.origin.server.clone(),
            tool: manifest.facts.origin.tool.clone(),
            handle: Some(manifest.handle),
            exit: Exit::Retrieved,
            tokens_in: Tokens { count: 0, exact },
            tokens_shown: shown,
            bytes_in: 0,
        });
    }
}

fn within_frame(query: ReadQuery) -> ReadQuery {
    ReadQuery {
        budget: query.budget.less(FRAME_TOKENS),
        ..query
    }
}
