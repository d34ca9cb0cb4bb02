//! Finds the passages of a stored text that answer a question.
//!
//! Ranked search without an index: one pass over the view counts how many units
//! (lines, paragraphs, rows, JSON leaves) hold each term of the question and keeps
//! the most promising ones ([`candidates`]); BM25 orders them ([`rank`]); the best are
//! shown, verbatim and numbered, within a token budget ([`page`]). What a unit is
//! depends on the kind of content. A question that only asks why something failed
//! has no word in common with the answer; lines that tell of failures are ranked
//! then ([`failure`]).

mod candidates;
mod entity;
mod failure;
mod json;
mod leaf;
mod matcher;
mod needles;
mod page;
mod path;
mod paths;
mod question;
mod rank;
mod rows;
mod scan;
mod structured;
mod text;
mod words;

use std::io;

use spillgate_artifact::{Layout, TokenBudget};
use spillgate_lookup::{Artifact, LookupError};
use spillgate_text::TokenCounter;

use crate::page::{Block, PageBuilder};
use crate::question::{Question, Terms};
use crate::rank::Ranked;

pub use page::{Passage, SearchPage};
pub use paths::paths_at;

/// What to look for and what the answer may cost.
#[derive(Debug, Clone, Copy)]
pub struct SearchQuery<'a> {
    /// A question, or some words.
    pub words: &'a str,
    /// Tokens that the page may cost.
    pub budget: TokenBudget,
}

impl<'a> SearchQuery<'a> {
    /// The passages for `words` within `budget`.
    #[must_use]
    pub fn new(words: &'a str, budget: TokenBudget) -> Self {
        Self { words, budget }
    }
}

/// The passages of an artifact that answer a question best.
///
/// Fails where the question has no word in it, or the artifact cannot be read.
pub fn search(
    artifact: &Artifact,
    query: &SearchQuery<'_>,
    counter: &dyn TokenCounter,
) -> Result<SearchPage, LookupError> {
    let question = Question::new(query.words).ok_or(LookupError::EmptyQuestion)?;
    let view = artifact.view();
    let is_json = view.layout() == Layout::Json;
    let answer = match (is_json, question.is_about_failure) {
        (true, _) => structured::answer(artifact, &question, query.budget)?,
        (false, true) => failure::answer(view)?,
        (false, false) => text::answer(artifact, &question)?,
    };
    let absent = text::absent(view, &question, answer.seen)?;
    let mut builder = PageBuilder::new(view, query.budget, counter, absent, answer.header);
    builder.fill(answer.ranked, &answer.blocks)?;
    Ok(builder.finish())
}

/// What one way of searching found.
struct SearchOutcome<'a> {
    /// The best first.
    ranked: Vec<Ranked>,
    /// Terms that are in the text.
    seen: Terms,
    /// The first line of a table.
    header: Option<String>,
    blocks: Blocks<'a>,
}

/// What to show of a place, given whether it is the first on the page: a few
/// ways, the largest first, each so many blocks.
type Blocks<'a> = Box<dyn Fn(&Ranked, bool) -> io::Result<Vec<Vec<Block>>> + 'a>;
