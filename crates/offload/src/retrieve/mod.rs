//! Retrieval from stored artifacts: read, grep, query, search and outline.
//!
//! Each kind of lookup is its own crate. This module opens the artifact of a handle, runs the
//! lookup and records the result in the ledger. [`message`] renders the result of a lookup as one
//! text for a model.

mod continuation;
mod message;

pub use continuation::{CONTINUATION_TOOL, continuation_schema, whole_number};

use std::borrow::Cow;
use std::fmt;

use spillgate_artifact::{ContentKind, Handle, Origin, TokenBudget, Tokens};
use spillgate_lookup::{Artifact, GrepPage, GrepQuery, LookupError, Page, ReadQuery, grep, read};
use spillgate_outline::{outline, outline_of_binary, within};
use spillgate_query::{Engine, Query, QueryError, QueryPage, query};
use spillgate_search::{
    MOST_BYTES, MOST_OUTPUTS, SearchPage, SearchQuery, SeveralPage, search, search_several,
};
use spillgate_store::StoreError;
use spillgate_text::TokenCounter;
use spillgate_untrusted::{in_json, lines, marked};

use crate::Offloader;
use crate::ledger::{Exit, LedgerEntry, Spent};

/// Marks the hidden characters of a text for display.
type Marks<'a> = &'a (dyn Fn(&str) -> Cow<'_, str> + Sync);

/// Counts texts as they are shown, because marks cost tokens.
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
}

/// A failed retrieval.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// The store could not open the artifact.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The artifact has secrets, and the configuration shows no part of such results.
    #[error(
        "the output has secrets, and `redact = \"block\"` shows no part of it; the user can read it at a \
         terminal with `spillgate cat --raw {handle}`"
    )]
    Blocked {
        /// The artifact's handle.
        handle: Handle,
    },
    /// The lookup failed.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The filter failed.
    #[error(transparent)]
    Query(QueryError),
}

impl RetrieveError {
    /// Returns whether nothing is shown because of secrets in the artifact.
    #[must_use]
    pub fn hides_secrets(&self) -> bool {
        matches!(
            self,
            Self::Blocked { .. } | Self::Lookup(LookupError::TooManySecrets { .. })
        )
    }
}

impl RetrieveError {
    /// Returns the error of the store for an artifact that was stored a moment ago and cannot be read.
    pub(crate) fn of_stored(self, handle: Handle) -> StoreError {
        match self {
            Self::Store(error) => error,
            error => StoreError::Damaged {
                path: handle.to_string().into(),
                what: error.to_string(),
            },
        }
    }
}

/// If a filter fails because the artifact cannot be read, the error is that of a failed lookup.
impl From<QueryError> for RetrieveError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Io(error) => error.into(),
            other => Self::Query(other),
        }
    }
}

/// An I/O error during a lookup concerns the artifact.
impl From<std::io::Error> for RetrieveError {
    fn from(error: std::io::Error) -> Self {
        LookupError::from(error).into()
    }
}

impl Offloader {
    /// Reads a page of a stored artifact's text. Recorded in the ledger.
    pub fn read(&self, handle: Handle, query: ReadQuery) -> Result<Page, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let counter = AsShown(&**self.counter(), &lines);
        let page = read(&artifact, query, &counter)?;
        self.retrieved(&artifact, &page.render(), None);
        Ok(page)
    }

    /// Finds the matching lines of a stored artifact, one page. Recorded in the ledger.
    pub fn grep(&self, handle: Handle, query: &GrepQuery<'_>) -> Result<GrepPage, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let counter = AsShown(&**self.counter(), &marked);
        let page = grep(&artifact, query, &counter)?;
        self.retrieved(&artifact, &page.render(), Some(!page.matches.is_empty()));
        Ok(page)
    }

    /// Runs a jq filter on a stored artifact and returns a page of results. Recorded in the ledger.
    pub fn query(
        &self,
        handle: Handle,
        asked: &Query<'_>,
        engine: &Engine,
    ) -> Result<QueryPage, RetrieveError> {
        let artifact = self.artifact(handle)?;
        let marks: Marks<'_> = if asked.raw { &lines } else { &in_json };
        let page = query(&artifact, asked, engine, &AsShown(&**self.counter(), marks))?;
        self.retrieved(&artifact, &page.render(asked.raw), Some(page.results > 0));
        Ok(page)
    }

    /// Returns the passages of a stored artifact that answer a question best. Recorded in the
    /// ledger.
    pub fn search(
        &self,
        handle: Handle,
        asked: &SearchQuery<'_>,
    ) -> Result<SearchPage, RetrieveError> {
        let artifact = self.artifact(handle)?.in_memory()?;
        let counter = AsShown(&**self.counter(), &marked);
        let page = search(&artifact, asked, &counter)?;
        self.retrieved(&artifact, &page.render(), Some(has_passages(&page)));
        Ok(page)
    }

    /// Returns the passages of several stored artifacts that answer a question best. Searches the
    /// first ones of `newest_first`, at most [`MOST_OUTPUTS`] of them and [`MOST_BYTES`] of text.
    /// Skips the artifacts that are gone or damaged. `older` is the number of further artifacts that
    /// are not searched. Recorded in the ledger.
    pub fn search_several(
        &self,
        newest_first: &[Handle],
        older: usize,
        asked: &SearchQuery<'_>,
    ) -> Result<SeveralPage, RetrieveError> {
        let (mut artifacts, mut bytes, mut left_out) = (Vec::new(), 0, older);
        for &handle in newest_first {
            let Ok(manifest) = self.store().manifest(handle) else {
                continue;
            };
            bytes += manifest.facts.view.bytes;
            if artifacts.len() == MOST_OUTPUTS || bytes > MOST_BYTES {
                left_out += 1;
            } else if manifest.facts.stats.kind != ContentKind::Binary {
                artifacts.extend(self.artifact(handle).ok());
            }
        }
        let counter = AsShown(&**self.counter(), &marked);
        let page = search_several(&artifacts, left_out, asked, &counter)?;
        for artifact in &artifacts {
            let shown = page.outputs.iter();
            let mut shown = shown.filter(|one| one.handle == artifact.manifest().handle);
            if let Some(shown) = shown.next() {
                let found = has_passages(&shown.page);
                self.retrieved(artifact, &shown.page.render(), Some(found));
            }
        }
        Ok(page)
    }

    /// Returns the shape of a stored artifact in lines that cost at most `budget` together; empty
    /// if it has no shape. Recorded in the ledger.
    pub fn outline(
        &self,
        handle: Handle,
        budget: TokenBudget,
    ) -> Result<Vec<String>, RetrieveError> {
        let artifact = self.artifact(handle)?.in_memory()?;
        let facts = &artifact.manifest().facts;
        let stats = &facts.stats;
        let lines = match stats.kind {
            ContentKind::Binary => outline_of_binary(&*artifact.text()?)?,
            kind => outline(
                artifact.view(),
                &facts.view,
                kind,
                stats.lines,
                facts.has_failed(),
            )?,
        };
        let lines = within(&lines, budget, &**self.counter());
        self.retrieved(&artifact, &lines.join("\n"), None);
        Ok(lines)
    }

    /// Records what an extraction showed of a stored artifact, whether it found what it was asked for,
    /// and what it spent.
    pub fn extracted(&self, handle: Handle, shown: &str, found: bool, spent: Spent) {
        // An artifact that was removed since still gets an entry.
        let manifest = self.store().manifest(handle);
        let origin = manifest.map_or_else(|_| Origin::tool("unknown"), |one| one.facts.origin);
        self.ledger().record(LedgerEntry {
            server: origin.server,
            tool: origin.tool,
            handle: Some(handle),
            tokens_shown: Tokens::exact(self.counter().count(shown)),
            found: Some(found),
            extraction: Some(spent),
            ..LedgerEntry::new(self.clock().now(), Exit::Extracted)
        });
    }

    /// Records the definitions of Spillgate's own tools, which each of a model's requests contains.
    pub fn listed(&self, server: Option<String>, definitions: &str) {
        self.ledger().record(LedgerEntry {
            server,
            tokens_shown: Tokens::exact(self.counter().count(definitions)),
            ..LedgerEntry::new(self.clock().now(), Exit::Listed)
        });
    }

    /// Records the size of a list of tools: their number, the tokens of all definitions and of those
    /// that the client receives.
    pub fn listed_tools(&self, server: Option<String>, tools: u64, all: Tokens, listed: Tokens) {
        self.ledger().record(LedgerEntry {
            server,
            tokens_in: all,
            tokens_shown: listed,
            results: tools,
            ..LedgerEntry::new(self.clock().now(), Exit::ToolList)
        });
    }

    /// Records that `bytes` bytes of an oversized result passed to a program.
    pub fn passed_to_program(&self, origin: &Origin, bytes: u64) {
        let tokens = Tokens::estimated(bytes.div_ceil(4));
        self.ledger().record(LedgerEntry {
            server: origin.server.clone(),
            tool: origin.tool.clone(),
            tokens_in: tokens,
            tokens_shown: tokens,
            bytes_in: bytes,
            ..LedgerEntry::new(self.clock().now(), Exit::Program)
        });
    }

    /// `found` says whether a look-up that asks for something found it.
    fn retrieved(&self, artifact: &Artifact, text: &str, found: Option<bool>) {
        let manifest = artifact.manifest();
        self.ledger().record(LedgerEntry {
            server: manifest.facts.origin.server.clone(),
            tool: manifest.facts.origin.tool.clone(),
            handle: Some(manifest.handle),
            tokens_shown: Tokens::exact(self.counter().count(text)),
            found,
            ..LedgerEntry::new(self.clock().now(), Exit::Retrieved)
        });
    }
}

fn has_passages(page: &SearchPage) -> bool {
    !page.passages.is_empty() || page.table.is_some()
}
