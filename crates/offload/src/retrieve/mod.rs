//! Retrieves parts of a stored artifact.
//!
//! Each way into a text is a crate of its own; here they are given the artifact
//! that a handle means, and what they give is entered into the ledger.
//! [`message`] has the same as one text for a model.

mod continuation;
mod message;

pub use continuation::{CONTINUATION_TOOL, continuation_schema, whole_number};

use std::borrow::Cow;
use std::fmt;

use spillgate_artifact::{Handle, Origin, TokenBudget, Tokens};
use spillgate_lookup::{Artifact, GrepPage, GrepQuery, LookupError, Page, ReadQuery, grep, read};
use spillgate_outline::{outline, within};
use spillgate_query::{Engine, Query, QueryError, QueryPage, query};
use spillgate_search::{SearchPage, SearchQuery, search};
use spillgate_store::StoreError;
use spillgate_text::TokenCounter;
use spillgate_untrusted::{in_json, lines, marked};

use crate::Offloader;
use crate::ledger::{Exit, LedgerEntry, Spent};

/// How what is hidden in a text is shown.
type Marks<'a> = &'a (dyn Fn(&str) -> Cow<'_, str> + Sync);

/// Counts texts as they are shown: marks have their price.
struct AsShown<'a>(&'a dyn TokenCounter, Marks<'a>);

impl fmt::Debug for AsShown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsShown").field(&self.0).finish()
    }
}

impl TokenCounter for AsShown<'_> {
    fn count(&self, text: &str) -> u64 {
        self.0.count(&(self.1)(text))
    }

    fn exceeds(&self, text: &str, limit: u64) -> bool {
        self.0.exceeds(&(self.1)(text), limit)
    }

    fn is_ready(&self) -> bool {
        self.0.is_ready()
    }

    fn prepare(&self) {
        self.0.prepare();
    }
}

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
    Query(QueryError),
}

/// A filter that could not read is a look-up that could not.
impl From<QueryError> for RetrieveError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Io(error) => error.into(),
            other => Self::Query(other),
        }
    }
}

/// An io error while looking is one of the artifact.
impl From<std::io::Error> for RetrieveError {
    fn from(error: std::io::Error) -> Self {
        LookupError::from(error).into()
    }
}

impl Offloader {
    /// A page of a stored artifact's text, entered into the ledger.
    pub fn read(&self, handle: Handle, query: ReadQuery) -> Result<Page, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let counter = AsShown(&**self.counter(), &lines);
        let page = read(&artifact, query, &counter)?;
        self.retrieved(&artifact, &page.render());
        Ok(page)
    }

    /// A page of a stored artifact's matching lines, entered into the ledger.
    pub fn grep(&self, handle: Handle, query: &GrepQuery<'_>) -> Result<GrepPage, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let counter = AsShown(&**self.counter(), &marked);
        let page = grep(&artifact, query, &counter)?;
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
        let marks: Marks<'_> = if asked.raw { &lines } else { &in_json };
        let page = query(&artifact, asked, engine, &AsShown(&**self.counter(), marks))?;
        self.retrieved(&artifact, &page.render(asked.raw));
        Ok(page)
    }

    /// The passages of a stored artifact that answer a question best, entered
    /// into the ledger.
    pub fn search(
        &self,
        handle: Handle,
        asked: &SearchQuery<'_>,
    ) -> Result<SearchPage, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let counter = AsShown(&**self.counter(), &marked);
        let page = search(&artifact, asked, &counter)?;
        self.retrieved(&artifact, &page.render());
        Ok(page)
    }

    /// The shape of a stored artifact in lines that cost no more than `budget`
    /// together, entered into the ledger; none of what has no shape.
    pub fn outline(
        &self,
        handle: Handle,
        budget: TokenBudget,
    ) -> Result<Vec<String>, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let facts = &artifact.manifest().facts;
        let stats = &facts.stats;
        let lines = outline(artifact.view(), &facts.view, stats.kind, stats.lines)?;
        let lines = within(&lines, budget, &**self.counter());
        self.retrieved(&artifact, &lines.join("\n"));
        Ok(lines)
    }

    /// Enters what an extraction has `shown` of a stored artifact, and what it
    /// spent on that.
    pub fn extracted(&self, handle: Handle, shown: &str, spent: Spent) {
        // An artifact that has gone since is still an account.
        let manifest = self.store().manifest(handle);
        let origin = manifest.map_or_else(|_| Origin::tool("unknown"), |one| one.facts.origin);
        self.ledger().record(LedgerEntry {
            server: origin.server,
            tool: origin.tool,
            handle: Some(handle),
            tokens_shown: self.cost(shown),
            extraction: Some(spent),
            ..LedgerEntry::new(self.clock().now(), Exit::Extracted)
        });
    }

    /// Enters what a model is told of our own tools: `definitions` stand in each
    /// of its requests.
    pub fn listed(&self, server: Option<String>, definitions: &str) {
        self.ledger().record(LedgerEntry {
            server,
            tokens_shown: self.cost(definitions),
            ..LedgerEntry::new(self.clock().now(), Exit::Listed)
        });
    }

    /// What a text costs; estimated where counting would first load a
    /// vocabulary (80 ms).
    fn cost(&self, text: &str) -> Tokens {
        match self.counter().is_ready() {
            true => Tokens::exact(self.counter().count(text)),
            false => Tokens::estimated((text.len() as u64).div_ceil(4)),
        }
    }

    fn retrieved(&self, artifact: &Artifact, text: &str) {
        let manifest = artifact.manifest();
        self.ledger().record(LedgerEntry {
            server: manifest.facts.origin.server.clone(),
            tool: manifest.facts.origin.tool.clone(),
            handle: Some(manifest.handle),
            tokens_shown: self.cost(text),
            ..LedgerEntry::new(self.clock().now(), Exit::Retrieved)
        });
    }
}
